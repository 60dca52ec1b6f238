"""Faults that strike near others, on purpose: the same partition, while an answer is on its way.

A strike chooses a moment: a state was written, or a leader has proposed that somebody joins. Then,
within milliseconds, one or two of those whom it concerns meet something each: the leader, who joins
or has just joined or left, the controller.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple

from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.faults import MILLI
from odradek.sim.history import Event
from odradek.sim.picture import STATE
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.sim.worlds.cluster.misfortunes.damage import BitRotInOne, ReplacedDisk
from odradek.sim.worlds.cluster.misfortunes.rare_faults import ClusterFault, OfCluster

DELAY_BITS: Final = 13  # microseconds, up to some milliseconds
LOOK_MICROS: Final = 2 * MILLI
LOOKS_MAX: Final = 3_000
CHANGES_MAX: Final = 4


class Meeting(NamedTuple):
    """Whom a change of a partition concerns."""

    partition: str
    leader: int
    others: tuple[int, ...]  # who joins, has joined or left


class SecondStrike(ClusterFault):
    """Something happens to those who are about to hear of a change, or of its answer."""

    name = "second-strike"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster)
        self._chance: SeededRandom | None = None  # of a strike that waits for its moment
        self._changes = 0  # left until then
        self._isr: dict[str, frozenset[int]] = {}
        self._fates: Mapping[str, Callable[[BrokerMachine, SeededRandom], None]] = {
            "killed": self._kill,
            "without power": self._cut_power,
            "stopped": self._stop,
            "paused": self._pause,
            "deaf": self._deafen,
            "dumb": self._silence,
            "hanging": self._hang,
            "without a session": self._end_session,
            "with an empty disk": self._replace_disk,
            "with a bit that turned": self._rot,
        }
        self._zookeeper = cluster.zookeeper
        self._replaced, self._rotten = ReplacedDisk(cluster), BitRotInOne(cluster)
        cluster.world.history.watch(self._on_change, {STATE})

    def strike(self, chance: SeededRandom) -> str | None:
        """It waits for its moment, unless another does."""
        if self._chance is not None:
            return None
        self._chance = chance
        if chance.below(2):
            self._changes = 1 + chance.below(CHANGES_MAX)
            return f"near change {self._changes}"
        self._look_for_joins(LOOKS_MAX)
        return "near a join"

    def heal(self) -> None:
        """Nothing strikes any more; what has ends by itself, or by those that do the same."""
        self._chance = None
        for broker in self.brokers.values():
            broker.absence = 0
            broker.machine.resume()
            broker.machine.start_if_down()
            for worker in broker.workers.values():
                worker.go_on()

    # The moment

    def _on_change(self, event: Event) -> None:
        partition, leader, _, isr = event.details
        before, now = self._isr.get(partition, frozenset()), frozenset(isr)
        self._isr[partition] = now
        if self._chance is None or not self._changes:
            return
        self._changes -= 1
        if not self._changes:
            self._meet(Meeting(partition, leader, tuple(sorted(before ^ now))))

    def _look_for_joins(self, left: int) -> None:
        """A proposal is in no tree, and in no log: it is looked for in the leaders' memory."""
        if self._chance is None:
            return
        for number, broker in self.copies.view.opened():
            for replica in broker.services_of_this_life.replicas.all_led():
                isr = replica.leader.isr
                if isr.maximal is isr.committed:  # as a rule, and this looks thousands of times
                    continue
                joining = isr.maximal - isr.committed
                if joining:
                    self._meet(Meeting(str(replica.partition), number, tuple(sorted(joining))))
                    return
        if left:
            self.world.after(LOOK_MICROS, lambda: self._look_for_joins(left - 1))
        else:
            self._chance = None

    def _meet(self, meeting: Meeting) -> None:
        chance, self._chance = self._chance, None
        assert chance is not None
        concerned = {meeting.leader, *meeting.others, self.controller()}
        left = sorted(it for it in concerned if it is not None and it in self.brokers)
        for _ in range(min(len(left), 1 + chance.below(2))):
            broker = self.brokers[BrokerId(left.pop(chance.below(len(left))))]
            fate = sorted(self._fates)[chance.below(len(self._fates))]
            delay = chance.below(1 << chance.below(DELAY_BITS))
            self.world.after(delay, partial(self._befall, broker, fate, chance))

    # What happens

    def _befall(self, broker: BrokerMachine, how: str, chance: SeededRandom) -> None:
        if broker.machine.running and not broker.machine.paused:
            self._fates[how](broker, chance)
            self.world.history.note("world", "strikes", f"{self.name}: {how}", broker.machine.name)

    def _kill(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        broker.machine.kill()
        self.world.after(self.later(chance), broker.machine.start_if_down)

    def _cut_power(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        broker.machine.cut_power()
        self.world.after(self.later(chance), broker.machine.start_if_down)

    def _stop(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        if broker.serves:
            broker.stop(self.later(chance))

    def _pause(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        broker.machine.pause()
        self.world.after(self.later(chance), broker.machine.resume)

    def _deafen(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        """What others tell it is lost for a while, and it hears of that late."""
        self._cut([(it, broker.machine.name) for it in self._others(broker)], chance)

    def _silence(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        """What it tells others is lost."""
        self._cut([(broker.machine.name, it) for it in self._others(broker)], chance)

    def _others(self, broker: BrokerMachine) -> list[str]:
        names = [it.machine.name for it in self.brokers.values() if it is not broker]
        return [ZOOKEEPER, *names]

    def _cut(self, pairs: list[tuple[str, str]], chance: SeededRandom) -> None:
        wires = self.world.wires
        some = [pair for pair in pairs if chance.below(2)] or pairs
        until = chance.below(10 * SECOND)
        for pair in some:
            wires.cut(*pair)
            self.world.after(until, partial(wires.mend, *pair))

    def _hang(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        name = broker.disks[chance.below(len(broker.disks))]
        if name in broker.workers:
            worker = broker.workers[name]
            worker.hang()
            self.world.after(self.later(chance), worker.go_on)

    def _end_session(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        """The one that its registration belongs to, if ZooKeeper has it."""
        del chance
        path = BrokerZnode.path(BrokerId(self.number_of(broker)))
        node = self.copies.view.tree.nodes.get(path)
        owner = 0 if node is None else node.owner
        is_there = self._zookeeper.serves and not self._zookeeper.machine.paused
        if is_there and owner in self.copies.view.sessions:
            self._zookeeper.expire(owner)

    def _replace_disk(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        if broker.serves and self.copies.can_spare(broker.machine.name):
            self._replaced.replace(broker, chance)

    def _rot(self, broker: BrokerMachine, chance: SeededRandom) -> None:
        """The only copy could be read by no broker, until an operator gives it up."""
        if self.copies.all_are_whole():
            self._rotten.rot(broker.machine, chance)
