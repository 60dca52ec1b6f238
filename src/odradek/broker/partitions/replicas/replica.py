"""One replica of this broker: its log, and those who wait for what is written to it.

An append is decided at once and written at the end of the turn of the loop (`group_commit`). A
leader and a follower differ in what they append, and in what they do once it is written.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from odradek.broker.partitions.replicas.readers import Readers
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Millis
from odradek.ports import Clock
from odradek.storage.errors import StorageError
from odradek.storage.logs.log import PartitionLog


class Writer(Protocol):
    """The source of an append: told once it is in the file, or will never be."""

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """`place` is the writer's own number for the append."""
        ...

    def on_stuck(self, place: int, patience: "Patience") -> None:
        """Its disk hangs: the writer waits no longer than it was asked to.

        It may be told of the end of the write after all.
        """
        ...


Expecting: TypeAlias = tuple[Writer, int, Offset]
"""A writer, its own number for the append, and up to where the log must reach before it is told."""


class Patience(Protocol):
    """Ends the waiting of those who were there since the last look at a disk that hangs."""

    def after(self, timeout: Millis, call: Callable[[], None]) -> object:
        """Calls so long after that look."""
        ...


class Scheduler(Protocol):
    """Writes at the end of the turn: the log dir's `GroupCommit`."""

    def schedule(self, replica: "Replica") -> None:
        """Something was decided for this log."""
        ...

    def withdraw(self, replica: "Replica") -> None:
        """It is written by another scheduler from now on."""
        ...


def unwritten_before() -> StorageError:
    """Why what was written did not count: it rests on what was not."""
    return StorageError("a write before this one failed")


class Replica:
    """The log of one partition, and its appends of this turn."""

    __slots__ = ("_appends", "_clock", "expecting", "is_scheduled", "log", "partition", "readers")

    def __init__(self, log: PartitionLog, appends: Scheduler, clock: Clock) -> None:
        self.partition: TopicPartition = log.partition
        self.log = log
        self.readers = Readers()
        self.expecting: list[Expecting] = []  # of this turn
        self.is_scheduled = False  # the end of the turn knows of it
        self._appends = appends
        self._clock = clock

    @property
    def topic_id(self) -> TopicId:
        """The topic's, which tells it from an earlier one of its name."""
        return self.log.topic_id

    def roll(self, writer: Writer, place: int) -> None:
        """Begins a new segment; `writer` is told once that is done."""
        self.log.roll(self._clock.wall())
        self.expect(writer, place, self.log.next_offset)

    def expect(self, writer: Writer, place: int, end: Offset) -> None:
        """Tells the writer once the log reaches `end`."""
        self.expecting.append((writer, place, end))
        if not self.is_scheduled:
            self._appends.schedule(self)

    def serve_from(self, log: PartitionLog, appends: Scheduler) -> None:
        """The log that takes the place of this one has the same records, in another log dir."""
        if log is self.log:
            return
        self.log = log
        if self.is_scheduled:
            self._appends.withdraw(self)
            appends.schedule(self)
        self._appends = appends
        self.readers.on_change()

    def take_expecting(self) -> list[Expecting]:
        """Those of this turn: the next one begins."""
        taken, self.expecting = self.expecting, []
        self.is_scheduled = False
        return taken

    def take_lost(self) -> list[Expecting]:
        """Those of this turn who wait for more than there is: others get those offsets now."""
        end = self.log.log_end_offset
        lost = [it for it in self.expecting if it[2] > end]
        self.expecting = [it for it in self.expecting if it[2] <= end]
        return lost

    def written(self, expecting: list[Expecting]) -> None:
        """The turn's batches are in the file."""
        end = self.log.log_end_offset
        for writer, place, expected in expecting:
            writer.on_written(place, unwritten_before() if expected > end else None)

    def unwritten(self, expecting: list[Expecting], error: BrokerError) -> None:
        """They are not, and will not be."""
        for writer, place, expected in expecting:
            is_there = expected <= self.log.log_end_offset
            writer.on_written(place, None if is_there else error)
