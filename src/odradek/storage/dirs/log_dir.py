"""One log dir: a lock, an identity, the logs that lie in it, and the checkpoints of them all.

Everything here concerns one disk and runs on its thread, except where it says "on the loop".
A directory is opened whole or is offline: an I/O error while any of its logs is opened takes it
away, and the others go on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from errno import ENOSPC
from typing import NamedTuple

from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import (
    NO_BROKER_EPOCH,
    BrokerEpoch,
    LeaderEpoch,
    Offset,
)
from odradek.model.units import Timestamp
from odradek.ports import Disk, Lock
from odradek.storage.dirs.dir_checkpoints import checkpoint_of
from odradek.storage.dirs.dir_new_logs import DirNewLogs
from odradek.storage.dirs.dir_unclean_logs import Known
from odradek.storage.errors import CorruptFile, DiskFull, OutOfDescriptors, StorageError
from odradek.storage.files.checkpoints import (
    MetaProperties,
    decode_clean_shutdown,
    encode_clean_shutdown,
    encode_partition_metadata,
    is_named_surely,
)
from odradek.storage.files.dir_files import (
    delete_if_there,
    read_small,
    write_small,
)
from odradek.storage.files.failures import Failures
from odradek.storage.files.move_notes import Moves, read_moves
from odradek.storage.files.names import (
    CLEAN_SHUTDOWN,
    CORDONED,
    LOCK,
    META_PROPERTIES,
    PARTITION_METADATA,
    Kind,
    parse_log_name,
)
from odradek.storage.files.new_logs import read_note
from odradek.storage.files.unclean_logs import (
    BOOT,
)
from odradek.storage.logs.closing import close
from odradek.storage.logs.loading import Checkpointed, LogOpener, Repair
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.truncation import end_of_cut, settle_gap, truncate_fully, truncate_to
from odradek.storage.segments.segment import Folder
from odradek.storage.settings import LogConfig


class DirLocked(StorageError):
    """Another process uses this log dir: the broker must not start."""


@dataclass(slots=True)
class Opened:
    """What was found when a directory was opened."""

    clean: bool = False
    is_new: bool = False  # no run of the operating system is known to have opened it
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH  # under which it was closed, if it was
    repairs: list[Repair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)


class LogDir(DirNewLogs):
    """One directory of the JBOD, and what is in it."""

    def __init__(self, disk: Disk, failures: Failures) -> None:
        super().__init__(disk, failures)
        self.meta = MetaProperties()
        self.futures: dict[TopicPartition, PartitionLog] = {}
        self.is_cordoned = False  # no new log is made here unless somebody asks for it
        self._is_abandoned = False
        self._lock: Lock | None = None

    @property
    def is_offline(self) -> bool:
        """Whether it has failed, or another one has taken its place."""
        return self._is_abandoned or self.failures.has_failed(self.name)

    def __len__(self) -> int:
        """How many logs it has: the one with the fewest gets the next."""
        return len(self.logs) + len(self.contested) + len(self.futures)

    @property
    def all_logs(self) -> list[PartitionLog]:
        """Whatever their part is."""
        return [*self._named().values(), *self.futures.values()]

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
            self.is_cordoned = self.disk.exists(CORDONED)

    def set_cordoned(self, *, is_cordoned: bool) -> None:
        """Durably: it holds for later starts, too."""
        with self.failures.touching(self.name):
            if is_cordoned:
                write_small(self.disk, CORDONED, b"")
            elif delete_if_there(self.disk, CORDONED):
                self.disk.sync_directory("")
        self.is_cordoned = is_cordoned

    def log_names(self) -> list[str]:
        """The directories in it that are of partitions."""
        with self.failures.touching(self.name):
            return [name for name in self.disk.names("") if parse_log_name(name) is not None]

    def sign(self, meta: MetaProperties) -> None:
        """Writes whose it is, where that is not said yet."""
        if meta != self.meta:
            with self.failures.touching(self.name):
                write_small(self.disk, META_PROPERTIES, meta.encode())
            self.meta = meta

    def begin(self, meta: MetaProperties) -> None:
        """Signs an empty one; what it gets from now on is lost only with this run of the system."""
        self.sign(meta)
        with self.failures.touching(self.name):
            write_small(self.disk, BOOT, self.disk.boot().encode())

    def open(self, config_of: Callable[[str], LogConfig], now: Timestamp) -> Opened:
        """Opens every log in it; the clean marker counts once, and is gone before any of them.

        A disk without room for what has to be repaired cannot be used: were some of its logs left
        out, empty ones would be made in their place.
        """
        try:
            return self._open_all(config_of, now)
        except (DiskFull, OutOfDescriptors) as error:
            raise self.failures.report(self.name, OSError(ENOSPC, str(error))) from error

    def _open_all(self, config_of: Callable[[str], LogConfig], now: Timestamp) -> Opened:
        with self.failures.touching(self.name):
            opened = Opened()
            opened.clean, opened.broker_epoch = self._take_marker()
            self.disk.sync_directory("")  # a power cut must not undo the names that are found now
            opened.notes += self.read_checkpoints()
            found_unclean = self._read_unclean(opened.notes)
            if self.starts_are_lost:
                opened.notes.append("no log here is known to be whole: none says where it starts")
                found_unclean = None
            self._read_served_without()
            self._read_synced(opened.notes)
            boot, last_boot = self.disk.boot(), self._last_boot()
            opened.is_new = not last_boot
            cache_is_lost = not opened.clean and last_boot != boot
            opener = LogOpener(self.failures, opened.clean, now, self._note_recovering)
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
            self.lower_cleaner_offsets({p: it.log_end_offset for p, it in self.logs.items()})
            self._settle_unclean(found_unclean, self._unflushed() if cache_is_lost else {}, now)
            self.lower_recovery_points({p: it.recovery_point for p, it in self.logs.items()})
            self.lower_high_watermarks({p: it.log_end_offset for p, it in self.logs.items()})
            self._settle_synced()
            if last_boot != boot:
                write_small(self.disk, BOOT, boot.encode())
        return opened

    def _open(  # noqa: PLR0917 - what one log needs
        self,
        opener: LogOpener,
        partition: TopicPartition,
        name: str,
        config: LogConfig,
        opened: Opened,
    ) -> None:
        checkpointed = Checkpointed()
        if name == str(partition):  # the checkpoints speak of the current log
            checkpointed = self.checkpointed(partition)
        try:
            folder = Folder(self.files, name)
            log, repair, is_leaving = opener.open(partition, folder, config, checkpointed)
            leaving = read_moves(self.disk, name).leaving if is_leaving else None
        except CorruptFile as error:
            raise OSError(str(error)) from error  # not a log that may be left out unseen
        (self.logs if name == str(partition) else self.futures)[partition] = log
        if leaving is not None and name == str(partition):
            self.leaving[partition] = leaving.other
        if repair:
            opened.repairs.append(repair)

    def _take_marker(self) -> tuple[bool, BrokerEpoch]:
        try:
            data = read_small(self.disk, CLEAN_SHUTDOWN)
        except FileNotFoundError:
            return False, NO_BROKER_EPOCH
        self.disk.unlink(CLEAN_SHUTDOWN)
        return True, decode_clean_shutdown(data)

    def closing(self, now: Timestamp, broker_epoch: BrokerEpoch) -> "ClosingJob":
        """Nothing is found in it from now on. On the loop; the job's `run` is for the disk."""
        job = ClosingJob(self, self._named(), self.all_logs, now, broker_epoch)
        self._give_up()
        return job

    def abandon(self) -> None:
        """Lets go of it as it is: the disk has failed, or the process ends. On the loop."""
        self._give_up()
        self.let_go()

    def _give_up(self) -> None:
        """A job that the disk still holds keeps the tables that it knows."""
        self._is_abandoned = True
        self.logs, self.contested, self.arriving, self.futures = {}, {}, {}, {}
        self.left_behind = {}

    def let_go(self) -> None:
        """Of its files, and of the lock."""
        self.files.forget_all()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # Logs

    def _delete_directory(self, name: str) -> None:
        if self.disk.is_directory(name):
            for file in self.disk.names(name):
                self.disk.unlink(f"{name}/{file}")
            self.disk.remove_directory(name)

    def truncation(
        self, cuts: Mapping[TopicPartition, Offset], now: Timestamp, *, fully: bool = False
    ) -> "TruncationJob":
        """Cuts several logs from their ends; with `fully` each begins anew at its offset.

        On the loop. From now on no checkpoint tells more of them than what will be left. One that
        starts beyond its cut is about to start there; once it does, `is_cut` says so.
        """
        logs = [(self.logs[partition], offset) for partition, offset in cuts.items()]
        for log, offset in logs:
            if log.log_start_offset > offset:  # others lead with less, after an unclean election
                self.starts_to_be[log.partition] = offset
            log.cuts += 1
            log.recovery_point = min(log.recovery_point, offset)
            if log.corrupt is not None and (fully or offset <= log.corrupt.offset):
                log.corrupt = None  # it goes, and comes anew from the leader
        return TruncationJob(self, logs, now, fully)

    def is_cut(self, cuts: Mapping[TopicPartition, Offset]) -> None:
        """A truncation has ended: each log says itself where it starts. On the loop."""
        for partition, offset in cuts.items():
            if self.starts_to_be.get(partition) == offset:
                del self.starts_to_be[partition]

    def adopt(self, log: PartitionLog, topic_id: TopicId) -> None:
        """Writes of which topic a log is that did not say so; its records stay."""
        data = encode_partition_metadata(topic_id)
        with self.failures.touching(self.name):
            write_small(self.disk, log.folder.path(PARTITION_METADATA), data)
        log.topic_id = topic_id

    def names_surely(self, log: PartitionLog) -> bool:
        """Whether a checksum covers what its directory says of which topic it is."""
        with self.failures.touching(self.name):
            path = log.folder.path(PARTITION_METADATA)
            return self.disk.exists(path) and is_named_surely(read_small(self.disk, path))

    def rename_log(self, log: PartitionLog, name: str, *, is_durable: bool = True) -> None:
        """Gives a log's directory another name."""
        with self.failures.touching(self.name):
            for segment in log.segments:
                self.files.forget(segment)
            self.disk.rename(log.folder.name, name)
            if is_durable:
                self.disk.sync_directory("")
        log.folder.name = name

    def open_again(
        self, old: PartitionLog, went_to: str, config: LogConfig, now: Timestamp
    ) -> tuple[PartitionLog, Known]:
        """The log that a move has left behind, from its files, and what is known of it.

        The one that took its place is lost with its dir.
        """
        partition = old.partition
        checkpointed = Checkpointed(
            old.recovery_point,
            old.log_start_offset,
            old.high_watermark,
            self.cleaner_offsets.get(partition, Offset(0)),
        )
        opener = LogOpener(self.failures, clean=False, now=now, before_cut=self._note_recovering)
        with self.failures.touching(self.name):
            for segment in old.segments:
                self.files.forget(segment)
            try:
                folder = Folder(self.files, old.folder.name)
                log = opener.open(partition, folder, config, checkpointed).log
            except CorruptFile as error:
                raise OSError(str(error)) from error
            self.name_synced(others={partition})
        return log, self.settle_leaving({partition: went_to}, (), now)

    def sync_names(self) -> None:
        """What was renamed here is so after a loss of power, too."""
        with self.failures.touching(self.name):
            self.disk.sync_directory("")

    def delete_next(self) -> bool:
        """Deletes the next of the directories that wait for it; whether there was one."""
        if not self.to_delete:
            return False
        name = self.to_delete.pop(0)
        with self.failures.touching(self.name):
            self._delete_directory(name)
            self.disk.sync_directory("")
        return True

    def moves_of(self, log: PartitionLog) -> Moves:
        """What its moves between dirs have noted."""
        try:
            with self.failures.touching(self.name):
                return read_moves(self.disk, log.folder.name)
        except CorruptFile as error:
            raise self.failures.report(self.name, OSError(str(error))) from error

    def came_in(self, log: PartitionLog) -> LeaderEpoch:
        """The leader epoch in which it was made while another dir was offline, if it was so."""
        try:
            with self.failures.touching(self.name):
                return read_note(self.disk, log.folder.name)
        except CorruptFile as error:
            raise self.failures.report(self.name, OSError(str(error))) from error


class ClosingJob(NamedTuple):
    """All logs of a directory, to be closed in good order."""

    log_dir: LogDir
    named: dict[TopicPartition, PartitionLog]
    logs: list[PartitionLog]  # all of them: the job has them for itself
    now: Timestamp
    broker_epoch: BrokerEpoch

    def run(self) -> None:
        """On the disk's thread: closes every log, then says so; the marker is written last.

        Not where a log was given up: the next start finds what is true of it in its files.
        """
        log_dir = self.log_dir
        sound = [log for log in self.logs if not log.is_given_up]
        with log_dir.failures.touching(log_dir.name):
            for log in sound:
                if not is_put_away(log):
                    close(log, self.now)
            checkpoint_of(log_dir, self.named).run()
            log_dir.forget_all_synced()
            if len(sound) == len(self.logs):
                data = encode_clean_shutdown(self.broker_epoch)
                write_small(log_dir.disk, CLEAN_SHUTDOWN, data)
        log_dir.let_go()


class TruncationJob(NamedTuple):
    """Logs that are to be cut, each at its offset; nothing is on its way to them."""

    log_dir: LogDir
    cuts: list[tuple[PartitionLog, Offset]]
    now: Timestamp
    fully: bool

    def run(self) -> None:
        """On the disk's thread; what the checkpoints say is lowered before."""
        cuts = {log.partition: offset for log, offset in self.cuts}
        ends = cuts
        if not self.fully:
            gaps = {log.partition: at for log, at in self.cuts if settle_gap(log, at, self.now)}
            self.log_dir.raise_recovery_points(gaps)
            ends = {log.partition: end_of_cut(log, at) for log, at in self.cuts}
            for log, _ in self.cuts:  # a note of the dir may be gathered at any moment
                log.recovery_point = min(log.recovery_point, ends[log.partition])
        self.log_dir.lower_recovery_points(ends)
        self.log_dir.lower_log_starts(cuts)
        self.log_dir.lower_high_watermarks(cuts)
        self.log_dir.lower_cleaner_offsets(cuts)
        for log, offset in self.cuts:
            (truncate_fully if self.fully else truncate_to)(log, offset, self.now)


def is_put_away(log: PartitionLog) -> bool:
    """Whether its directory has the name of one that goes, or is kept for a person.

    On the disk's thread: it is renamed there.
    """
    found = parse_log_name(log.folder.name)
    return found is not None and found.kind in {Kind.DELETE, Kind.STRAY}
