"""The checkpoints of a log dir: one small file for each kind of offset, of all its logs.

What they are to say is gathered on the loop, in a dictionary of its own, and encoded and written on
the disk's thread; the thread alone knows, and changes, what the files say now. What is noted every
few seconds is synced beside that thread (`Note`): no append waits for a sync that nothing rests on.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Final, NamedTuple

from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.ports import Disk
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import decode_offsets, encode_offsets, has_sum
from odradek.storage.files.dir_files import read_small, write_small, write_synced
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from odradek.storage.lending import Holders
from odradek.storage.logs.loading import Checkpointed
from odradek.storage.logs.log import PartitionLog

NEXT: Final = ".next"
"""Behind the name of a checkpoint: its successor, which is being synced."""

NOWHERE: Final = Offset(1 << 63)

Offsets = dict[TopicPartition, Offset]


class DirCheckpoints:
    """Those of one dir."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        self.lent_to: Holders | None = None  # the job that has its tables for itself
        self.disk = disk
        self.name = disk.name  # where the dir is
        self.failures = failures
        self.logs: dict[TopicPartition, PartitionLog] = {}  # changed on the loop
        self.contested: dict[TopicPartition, PartitionLog] = {}  # other dirs have one, too
        self.arriving: dict[TopicPartition, PartitionLog] = {}  # about to get their names here
        self.left_behind: dict[TopicPartition, PartitionLog] = {}  # a move may have replaced them
        self.cleaner_offsets: Offsets = {}  # replaced whole, never changed: the loop reads it
        self.starts_to_be: Offsets = {}  # of logs that begin there in a moment; on the loop
        self._recovery_points: Offsets = {}
        self._log_starts: Offsets = {}
        self._high_watermarks: Offsets = {}
        self.starts_are_lost = False  # when it was opened, nothing told where its logs begin
        self._starts_are_sure = True  # a checksum covered them then
        self._changes: Counter[str] = Counter()  # of each file, by the disk's thread

    def on_lent(self) -> None:
        """Nothing of it is asked for meanwhile."""

    def read_checkpoints(self) -> list[str]:
        """Reads all of them; a note for each that says nothing because it cannot be read."""
        notes: list[str] = []
        self._recovery_points = self._read(RECOVERY_POINTS, notes)
        self._log_starts = self._read_log_starts(notes)
        self._high_watermarks = self._read(HIGH_WATERMARKS, notes)
        self.cleaner_offsets = self._read(CLEANER_OFFSETS, notes)
        return notes

    def _read(self, name: str, notes: list[str]) -> Offsets:
        """A checkpoint; one that cannot be read says nothing, which is always safe."""
        return self._decoded(name, self._found(name), notes)

    def _found(self, name: str) -> bytes | None:
        try:
            return read_small(self.disk, name)
        except FileNotFoundError:
            return None

    def _decoded(self, name: str, data: bytes | None, notes: list[str]) -> Offsets:
        if data is None:
            return {}
        try:
            return decode_offsets(data, f"{self.name}/{name}")
        except CorruptFile as error:
            notes.append(f"ignored: {error}")
            return {}

    def _read_log_starts(self, notes: list[str]) -> Offsets:
        """As any; but without it what was deleted is back, which other replicas know better."""
        known, data = len(notes), self._found(LOG_START_OFFSETS)
        starts = self._decoded(LOG_START_OFFSETS, data, notes)
        self.starts_are_lost = len(notes) > known
        self._starts_are_sure = data is None or not starts or has_sum(data)
        return starts

    def checkpointed(self, partition: TopicPartition) -> Checkpointed:
        """What the files say of one log."""
        zero = Offset(0)
        return Checkpointed(
            self._recovery_points.get(partition, zero),
            self._log_starts.get(partition, zero),
            self._high_watermarks.get(partition, zero),
            self.cleaner_offsets.get(partition, zero),
            self._starts_are_sure,
        )

    def recovery_points(self) -> Offsets:
        """Up to where each log is durable. On the loop."""
        return _recovery_points(self._named())

    def log_starts(self) -> Offsets:
        """Where logs begin that do so within a segment, or are about to. On the loop.

        Of one that is lent at this moment it stays what the file says.
        """
        logs = self._named()
        lent = {p for p, log in logs.items() if log.lent_to is not None}
        found = _log_starts({p: log for p, log in logs.items() if p not in lent})
        found |= {p: at for p, at in self._log_starts.items() if p in lent}
        return found | {p: at for p, at in self.starts_to_be.items() if p in logs}

    def high_watermarks(self) -> Offsets:
        """Of all logs. On the loop."""
        return _high_watermarks(self._named())

    def _named(self) -> dict[TopicPartition, PartitionLog]:
        """All that have the name of a current log here, or are about to get it."""
        return self.left_behind | self.logs | self.contested | self.arriving

    def checkpoint(self) -> "CheckpointJob":
        """What all the checkpoints should say now. On the loop; its `run` is for the disk."""
        return CheckpointJob(
            self, self.recovery_points(), self.log_starts(), self.high_watermarks()
        )

    def notes(self, *names: str) -> list["Note"]:
        """What these checkpoints should say now. On the loop."""
        gather = {
            RECOVERY_POINTS: self.recovery_points,
            LOG_START_OFFSETS: self.log_starts,
            HIGH_WATERMARKS: self.high_watermarks,
        }
        return [Note(self, name, gather[name](), self._changes[name]) for name in names]

    def check(self) -> None:
        """Whether the dir is there and can be written: an idle disk tells nothing.

        A file that is always there is opened for writing, which changes nothing.
        """
        with self.failures.touching(self.name):
            self.disk.open(LOCK).close()

    def prove(self) -> None:
        """Whether its device takes anything: what memory knows of a dead one looks like a file.

        The same bytes are written where they are, so a disk without room takes them, too.
        """
        with self.failures.touching(self.name), closing(self.disk.open(LOCK)) as file:
            file.write([b"."], 0)
            file.sync()

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Replaces one of them."""
        self._changes[name] += 1
        with self.failures.touching(self.name):
            write_small(self.disk, name, encode_offsets(offsets))

    def note_recovery_points(self, points: Offsets) -> None:
        """Writes the recovery points unless they are what the file says; earlier notes are void."""
        self._changes[RECOVERY_POINTS] += 1
        if points != self._recovery_points:
            self.write_checkpoint(RECOVERY_POINTS, points)
            self._recovery_points = points

    def note_log_starts(self, starts: Offsets) -> None:
        """Likewise the starts of logs that lie within a segment."""
        self._changes[LOG_START_OFFSETS] += 1
        if starts != self._log_starts:
            self.write_checkpoint(LOG_START_OFFSETS, starts)
            self._log_starts = starts

    def note_high_watermarks(self, high_watermarks: Offsets) -> None:
        """Likewise the high watermarks."""
        self._changes[HIGH_WATERMARKS] += 1
        if high_watermarks != self._high_watermarks:
            self.write_checkpoint(HIGH_WATERMARKS, high_watermarks)
            self._high_watermarks = high_watermarks

    def saved(self, name: str) -> Offsets:
        """What the file says. They are replaced whole, so any thread may look."""
        return {
            RECOVERY_POINTS: self._recovery_points,
            LOG_START_OFFSETS: self._log_starts,
            HIGH_WATERMARKS: self._high_watermarks,
        }[name]

    def replace(self, name: str, successor: str, offsets: Offsets, changes: int) -> None:
        """Puts a file in the place of a checkpoint that has not changed since; else it stays."""
        if self._changes[name] != changes:
            return
        with self.failures.touching(self.name):
            self.disk.rename(successor, name)
        if name == RECOVERY_POINTS:
            self._recovery_points = offsets
        elif name == LOG_START_OFFSETS:
            self._log_starts = offsets
        else:
            self._high_watermarks = offsets

    def note_cleaned(self, partition: TopicPartition, first_dirty: Offset) -> None:
        """How far compaction has come with one log."""
        self._note_cleaner_offsets({**self.cleaner_offsets, partition: first_dirty})

    def _note_cleaner_offsets(self, offsets: Offsets) -> None:
        self.cleaner_offsets = offsets
        self.write_checkpoint(CLEANER_OFFSETS, offsets)

    def forget_checkpoints(self, partitions: Collection[TopicPartition]) -> None:
        """Of earlier logs of these names, before others get them.

        After a crash the recovery point of one would be taken for that of the new log, of which
        less, or nothing, is durable. Notes that were gathered before are void.
        """
        self._changes.update((RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS))
        if _speak_of(partitions, self._recovery_points):
            self.note_recovery_points(_without(partitions, self._recovery_points))
        if _speak_of(partitions, self._log_starts):
            self.note_log_starts(_without(partitions, self._log_starts))
        if _speak_of(partitions, self._high_watermarks):
            self.note_high_watermarks(_without(partitions, self._high_watermarks))
        if _speak_of(partitions, self.cleaner_offsets):
            self._note_cleaner_offsets(_without(partitions, self.cleaner_offsets))

    def take_over(self, log: PartitionLog, first_dirty: Offset | None) -> None:
        """All that is to be said of a log that is about to be the current one here."""
        partition = log.partition
        self.note_recovery_points({**self._recovery_points, partition: log.recovery_point})
        self.note_log_starts({**self._log_starts, partition: log.log_start_offset})
        self.note_high_watermarks({**self._high_watermarks, partition: log.high_watermark})
        if first_dirty is not None:
            self.note_cleaned(partition, first_dirty)
        elif partition in self.cleaner_offsets:
            self.note_cleaned(partition, log.log_start_offset)

    def speaks_of(self, log: PartitionLog, first_dirty: Offset | None) -> bool:
        """Whether all files say of it what is true, or less. On the loop."""
        partition, start = log.partition, log.log_start_offset
        base = log.segments[0].base_offset
        return (
            self._recovery_points.get(partition, NOWHERE) <= log.recovery_point
            and self._log_starts.get(partition, base) == start
            and partition in self._high_watermarks
            and self.cleaner_offsets.get(partition) == first_dirty
        )

    def lower_recovery_points(self, points: Mapping[TopicPartition, Offset]) -> None:
        """Before logs are cut: only what the file says is lowered, if it says more.

        What was gathered before and is not in the file yet never gets there.
        """
        self._changes[RECOVERY_POINTS] += 1
        lowered = _lowered(points, self._recovery_points)
        if lowered:
            self.note_recovery_points({**self._recovery_points, **lowered})

    def raise_recovery_points(self, points: Mapping[TopicPartition, Offset]) -> None:
        """Up to there these logs were made durable, for a gap that a cut or a compaction leaves."""
        if points:
            self.note_recovery_points({**self._recovery_points, **points})

    def lower_log_starts(self, points: Mapping[TopicPartition, Offset]) -> None:
        """Likewise: a log that ends below where it is said to start would be begun anew."""
        lowered = _lowered(points, self._log_starts)
        if lowered:
            self.note_log_starts({**self._log_starts, **lowered})

    def lower_high_watermarks(self, points: Mapping[TopicPartition, Offset]) -> None:
        """Likewise: what is written behind a cut is not committed."""
        lowered = _lowered(points, self._high_watermarks)
        if lowered:
            self.note_high_watermarks({**self._high_watermarks, **lowered})

    def lower_cleaner_offsets(self, points: Mapping[TopicPartition, Offset]) -> None:
        """Likewise: what is written behind a cut was never compacted, so its gaps are losses."""
        lowered = _lowered(points, self.cleaner_offsets)
        if lowered:
            self._note_cleaner_offsets({**self.cleaner_offsets, **lowered})


class Note:
    """One checkpoint, to be replaced while appends go on. Each step is a job of its own.

    Between the steps the disk's thread may have replaced it for a reason of its own, a truncation
    or a log that is made anew: then this one is out of date, and is dropped.
    """

    def __init__(self, log_dir: DirCheckpoints, name: str, offsets: Offsets, changes: int) -> None:
        self._dir = log_dir
        self._name = name
        self._offsets = offsets
        self._changes = changes  # of the file, when this was gathered
        self.is_news = False  # it waits for its name

    @property
    def _next(self) -> str:
        return f"{self._name}{NEXT}"

    def write(self) -> None:
        """Beside the disk's thread, synced, if it says anything new."""
        if self._offsets != self._dir.saved(self._name):
            with self._dir.failures.touching(self._dir.name):
                write_synced(self._dir.disk, self._next, encode_offsets(self._offsets))
            self.is_news = True

    def take_place(self) -> None:
        """On the disk's thread."""
        if self.is_news:
            self._dir.replace(self._name, self._next, self._offsets, self._changes)

    def settle(self) -> None:
        """Beside it again: its name is durable."""
        with self._dir.failures.touching(self._dir.name):
            self._dir.disk.sync_directory("")


Logs = Mapping[TopicPartition, PartitionLog]


def _recovery_points(logs: Logs) -> Offsets:
    return {p: log.recovery_point for p, log in logs.items()}


def _log_starts(logs: Logs) -> Offsets:
    """Of each that does not begin with the first record; where segments begin is not asked.

    A job may have the segments just now, and the first batch of an empty log may begin below.
    """
    return {p: log.log_start_offset for p, log in logs.items() if log.log_start_offset}


def _high_watermarks(logs: Logs) -> Offsets:
    return {p: log.high_watermark for p, log in logs.items()}


def _lowered(
    points: Mapping[TopicPartition, Offset], said: Offsets
) -> dict[TopicPartition, Offset]:
    """Those of which a checkpoint says more."""
    return {p: at for p, at in points.items() if said.get(p, at) > at}


def _speak_of(partitions: Collection[TopicPartition], offsets: Offsets) -> bool:
    """Rarely: most logs that are made have names that were never used before."""
    return any(partition in offsets for partition in partitions)


def _without(partitions: Collection[TopicPartition], offsets: Offsets) -> Offsets:
    return {p: offset for p, offset in offsets.items() if p not in partitions}


class CheckpointJob(NamedTuple):
    """What is to be written of the logs of a directory."""

    log_dir: DirCheckpoints
    recovery_points: Offsets
    log_starts: Offsets
    high_watermarks: Offsets

    def run(self) -> None:
        """On the disk's thread; what has not changed is not written."""
        self.log_dir.note_recovery_points(self.recovery_points)
        self.log_dir.note_log_starts(self.log_starts)
        self.log_dir.note_high_watermarks(self.high_watermarks)


def checkpoint_of(log_dir: DirCheckpoints, logs: Logs) -> CheckpointJob:
    """What all the checkpoints should say of these logs now. For who has them for himself."""
    return CheckpointJob(log_dir, _recovery_points(logs), _log_starts(logs), _high_watermarks(logs))
