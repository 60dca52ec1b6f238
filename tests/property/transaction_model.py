"""A coordinator, three logs, processes that share one transactional id, and all that can be late.

The coordinator's core and the logs' rules for producers are the real ones. Between them messages
wait in a bag: they come late, again, or after the death of whoever has sent them. The judge knows
what each process has written in each of its transactions, and what it was told of their end. Where
processes are of both versions the cluster's level changes meanwhile.
"""

from collections.abc import Callable, Container
from functools import partial
from typing import Any, NamedTuple

from odradek.coordinator.decision import Ticket
from odradek.coordinator.transactions.values import Ending, Identity
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis
from odradek.records.batch import BatchHeader
from odradek.records.build import plain_header
from odradek.records.control import EPOCH_FOR_EACH_SINCE, EndMarker
from odradek.sim.doors.chance import SeededRandom
from odradek.storage.logs.producers import (
    ProducerEntry,
    after_batch,
    after_marker,
    check_batch,
    check_marker,
    is_ended,
    is_open,
)
from tests.unit.coordinator.transaction_talk import A, B, C, TransactionTalk

NONE = ErrorCode.NONE
AGAIN = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
TIMEOUT = Millis(5_000)


class Tag(NamedTuple):
    """One transaction of one process."""

    process: int
    number: int


class Log:
    """One partition: what is known of producers, and the outcome of each record."""

    def __init__(self) -> None:
        self.end = 0
        self.entries: dict[int, ProducerEntry] = {}
        self.open: dict[int, list[Tag]] = {}  # records that are not decided, by producer
        self.outcomes: dict[Tag, set[bool]] = {}

    def _header(self, identity: Identity, sequence: int = -1) -> BatchHeader:
        header = plain_header(self.end)
        header.producer_id, header.producer_epoch = identity
        header.base_sequence = sequence
        header.attributes |= 1 << 4
        header.last_offset_delta, header.record_count = 0, 1
        header.max_timestamp = 0
        return header

    def is_open_for(self, identity: Identity) -> bool:
        """Whether its transaction is open here."""
        return is_open(self.entries.get(identity.producer_id), identity.producer_epoch)

    def append(self, identity: Identity, sequence: int, tag: Tag) -> None:
        """One record; raises what the log has against it."""
        entry, header = self.entries.get(identity.producer_id), self._header(identity, sequence)
        check_batch(entry, header)
        self.entries[identity.producer_id] = after_batch(entry, header, 0)
        self.open.setdefault(identity.producer_id, []).append(tag)
        self.end += 1

    def mark(self, ending: Ending, coordinator_epoch: int) -> None:
        """The end of a transaction; raises what the log has against it."""
        producer, version = ending.identity.producer_id, ending.version
        entry, header = self.entries.get(producer), self._header(ending.identity)
        marker = EndMarker(ending.is_committed, coordinator_epoch)
        check_marker(entry, header, marker, version)
        if is_ended(entry, header, version):
            return
        self.entries[producer] = after_marker(entry, header, marker, 0).entry
        for tag in self.open.pop(producer, ()):
            self.outcomes.setdefault(tag, set()).add(ending.is_committed)
        self.end += 1


class Marker(NamedTuple):
    """On its way to a leader."""

    ending: Ending
    partition: TopicPartition
    coordinator_epoch: int


class Process:
    """One life of the producer."""

    def __init__(self, world: "World", number: int) -> None:
        self.world, self.number = world, number
        self.version = world.versions[number % len(world.versions)]
        self.me: Identity | None = None
        self.transaction = 0
        self.sequences: dict[TopicPartition, int] = {}
        self.added: set[TopicPartition] = set()
        self.is_broken = False  # something was refused: this one can only be aborted
        self.ending: bool | None = None
        self.asked: tuple[Ticket, Callable[[Any], None]] | None = None
        self.is_over = False

    @property
    def tag(self) -> Tag:
        """Of its present transaction."""
        return Tag(self.number, self.transaction)

    def step(self) -> None:
        """One more thing that it does, or the answer to what it has done."""
        w = self.world
        if self.asked is not None:
            ticket, then = self.asked
            if ticket in w.t.answers:
                self.asked = None
                then(w.t.answers[ticket])
            return
        if self.me is None:
            self.asked = w.t.init(timeout=TIMEOUT), self._on_begun
        elif self.ending is not None:
            self._end(self.me, committed=self.ending)
        elif self.added and w.chance(4):
            self.ending = not self.is_broken and not w.chance(3)
        else:
            partition = w.pick((A, B, C))
            if self.version < EPOCH_FOR_EACH_SINCE and partition not in self.added:
                self.asked = w.t.add(self.me, partition), partial(self._on_added, partition)
            else:
                self._produce(self.me, partition)

    def _on_begun(self, answer: Any) -> None:
        if not answer.error_code:
            self.me = Identity(ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch))
        elif ErrorCode(answer.error_code) not in AGAIN:
            self.is_over = True

    def _on_added(self, partition: TopicPartition, code: ErrorCode) -> None:
        if code is NONE:
            self.added.add(partition)
        elif code not in AGAIN:
            self.is_over = True

    def _produce(self, me: Identity, partition: TopicPartition) -> None:
        sequence = self.sequences.get(partition, 0)
        send = partial(self.world.produce, me, partition, sequence, self.tag)
        if self.version >= EPOCH_FOR_EACH_SINCE and self.world.chance(8):
            self.world.late.append(send)  # it is sent, and comes when it comes
            self.is_broken = True
            return
        if send():
            self.sequences[partition] = sequence + 1
            self.added.add(partition)
            self.world.acknowledged.setdefault(self.tag, set()).add(partition)

    def _end(self, me: Identity, *, committed: bool) -> None:
        w = self.world
        self.asked = (
            w.t.finish(me, committed=committed, version=self.version),
            partial(self._on_ended, committed),
        )
        if self.version in w.late_ends and w.chance(4):
            again = partial(w.t.finish, me, committed=committed, version=self.version)
            w.late.append(lambda: bool(again()))

    def _on_ended(self, committed: bool, answer: Any) -> None:  # noqa: FBT001
        code = ErrorCode(answer.error_code)
        if code in AGAIN:
            return
        if code:
            self.is_over = True
            return
        self.world.told[self.tag] = committed
        if self.version >= EPOCH_FOR_EACH_SINCE:
            self.me = Identity(ProducerId(answer.producer_id), ProducerEpoch(answer.producer_epoch))
            self.sequences.clear()
        self.transaction += 1
        self.added.clear()
        self.is_broken, self.ending = False, None


class World:
    """All of it, from one seed. The attributes in capitals are rules that may be wrong."""

    VERIFIES = True
    WAITS_FOR_MARKERS = True
    MARKERS_HAVE_VERSIONS = True

    def __init__(self, seed: int, *versions: int, late_ends: Container[int]) -> None:
        self.random = SeededRandom(seed, "transactions")
        self.versions = versions
        self.late_ends = late_ends  # in these versions
        self.t = TransactionTalk(level=max(versions))
        self.t.hold_markers()
        self.coordinator_epoch = 0
        self.logs = {partition: Log() for partition in (A, B, C)}
        self.processes: list[Process] = []
        self.markers: list[Marker] = []  # on their way, or to be sent again
        self.late: list[Callable[[], bool]] = []
        self.told: dict[Tag, bool] = {}
        self.acknowledged: dict[Tag, set[TopicPartition]] = {}

    def chance(self, one_in: int) -> bool:
        """Once in so many times."""
        return self.random.one_in(one_in)

    def pick(self, choices: Any) -> Any:
        """One of them."""
        return choices[self.random.below(len(choices))]

    def produce(self, me: Identity, partition: TopicPartition, sequence: int, tag: Tag) -> bool:
        """As a leader takes a batch: it asks first, unless the transaction is open in the log."""
        log = self.logs[partition]
        version = self.processes[tag.process].version
        is_asked = self.VERIFIES and not log.is_open_for(me)
        if is_asked and not self._is_confirmed(version, me, partition):
            return False
        try:
            log.append(me, sequence, tag)
        except BrokerError:
            return False
        return True

    def _is_confirmed(self, version: int, me: Identity, partition: TopicPartition) -> bool:
        t = self.t
        if version < EPOCH_FOR_EACH_SINCE:
            return t.verify(me, partition) == [NONE]
        was_held, t.held = t.held, False
        ticket = t.add(me, partition, is_of_broker=True)
        t.flow()
        t.held = was_held
        return t.answers.get(ticket) is NONE

    def run(self, steps: int) -> None:
        """A life with misfortunes, and then peace, until all is decided."""
        for _ in range(steps):
            self._step()
        self.t.flow()
        for late in self.late:
            late()
        for _ in range(20):
            self.t.run(1)
            self._collect()
            for marker in list(self.markers):
                self._deliver(marker)

    def _step(self) -> None:
        if len(self.versions) > 1 and self.chance(20):
            self.t.level = self.random.below(max(self.versions) + 1)
        what = self.random.below(100)
        living = [it for it in self.processes if not it.is_over]
        if what < 55 and living:
            (self.pick(living) if self.chance(4) else living[-1]).step()
        elif what < 56 or not living:
            self.processes.append(Process(self, len(self.processes)))
        elif what < 82 and self.markers:
            self._deliver(self.pick(self.markers))
        elif what < 84:
            self.t.hold()
        elif what < 90:
            self.t.flow()
        elif what < 91:
            self._fail_over()
        elif what < 93:
            self.t.run(self.random.between(1, 30) / 10)
        elif self.late:
            self.late.pop(self.random.below(len(self.late)))()
        self._collect()

    def _fail_over(self) -> None:
        # a delayed marker of version 1 is the hole that it has
        self.markers = [it for it in self.markers if it.ending.version >= EPOCH_FOR_EACH_SINCE]
        self.coordinator_epoch += 1
        self.t.fail_over(losing=self.chance(2))

    def _collect(self) -> None:
        """What the coordinator has sent."""
        for ending in self.t.sent:
            for partition in sorted(ending.partitions):
                self.markers.append(Marker(ending, partition, self.coordinator_epoch))
                if not self.WAITS_FOR_MARKERS:
                    self._on_marked(self.markers[-1])
        self.t.sent.clear()

    def _deliver(self, marker: Marker) -> None:
        said = marker.ending
        if not self.MARKERS_HAVE_VERSIONS and not self.t.level:
            said = said._replace(version=0)
        try:
            self.logs[marker.partition].mark(said, marker.coordinator_epoch)
        except BrokerError:
            if marker.coordinator_epoch < self.coordinator_epoch and self.chance(2):
                self.markers.remove(marker)
            return
        if marker.ending.version < EPOCH_FOR_EACH_SINCE or self.chance(2):
            self.markers.remove(marker)
        if marker.coordinator_epoch == self.coordinator_epoch:
            self._on_marked(marker)

    def _on_marked(self, marker: Marker) -> None:
        event = partial(self.t.machine.marked, marker.ending, (marker.partition,))
        self.t.settle(self.t.shard.on_event(event, self.t.now))

    def faults(self) -> list[str]:
        """What the judge finds."""
        found = []
        outcomes: dict[Tag, set[bool]] = {}
        for partition, log in self.logs.items():
            found += [f"{partition}: {tags} stay undecided" for tags in log.open.values()]
            for tag, known in log.outcomes.items():
                outcomes.setdefault(tag, set()).update(known)
        found += [f"{tag} is torn" for tag, known in outcomes.items() if len(known) > 1]
        for tag, committed in self.told.items():
            wrong = outcomes.get(tag, {committed}) != {committed}
            lost = committed and any(
                tag not in self.logs[it].outcomes for it in self.acknowledged.get(tag, ())
            )
            if wrong or lost:
                found.append(f"{tag} was told {committed}, and is {outcomes.get(tag)}")
        return found
