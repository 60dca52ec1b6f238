"""A group under everything that can happen to it: whatever the order, promises are kept."""

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from odradek.model.errors import ErrorCode
from odradek.sim.doors.chance import SeededRandom
from tests.property.group_model import PARTITIONS, Consumer, Witness
from tests.unit.coordinator.talk import GROUP, Talk

SEEDS: Final = 48
STEPS: Final = 150
INSTANCES: Final = (None, None, None, "one", "two")
REFUSALS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


class Model:
    """Five consumers, one coordinator after another, a log that is slow, refuses, or flows."""

    def __init__(self, seed: int) -> None:
        self.chance = SeededRandom(seed, "group")
        self.t = Talk()
        self.consumers = [Consumer(self.t, instance) for instance in INSTANCES]
        self.witness = Witness(self.t)
        self.number = 0
        self.done: Counter[str] = Counter()
        self.deeds: list[Callable[[], None]] = [
            *[self.live] * 10,
            *[self.act] * 8,
            *[self.commit] * 12,
            *[self.wait] * 3,
            *[self.hold, self.append] * 2,
            *[self.flow] * 4,
            *[self.leave, self.restart, self.resubscribe, self.refuse, self.fail_over],
        ]

    def run(self) -> None:
        """Many deeds, then peace, then the end; the witness looks on after each step."""
        for _ in range(STEPS):
            deed = self.deeds[self.chance.below(len(self.deeds))]
            deed()
            self.done[deed.__name__] += 1
            self.witness.check(self.consumers)
        self.find_peace()
        self.end()

    def anybody(self) -> Consumer:
        """One of them."""
        return self.consumers[self.chance.below(len(self.consumers))]

    def live(self) -> None:
        """Everybody goes on with what it is about."""
        seconds = (0.1, 1, 3)[self.chance.below(3)]
        for _ in range(self.chance.between(1, 6)):
            for consumer in self.consumers:
                consumer.act()
            self.t.run(seconds)

    def act(self) -> None:
        """One is quicker than the others."""
        consumer = self.anybody()
        for _ in range(self.chance.between(1, 4)):
            consumer.act()

    def commit(self) -> None:
        """One commits in a partition that it believes to own; numbers only rise."""
        consumer = self.anybody()
        if consumer.owns:
            owned = sorted(consumer.owns)
            partition = owned[self.chance.below(len(owned))]
            self.number += 1
            ticket = consumer.commit(self.number, partition)
            if ticket is not None:
                self.witness.asked[ticket] = (partition, self.number)

    def wait(self) -> None:
        """Nobody says anything for a while."""
        self.t.run((0.5, 3, 5, 10, 16)[self.chance.below(5)])

    def hold(self) -> None:
        """The disk hangs, or the followers do."""
        self.t.hold()

    def append(self) -> None:
        """What hung is in the log, and not yet committed."""
        self.t.append()

    def flow(self) -> None:
        """All is well again."""
        self.t.flow()

    def leave(self) -> None:
        """One goes, and says so; it may come back."""
        self.anybody().leave()

    def restart(self) -> None:
        """One dies without a word; another process begins in its place."""
        self.anybody().restart()

    def resubscribe(self) -> None:
        """One wants to read something else."""
        self.anybody().resubscribe()

    def refuse(self) -> None:
        """The log does not take what waits."""
        if self.t.queue:
            self.done["refused"] += 1
            self.t.fail_append(REFUSALS[self.chance.below(len(REFUSALS))])

    def fail_over(self) -> None:
        """Another coordinator takes over, with or without what was not committed."""
        self.t.fail_over(losing=self.chance.one_in(2))

    def find_peace(self) -> None:
        """When nothing goes wrong any more, every partition is read again, by one of them."""
        self.t.flow()
        for _ in range(30):
            for consumer in self.consumers:
                consumer.act()
            self.witness.check(self.consumers)
            self.t.run(2)
        assert self.t.state() == "Stable"
        owned = [number for consumer in self.consumers for number in consumer.owns or ()]
        assert sorted(owned) == [*range(PARTITIONS)]

    def end(self) -> None:
        """When all have gone nothing is kept but what was written."""
        for consumer in self.consumers:
            consumer.leave()
        self.t.run(60)
        self.witness.check(self.consumers)
        assert self.t.state() == "Empty"
        assert GROUP not in self.t.machine.groups.live
        assert not self.t.shard.waiting
        assert not self.t.machine.in_flight.subjects()
        assert len(self.t.machine.timers) == 1
        self.done["generations"] += len(self.witness.shares)
        self.done["promises"] += self.witness.acknowledged


@pytest.mark.parametrize("part", range(6))
def test_promises_are_kept(part: int) -> None:
    """No commit is lost, no partition has two owners, no generation returns, nobody is forgotten.

    And a run in which nothing of this was at stake proves nothing: so the work done is counted.
    """
    done: Counter[str] = Counter()
    for seed in range(part, SEEDS, 6):
        model = Model(seed)
        model.run()
        done += model.done
    assert done["generations"] > 30, done
    assert done["promises"] > 50, done
    assert min(done[what] for what in ("refused", "fail_over", "leave")) > 0, done
