"""A feeder, copiers and readers while faults strike, and what must be true in the end."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from time import monotonic
from typing import Final, NamedTuple, Self

from odradek.client.blocking.client import BlockingClient
from odradek.client.records.offsets import LATEST
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from tests.compat.broker_process import eventually
from tests.compat.java_clients import fresh
from tests.live.copiers.fleet import Fleet, Topics
from tests.live.copiers.kinds import BROKERS, CopierArena
from tests.live.copiers.marks import Fate, Mark, Transaction
from tests.live.copiers.orders import LEFT_MS, PARTITIONS, Said
from tests.live.copiers.readers import COMMITTED, UNCOMMITTED, Watcher
from tests.live.workload import SteadyProducer, check_kept, check_once_of, committed, read_all

PAUSE_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 90
DECIDED_SECONDS: Final = LEFT_MS / 1_000 + 5
"""How long a transaction may stay open that nobody ends: its time-out, and its markers."""

Offsets = dict[TopicPartition, int]


class Counts(NamedTuple):
    """Of transactions, and of records that were copied in them."""

    committed: int = 0
    aborted: int = 0
    records: int = 0

    def plus(self, other: Counts) -> Counts:
        """Of both."""
        return Counts(*map(sum, zip(self, other, strict=True)))


class Load:
    """Numbers in each partition of a topic, which are copied to another."""

    def __init__(self, arena: CopierArena) -> None:
        self._arena, self._cluster = arena, arena.cluster
        self.topics = Topics(fresh("source"), fresh("target"), fresh("ledger"))
        self._group = fresh("copiers")
        self._stack = ExitStack()
        for topic in self.topics:
            self._cluster.make(topic, PARTITIONS)
        arena.topics, arena.partitions = self.topics, PARTITIONS
        at, (source, target, ledger) = self._cluster.bootstrap, self.topics
        settings = {"enable.idempotence": True}
        self._feeder = SteadyProducer(at, source, PARTITIONS, pause=PAUSE_SECONDS, **settings)
        self._source = [TopicPartition(source, it) for it in range(PARTITIONS)]
        self._target = [TopicPartition(target, it) for it in range(PARTITIONS)]
        self._ledger = [TopicPartition(ledger, it) for it in range(PARTITIONS)]
        written = [*self._target, *self._ledger]
        self._committed = Watcher(at, written, COMMITTED)
        self._uncommitted = Watcher(at, written, UNCOMMITTED)

    def __enter__(self) -> Self:
        for it in (self._feeder, self._committed, self._uncommitted):
            self._stack.enter_context(it)
        self.fleet = Fleet(self._cluster.bootstrap, self.topics, self._group, self._arena.said)
        self._arena.fleet = self.fleet
        self._stack.callback(self.fleet.close)
        self.goes_on()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def goes_on(self) -> None:
        """Every partition is copied, by whichever copier has it now, and of a name there is one."""
        before = {it: self._committed.count(it) for it in self._target}

        def has_more() -> bool:
            self.fleet.tend()
            if self.fleet.ghosts:
                return False
            return all(self._committed.count(it) > count for it, count in before.items())

        eventually(has_more, seconds=PATIENCE_SECONDS, what=f"copiers go on: {before}")

    def is_whole(self) -> str:
        """All replicas are in sync, all copiers go on; how many transactions there were so far."""
        self._cluster.await_isr(*self.topics, BROKERS)
        self.goes_on()
        told = {it: len(self.fleet.told(it)) for it in (Said.COMMITTED, Said.ABORTED)}
        return ", ".join(f"{count} {it.value}" for it, count in told.items())

    def ends(self) -> Counts:
        """All is copied once, whole and in order; nothing is undecided; replicas are equal."""
        self._feeder.stop()
        assert not self._feeder.failed, self._feeder.failed[:5]
        found = read_all(self._cluster.bootstrap, self.topics.source, PARTITIONS)
        check_kept(self._feeder, found)
        check_once_of(self._cluster, self.topics.source, found, self._feeder)
        wanted = {it: len(found[it.partition]) for it in self._source}
        eventually(lambda: self._is_copied(wanted), seconds=PATIENCE_SECONDS, what=str(wanted))
        self.fleet.close()
        ends = self._decided()
        for watcher in (self._committed, self._uncommitted):
            eventually(lambda: watcher.has_read(ends), what="all is read")  # noqa: B023
            assert not watcher.failed, watcher.failed[:5]
        self._stack.close()
        self._check_copied(found)
        counts = self._check_whole()
        assert self._positions() == wanted
        self._cluster.await_isr(*self.topics, BROKERS)
        self._cluster.check_replicas_equal(*self.topics)
        return counts

    def _is_copied(self, wanted: Offsets) -> bool:
        self.fleet.tend()
        return self._positions() == wanted

    def _positions(self) -> Offsets:
        """What the group has committed."""
        topic = self.topics.source
        found = committed(self._cluster.bootstrap, self._group, topic, PARTITIONS)
        return {TopicPartition(topic, it): offset for it, offset in found.items()}

    def _decided(self) -> Offsets:
        """The ends, once no transaction is open: of one that is left, behind its time-out."""
        self.fleet.leave_open()
        begun = monotonic()
        with BlockingClient(self._cluster.bootstrap) as client:
            group = client.topic(GROUP_METADATA_TOPIC).partitions
            partitions = [TopicPartition(GROUP_METADATA_TOPIC, it) for it in group]
            partitions += [*self._source, *self._target, *self._ledger]
            wanted = dict.fromkeys(partitions, LATEST)

            def undecided() -> set[TopicPartition]:
                stable = client.offsets(wanted, committed=True)
                ends = client.offsets(wanted)
                return {it for it in wanted if stable[it].offset != ends[it].offset}

            assert undecided().issuperset(self._target)
            seconds = max(1, begun + DECIDED_SECONDS - monotonic())
            eventually(lambda: not undecided(), seconds=seconds, what="an LSO is not at its end")
            ends = client.offsets(dict.fromkeys([*self._target, *self._ledger], LATEST))
        return {partition: it.offset for partition, it in ends.items()}

    def _check_copied(self, found: dict[int, list[tuple[int, bytes]]]) -> None:
        """Exactly once, and in order."""
        for partition in self._target:
            expected = [int(value) for _, value in found[partition.partition]]
            copied = [Mark.read(value).number for _, value in self._committed.found[partition]]
            if copied != expected:
                doubled = [it for it, count in Counter(copied).items() if count > 1]
                lost = sorted({*expected} - {*copied})
                raise AssertionError(
                    f"{partition}: lost {lost[:10]}, doubled {doubled[:10]}, "
                    f"{len(copied)} of {len(expected)}, else out of order"
                )

    def _check_whole(self) -> Counts:
        """All of a transaction or nothing, and never one that was aborted."""
        copied = self._transactions(self._committed, self._target)
        listed = self._transactions(self._committed, self._ledger)
        assert set(copied) == set(listed), {*copied} ^ {*listed}
        torn = [it for it, count in copied.items() if count != it.records]
        assert not torn, torn[:5]
        assert set(listed.values()) == {1}
        assert {it.fate for it in listed} == {Fate.KEPT}
        names = {it.name for it in listed}
        assert not self.fleet.told(Said.COMMITTED) - names
        assert not self.fleet.told(Said.ABORTED) & names
        written = self._transactions(self._uncommitted, [*self._target, *self._ledger])
        aborted = set(written) - set(listed)
        assert {it.fate for it in aborted} >= {Fate.DROPPED, Fate.LEFT}, "nothing was aborted"
        for partition in [*self._target, *self._ledger]:
            missing = {*self._committed.found[partition]} - {*self._uncommitted.found[partition]}
            assert not missing, (partition, sorted(missing)[:5])
        return Counts(len(listed), len(aborted), sum(copied.values()))

    def _transactions(
        self, watcher: Watcher, partitions: list[TopicPartition]
    ) -> Counter[Transaction]:
        """How many records of each a reader has seen in these partitions."""
        values = (value for it in partitions for _, value in watcher.found[it])
        return Counter(Mark.read(value).transaction for value in values)
