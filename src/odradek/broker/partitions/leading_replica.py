"""One partition that this broker leads: its log, its leader's mind, and those who wait for either.

The log decides where a batch goes, the leader how far it is committed; what the leader wants done
is carried out here, from top to bottom. An append is decided at once and written at the end of the
turn (`appends`); whoever wants to know is told when it is in the file.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import structlog

from odradek.broker.partitions.produce_rules import ProduceRules
from odradek.broker.partitions.traffic import Traffic
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.ports import Clock
from odradek.records.batch import BatchHeader, read_header
from odradek.replication.leader import Effects, Leader, Verdict
from odradek.storage.errors import StorageError
from odradek.storage.logs.log import Appended, PartitionLog

log = structlog.get_logger()


class Writer(Protocol):
    """Who appended something: told once it is in the file, or will never be."""

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """`place` is the writer's own number for the append."""
        ...


class Committer(Protocol):
    """Who waits for an append to be committed; the ticket at the leader's core."""

    def on_verdict(self, error: ErrorCode | None) -> None:
        """No error means: committed."""
        ...


class Sleeper(Protocol):
    """Who waits for more to read; the ticket at the leader's core."""

    def wake(self) -> None:
        """There is more, or the leadership is over: look again."""
        ...


Expecting: TypeAlias = tuple[Writer, int, Offset]
"""A writer, its own number for the append, and up to where the log must reach before it is told."""


class Scheduler(Protocol):
    """Who writes at the end of the turn: the log dir's `GroupCommit`."""

    def schedule(self, led: "LeadingReplica") -> None:
        """Something was decided for this log."""
        ...


class Rules(NamedTuple):
    """What the topic says, and what is counted for it."""

    admission: ProduceRules
    traffic: Traffic


class Around(NamedTuple):
    """What a partition finds around it."""

    appends: Scheduler
    clock: Clock


class LeadingReplica:
    """A partition of which this broker is the leader, for as long as it is."""

    __slots__ = (
        "_appends",
        "_clock",
        "admission",
        "expecting",
        "is_over",
        "is_scheduled",
        "leader",
        "log",
        "partition",
        "traffic",
        "watchers",
    )

    def __init__(self, log: PartitionLog, leader: Leader, rules: Rules, world: Around) -> None:
        self.partition: TopicPartition = log.partition
        self.log = log
        self.leader = leader
        self.watchers: list[Callable[[Offset], None]] = []  # of the high watermark
        self.expecting: list[Expecting] = []  # of this turn
        self.is_scheduled = False  # the end of the turn knows of it
        self.is_over = False  # the leadership has ended
        self.admission = rules.admission
        self.traffic = rules.traffic
        self._appends = world.appends
        self._clock = world.clock

    @property
    def topic_id(self) -> TopicId:
        """The topic's, which tells it from an earlier one of its name."""
        return self.log.topic_id

    @property
    def leader_epoch(self) -> LeaderEpoch:
        """Which leadership this is."""
        return self.leader.leader_epoch

    # Appending

    def append(
        self, batch: bytearray | memoryview, header: BatchHeader, writer: Writer, place: int
    ) -> Appended:
        """Gives a checked batch its place; raises what the log has against it.

        A duplicate has its place already, but perhaps not yet in the file.
        """
        appended = self.log.append(batch, header, self.leader.leader_epoch, self._clock.wall())
        self.expecting.append((writer, place, Offset(appended.last_offset + 1)))
        if not self.is_scheduled:
            self._appends.schedule(self)
        return appended

    def append_own(self, batch: bytearray, done: Callable[[Offset | BrokerError], None]) -> None:
        """A coordinator's batch: its base offset once it is in the file.

        `done` is called in a later turn than this, in the order of the calls.
        """
        own = _Own(done)
        own.base_offset = self.append(batch, read_header(batch), own, 0).base_offset

    def begin_epoch(self, writer: Writer, place: int) -> None:
        """Writes this leader epoch into the log's history; tells `writer` once it is durable."""
        self.log.begin_epoch(self.leader.leader_epoch)
        self.expecting.append((writer, place, self.log.next_offset))
        self._appends.schedule(self)

    def roll(self, writer: Writer, place: int) -> None:
        """Begins a new segment; `writer` is told once that is done."""
        self.log.roll(self._clock.wall())
        self.expecting.append((writer, place, self.log.next_offset))
        self._appends.schedule(self)

    def take_expecting(self) -> list[Expecting]:
        """Those of this turn: the next one begins."""
        taken, self.expecting = self.expecting, []
        self.is_scheduled = False
        return taken

    # What follows

    def written(self, expecting: list[Expecting]) -> None:
        """The turn's batches are in the file."""
        if not self.is_over:
            now = self._clock.monotonic()
            self.carry_out(self.leader.on_append(self.log.log_end_offset, now))
        end = self.log.log_end_offset
        for writer, place, expected in expecting:
            lost = StorageError("a write before this one failed") if expected > end else None
            writer.on_written(place, lost)

    def unwritten(self, expecting: list[Expecting], error: BrokerError) -> None:
        """They are not, and will not be."""
        for writer, place, expected in expecting:
            is_there = expected <= self.log.log_end_offset
            writer.on_written(place, None if is_there else error)

    def resign(self) -> None:
        """The leadership is over: who waits is told to look elsewhere."""
        self.is_over = True
        self.carry_out(self.leader.resign())

    def carry_out(self, effects: Effects) -> None:
        """What the leader's mind wants, from top to bottom. `begin_epoch` is the caller's."""
        if effects.high_watermark is not None:
            self.log.on_high_watermark(effects.high_watermark)
        if effects.propose is not None:
            log.warning("isr.not_proposed", partition=str(self.partition))  # nobody to propose to
        for verdict in effects.verdicts:
            _tell(verdict)
        for sleeper in effects.wake:
            sleeper.wake()  # type: ignore[attr-defined]  # tickets are ours
        if effects.high_watermark is not None:
            for watcher in self.watchers:
                watcher(effects.high_watermark)

    def await_commit(self, end_offset: Offset, committer: Committer) -> Callable[[], None] | None:
        """Tells once all below is committed; how to give up, if that was not at once."""
        if self.is_over:
            committer.on_verdict(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return None
        waiter = self.leader.await_commit(end_offset, committer)
        if isinstance(waiter, Verdict):
            _tell(waiter)
            return None
        return waiter.give_up


def _tell(verdict: Verdict) -> None:
    verdict.ticket.on_verdict(verdict.error)  # type: ignore[attr-defined]  # tickets are ours


class _Own:
    """A coordinator that waits for one of its batches."""

    __slots__ = ("_done", "base_offset")

    def __init__(self, done: Callable[[Offset | BrokerError], None]) -> None:
        self.base_offset = Offset(0)
        self._done = done

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """Says so."""
        del place
        self._done(self.base_offset if error is None else error)
