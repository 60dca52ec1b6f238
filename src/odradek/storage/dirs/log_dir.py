"""One log dir: a lock, an identity, the logs that lie in it, and the checkpoints of them all.

Everything here concerns one disk and runs on its thread, except where it says "on the loop".
A directory is opened whole or is offline: an I/O error while any of its logs is opened takes it
away, and the others go on.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import ENOSPC
from itertools import count
from typing import NamedTuple

from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.positions import (
    NO_BROKER_EPOCH,
    NO_LEADER_EPOCH,
    BrokerEpoch,
    LeaderEpoch,
    Offset,
)
from odradek.model.units import Timestamp
from odradek.ports import Disk, Lock
from odradek.storage.dirs.checkpoints import (
    MetaProperties,
    decode_clean_shutdown,
    decode_offsets,
    encode_clean_shutdown,
    encode_offsets,
    encode_partition_metadata,
)
from odradek.storage.dirs.failures import Failures
from odradek.storage.dirs.files import (
    OpenFiles,
    delete_if_there,
    put_small,
    read_small,
    write_small,
)
from odradek.storage.dirs.names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    MOVED_HERE,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    Kind,
    parse_log_name,
    renamed,
)
from odradek.storage.errors import CorruptFile, DiskFull, StorageError
from odradek.storage.logs.closing import close
from odradek.storage.logs.loading import Checkpointed, LogOpener, Repair
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.truncation import truncate_to
from odradek.storage.segments.segment import Folder
from odradek.storage.settings import LogConfig

Offsets = dict[TopicPartition, Offset]


class DirLocked(StorageError):
    """Another process uses this log dir: the broker must not start."""


class InDir(NamedTuple):
    """How a log comes to be in this directory."""

    config: LogConfig
    topic_id: TopicId = NO_TOPIC_ID
    is_new: bool = False  # its directory is made first
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH  # the leadership that begins with it, if one does


class NewLog(NamedTuple):
    """One that is to be made."""

    partition: TopicPartition
    name: str  # of its directory
    how: InDir


@dataclass(slots=True)
class Opened:
    """What was found when a directory was opened."""

    clean: bool = False
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH  # under which it was closed, if it was
    repairs: list[Repair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)


class LogDir:
    """One directory of the JBOD, and what is in it."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        self.disk = disk
        self.failures = failures
        self.files = OpenFiles(disk)
        self.meta = MetaProperties()
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.futures: dict[TopicPartition, PartitionLog] = {}
        self.moved_here: set[TopicPartition] = set()  # of which another dir may hold the old one
        self.to_delete: list[str] = []  # directories that were renamed, and are to go
        self.cleaner_offsets: Offsets = {}
        self._recovery_points: Offsets = {}
        self._log_starts: Offsets = {}
        self._high_watermarks: Offsets = {}
        self._lock: Lock | None = None

    @property
    def name(self) -> str:
        """Where it is."""
        return self.disk.name

    @property
    def is_offline(self) -> bool:
        """Whether it has failed."""
        return self.failures.has_failed(self.name)

    def __len__(self) -> int:
        """How many logs it has: the one with the fewest gets the next."""
        return len(self.logs) + len(self.futures)

    # Opening and closing

    def take(self) -> None:
        """Locks the directory, and reads whose it is."""
        with self.failures.touching(self.name):
            self.disk.make_directory("")
            try:
                self._lock = self.disk.lock(LOCK)
            except BlockingIOError:
                raise DirLocked(f"{self.name} is used by another process") from None
            if self.disk.exists(META_PROPERTIES):
                try:
                    data = read_small(self.disk, META_PROPERTIES)
                    self.meta = MetaProperties.decode(data, f"{self.name}/{META_PROPERTIES}")
                except CorruptFile as error:
                    raise OSError(str(error)) from error

    def sign(self, meta: MetaProperties) -> None:
        """Writes whose it is, where that is not said yet."""
        if meta != self.meta:
            with self.failures.touching(self.name):
                write_small(self.disk, META_PROPERTIES, meta.encode())
            self.meta = meta

    def open(self, config_of: Callable[[str], LogConfig], now: Timestamp) -> Opened:
        """Opens every log in it; the clean marker counts once, and is gone before any of them.

        A disk without room for what has to be repaired cannot be used: were some of its logs left
        out, empty ones would be made in their place.
        """
        try:
            return self._open_all(config_of, now)
        except DiskFull as error:
            raise self.failures.report(self.name, OSError(ENOSPC, str(error))) from error

    def _open_all(self, config_of: Callable[[str], LogConfig], now: Timestamp) -> Opened:
        with self.failures.touching(self.name):
            opened = Opened()
            opened.clean, opened.broker_epoch = self._take_marker()
            self._recovery_points = self._read(RECOVERY_POINTS, opened)
            self._log_starts = self._read(LOG_START_OFFSETS, opened)
            self._high_watermarks = self._read(HIGH_WATERMARKS, opened)
            self.cleaner_offsets = self._read(CLEANER_OFFSETS, opened)
            opener = LogOpener(self.failures, opened.clean, now)
            for name in self.disk.names(""):
                found = parse_log_name(name)
                if found is None or not self.disk.is_directory(name):
                    continue
                partition, kind = found
                if kind is Kind.DELETE:
                    self.to_delete.append(name)
                elif kind is Kind.STRAY:
                    opened.strays.append(name)
                else:
                    self._open(opener, partition, name, config_of(partition.topic), opened)
        return opened

    def _open(  # noqa: PLR0917 - what one log needs
        self,
        opener: LogOpener,
        partition: TopicPartition,
        name: str,
        config: LogConfig,
        opened: Opened,
    ) -> None:
        zero = Offset(0)
        checkpointed = Checkpointed(
            self._recovery_points.get(partition, zero),
            self._log_starts.get(partition, zero),
            self._high_watermarks.get(partition, zero),
            self.cleaner_offsets.get(partition, zero),
        )
        if name != str(partition):
            checkpointed = Checkpointed()  # the checkpoints speak of the current log
        try:
            folder = Folder(self.files, name)
            log, repair, moved = opener.open(partition, folder, config, checkpointed)
        except CorruptFile as error:
            raise OSError(str(error)) from error  # not a log that may be left out unseen
        (self.logs if name == str(partition) else self.futures)[partition] = log
        if moved:
            self.moved_here.add(partition)
        if repair:
            opened.repairs.append(repair)

    def _take_marker(self) -> tuple[bool, BrokerEpoch]:
        try:
            data = read_small(self.disk, CLEAN_SHUTDOWN)
        except FileNotFoundError:
            return False, NO_BROKER_EPOCH
        self.disk.unlink(CLEAN_SHUTDOWN)
        self.disk.sync_directory("")
        return True, decode_clean_shutdown(data)

    def _read(self, name: str, opened: Opened) -> Offsets:
        """A checkpoint; one that cannot be read says nothing, which is always safe."""
        try:
            return decode_offsets(read_small(self.disk, name), f"{self.name}/{name}")
        except FileNotFoundError:
            return {}
        except CorruptFile as error:
            opened.notes.append(f"ignored: {error}")
            return {}

    def close(self, now: Timestamp, broker_epoch: BrokerEpoch) -> None:
        """Closes every log, then says so: the marker is the last that is written."""
        with self.failures.touching(self.name):
            for log in (*self.logs.values(), *self.futures.values()):
                close(log, now)
            self.checkpoint().run()
            write_small(self.disk, CLEAN_SHUTDOWN, encode_clean_shutdown(broker_epoch))
        self.abandon()

    def abandon(self) -> None:
        """Lets go of it as it is: the disk has failed, or the process ends."""
        self.files.forget_all()
        self.logs.clear()
        self.futures.clear()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # Checkpoints

    def recovery_points(self) -> Offsets:
        """Up to where each log is durable. On the loop."""
        return {p: log.recovery_point for p, log in self.logs.items()}

    def log_starts(self) -> Offsets:
        """Where logs begin that do so within a segment. On the loop."""
        return {
            p: log.log_start_offset
            for p, log in self.logs.items()
            if log.log_start_offset > log.segments[0].base_offset
        }

    def high_watermarks(self) -> Offsets:
        """Of all logs. On the loop."""
        return {p: log.high_watermark for p, log in self.logs.items()}

    def checkpoint(self) -> "CheckpointJob":
        """What all the checkpoints should say now. On the loop; its `run` is for the disk."""
        return CheckpointJob(
            self, self.recovery_points(), self.log_starts(), self.high_watermarks()
        )

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, Offset]) -> None:
        """Replaces one of them."""
        with self.failures.touching(self.name):
            write_small(self.disk, name, encode_offsets(offsets))

    def note_recovery_points(self, points: Offsets) -> None:
        """Writes the recovery points unless they are what the file says."""
        if points != self._recovery_points:
            self.write_checkpoint(RECOVERY_POINTS, points)
            self._recovery_points = points

    def note_log_starts(self, starts: Offsets) -> None:
        """Likewise the starts of logs that lie within a segment."""
        if starts != self._log_starts:
            self.write_checkpoint(LOG_START_OFFSETS, starts)
            self._log_starts = starts

    def note_high_watermarks(self, high_watermarks: Offsets) -> None:
        """Likewise the high watermarks."""
        if high_watermarks != self._high_watermarks:
            self.write_checkpoint(HIGH_WATERMARKS, high_watermarks)
            self._high_watermarks = high_watermarks

    def note_cleaned(self, partition: TopicPartition, first_dirty: Offset) -> None:
        """How far compaction has come with one log."""
        self.cleaner_offsets = {**self.cleaner_offsets, partition: first_dirty}
        self.write_checkpoint(CLEANER_OFFSETS, self.cleaner_offsets)

    def forget_checkpoints(self, partitions: Collection[TopicPartition]) -> None:
        """Of earlier logs of these names, before others get them.

        After a crash the recovery point of one would be taken for that of the new log, of which
        less, or nothing, is durable.
        """
        kept = [
            {p: offset for p, offset in offsets.items() if p not in partitions}
            for offsets in (
                self._recovery_points,
                self._log_starts,
                self._high_watermarks,
                self.cleaner_offsets,
            )
        ]
        self.note_recovery_points(kept[0])
        self.note_log_starts(kept[1])
        self.note_high_watermarks(kept[2])
        if kept[3] != self.cleaner_offsets:
            self.cleaner_offsets = kept[3]
            self.write_checkpoint(CLEANER_OFFSETS, self.cleaner_offsets)

    # Logs

    def create(
        self, partition: TopicPartition, name: str, how: InDir, now: Timestamp
    ) -> PartitionLog:
        """Makes an empty log, durably."""
        (log,) = self.create_all([NewLog(partition, name, how)], now)
        return log

    def create_all(self, wanted: Sequence[NewLog], now: Timestamp) -> list[PartitionLog]:
        """Makes empty logs, durably: all of them or none.

        Until they are whole their names mark them for deletion. What is left of one that could not
        be made would pass for the log at a later start, when the true one is elsewhere.
        """
        self.forget_checkpoints({new.partition for new in wanted})
        begun: list[str] = []
        logs: list[PartitionLog] = []
        try:
            with self.failures.touching(self.name):
                logs = [self._make(new, begun, now) for new in wanted]
                for log, new in zip(logs, wanted, strict=True):
                    self.disk.rename(log.folder.name, new.name)
                    log.folder.name = new.name
                self.disk.sync_directory("")
        except StorageError:
            for log, name in zip(logs, begun, strict=False):
                if log.folder.name != name:
                    with suppress(OSError):  # the disk may be gone
                        self.disk.rename(log.folder.name, name)
            self.to_delete += begun
            raise
        return logs

    def _make(self, new: NewLog, begun: list[str], now: Timestamp) -> PartitionLog:
        """One that waits for its name, and for its directory to be durable; its files are."""
        unused = map("{:032x}".format, count())
        names = (renamed(new.partition, it, Kind.DELETE) for it in unused)
        name = next(it for it in names if not self.disk.is_directory(it))
        begun.append(name)
        self.disk.make_directory(name)
        folder = Folder(self.files, name)
        if new.how.topic_id != NO_TOPIC_ID:
            data = encode_partition_metadata(new.how.topic_id)
            put_small(self.disk, folder.path(PARTITION_METADATA), data)
        opener = LogOpener(self.failures, clean=False, now=now)
        log = opener.open(new.partition, folder, new.how.config).log
        if new.how.leader_epoch != NO_LEADER_EPOCH:
            log.begin_epoch(new.how.leader_epoch)
        self.disk.sync_directory(name)
        log.closed_end = log.log_end_offset
        return log

    def _delete_directory(self, name: str) -> None:
        if self.disk.is_directory(name):
            for file in self.disk.names(name):
                self.disk.unlink(f"{name}/{file}")
            self.disk.remove_directory(name)

    def truncate(self, cuts: Mapping[TopicPartition, Offset], now: Timestamp) -> None:
        """Cuts several logs from their ends, with one write of the recovery points before."""
        points = {p: log.recovery_point for p, log in self.logs.items()}
        for partition, offset in cuts.items():
            points[partition] = min(points[partition], offset)
        self.note_recovery_points(points)
        for partition, offset in cuts.items():
            truncate_to(self.logs[partition], offset, now)

    def rename_log(self, log: PartitionLog, name: str) -> None:
        """Gives a log's directory another name, durably."""
        with self.failures.touching(self.name):
            for segment in log.segments:
                self.files.forget(segment)
            self.disk.rename(log.folder.name, name)
            self.disk.sync_directory("")
        log.folder.name = name

    def delete_next(self) -> bool:
        """Deletes the next of the directories that wait for it; whether there was one."""
        if not self.to_delete:
            return False
        name = self.to_delete.pop(0)
        with self.failures.touching(self.name):
            self._delete_directory(name)
            self.disk.sync_directory("")
        return True

    def settle_move(self, partition: TopicPartition) -> None:
        """The old one, wherever it was, is out of the way."""
        if partition in self.moved_here:
            with self.failures.touching(self.name):
                delete_if_there(self.disk, self.logs[partition].folder.path(MOVED_HERE))
            self.moved_here.discard(partition)


class CheckpointJob(NamedTuple):
    """What is to be written of the logs of a directory."""

    log_dir: LogDir
    recovery_points: Offsets
    log_starts: Offsets
    high_watermarks: Offsets

    def run(self) -> None:
        """On the disk's thread; what has not changed is not written."""
        self.log_dir.note_recovery_points(self.recovery_points)
        self.log_dir.note_log_starts(self.log_starts)
        self.log_dir.note_high_watermarks(self.high_watermarks)
