"""Opening a log: trusted after a clean stop, checked after any other.

After a clean stop the names of the files and the last batch say everything. After an unclean one
every batch from the recovery point on is checked by its CRC; at the first that is not whole the log
ends, and what lay behind is cut off and counted in one line for the operator. Indexes that are
missing or lie are built anew, and so is the history of epochs: the batches hold all of it.
The producers are taken from the newest whole snapshot and followed from there to the end.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from odradek.model.ids import TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile, OldFormat
from odradek.storage.files.checkpoints import (
    EpochStart,
    decode_epochs,
    decode_partition_metadata,
)
from odradek.storage.files.dir_files import delete_if_there, put_small, read_small
from odradek.storage.files.failures import Failures
from odradek.storage.files.move_notes import is_leaving
from odradek.storage.files.names import (
    EPOCH_CHECKPOINT,
    INDEX,
    LOG,
    PARTITION_METADATA,
    SNAPSHOT,
    TIME_INDEX,
    SegmentFile,
    parse_segment_file,
    segment_stem,
)
from odradek.storage.files.unclean_logs import Reason, Unclean
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.earlier_batches import find_earlier_batches
from odradek.storage.logs.epochs import EpochHistory
from odradek.storage.logs.flushing import sync_if_there
from odradek.storage.logs.hardening import harden
from odradek.storage.logs.leftovers import delete_orphans, settle
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import ProducerState
from odradek.storage.logs.replaying import (
    hides_an_end,
    keep_aborted,
    replay_producers,
    save_indexes,
)
from odradek.storage.logs.rot import Epochs, Place, put_right
from odradek.storage.logs.writing import save_epochs
from odradek.storage.segments.leaping import walk_leaping
from odradek.storage.segments.scan import is_old_format, walk_batches, walk_headers
from odradek.storage.segments.segment import Folder, Segment
from odradek.storage.settings import LogConfig

NOTED_AT_ONCE: Final = 1_000  # headers held while a segment is checked


class Checkpointed(NamedTuple):
    """What the checkpoints of the log dir say of one log; nothing is believed beyond its end."""

    recovery_point: Offset = Offset(0)
    log_start_offset: Offset = Offset(0)
    high_watermark: Offset = Offset(0)
    cleaned_upto: Offset = Offset(0)  # below it compaction may have left gaps
    start_is_sure: bool = True  # a checksum covers where it starts


@dataclass(slots=True)
class Repair:
    """What was found and done while a log was opened; empty if all was well."""

    log: str
    first_lost_offset: Offset | None = None
    lost_bytes: Bytes = Bytes(0)
    lost_messages: int = 0  # of those that can still be counted
    reason: str = ""
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return self.first_lost_offset is not None or bool(self.notes)

    def __str__(self) -> str:
        """One line for the operator."""
        parts = list(self.notes)
        if self.first_lost_offset is not None:
            parts.insert(
                0,
                f"lost {self.lost_bytes} bytes with {self.lost_messages} or more messages "
                f"from offset {self.first_lost_offset} on ({self.reason})",
            )
        return f"{self.log}: " + "; ".join(parts)


class Loaded(NamedTuple):
    """An open log, and what had to be done to it."""

    log: PartitionLog
    repair: Repair
    is_leaving: bool  # a move to another log dir may have replaced it


def _no_note() -> None:
    """No note is kept of logs that may lack records."""


@dataclass(slots=True)
class LogOpener:
    """How the logs of one directory are opened at start, or begun later."""

    failures: Failures
    clean: bool  # whether the directory was closed in good order
    now: Timestamp
    before_cut: Callable[[], None] = _no_note
    """Makes it durable that records are about to be cut off, here or in the next logs."""

    def open(
        self,
        partition: TopicPartition,
        folder: Folder,
        config: LogConfig,
        checkpointed: Checkpointed = Checkpointed(),  # noqa: B008 - a constant
    ) -> Loaded:
        """Opens the log that lies in a folder, or begins one there."""
        log = PartitionLog(partition, folder, config, self.failures)
        loading = _Loading(self, log, checkpointed)
        with self.failures.touching(folder.disk.name):
            loading.load()
        return Loaded(log, loading.repair, loading.is_leaving)

    def begin(self, partition: TopicPartition, folder: Folder, config: LogConfig) -> PartitionLog:
        """An empty log in a directory without files; the caller makes it durable."""
        log = PartitionLog(partition, folder, config, self.failures)
        segment = Segment(folder, Offset(0))
        segment.index_interval = config.index_interval_bytes
        segment.created = self.now
        segment.make_files()
        log.segments = [segment]
        log.flushed_at = self.now
        log.reset()
        return log


class _Loading:
    """The steps of opening one log, in their order."""

    def __init__(self, opener: LogOpener, log: PartitionLog, checkpointed: Checkpointed) -> None:
        self.log = log
        self.folder = log.folder
        self.checkpointed = checkpointed
        self.clean = opener.clean
        self.now = opener.now
        self.before_cut = opener.before_cut
        self.end = Offset(0)
        self.check_point = checkpointed.recovery_point  # from where on the log is checked
        self.is_leaving = False
        self.indexed = True  # whether every segment has the indexes that it needs
        self.snapshots: list[Offset] = []  # at these offsets, rising
        self.checked_from: Offset | None = None  # below it, what was noted of the records holds
        self.epochs_seen: list[EpochStart] = []  # in the batches from there on
        self.last_epochs: Epochs = (NO_LEADER_EPOCH, NO_LEADER_EPOCH)  # of those checked last
        self.repair = Repair(f"{log.folder.disk.name}/{log.folder.name}")

    def load(self) -> None:
        """Brings the log to life."""
        names = delete_orphans(self.folder, settle(self.folder))
        files = [file for file in map(parse_segment_file, names) if file is not None]
        self.is_leaving = is_leaving(names)
        self.snapshots = [file.base_offset for file in files if file.suffix == SNAPSHOT]
        self._find_segments(files)
        if self.clean:
            self._trust()
        else:
            self._check()
        log = self.log
        log.log_start_offset = self.checkpointed.log_start_offset
        self._tell_shortness()
        if not log.segments or self.end < log.log_start_offset:
            self._begin_anew()
        log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
        log.log_end_offset = self.end
        log.recovery_point = min(self.checkpointed.recovery_point, self.end)
        log.unsynced_end = self.end  # unless it is synced below, or was before
        log.flushed_at = self.now
        log.on_high_watermark(min(self.checkpointed.high_watermark, self.end))
        self._load_epochs(names)
        self._load_producers()
        self._load_topic_id(names)
        log.reset()
        if log.config.flush_before_ack and self.checked_from is not None:
            harden(log)
        is_flushed = log.recovery_point == self.end
        if self.clean and self.indexed and is_flushed and self._has_snapshot():
            log.closed_end = log.log_end_offset
        for segment in log.segments:
            segment.rest()

    def _load_topic_id(self, names: list[str]) -> None:
        """Of which topic the log is. Where no file says so, the controller will; Kafka's rule.

        A harmed file is like a missing one: the records are what counts.
        """
        if PARTITION_METADATA not in names:
            return
        path = self.folder.path(PARTITION_METADATA)
        try:
            data = read_small(self.folder.disk, path)
            self.log.topic_id = decode_partition_metadata(data, path)
        except CorruptFile as error:
            self.repair.notes.append(f"{PARTITION_METADATA} cannot be read: {error.reason}")

    def _tell_shortness(self) -> None:
        """A log that ends below what was durable has lost records, however it was closed.

        So has one that ends below its start, unless it was about to begin anew there. Without a
        checksum that start may as well be what is wrong: then the records stay.
        """
        point, start = self.checkpointed.recovery_point, self.log.log_start_offset
        if self.end >= max(point, start):
            return
        self.before_cut()
        self.log.unclean = Unclean(Reason.SHORT, max(point, start))
        if self.end < point:
            self.repair.notes.append(
                f"it ends at {self.end}, below its recovery point {point}: segments are missing, "
                "or the checkpoint is of another log"
            )
        if self.end >= start:
            return
        is_kept = not self.checkpointed.start_is_sure and bool(self.log.segments)
        what = "no checksum covers that: its records stay" if is_kept else "it begins anew there"
        self.repair.notes.append(f"it ends at {self.end}, below its start {start}; {what}")
        if is_kept:
            self.log.log_start_offset = Offset(0)

    def _find_segments(self, files: list[SegmentFile]) -> None:
        interval = self.log.config.index_interval_bytes
        indexed = [{f.base_offset for f in files if f.suffix == s} for s in (INDEX, TIME_INDEX)]
        for file in files:
            if file.suffix == LOG:
                base = file.base_offset
                size = self.folder.disk.size(self.folder.path(segment_stem(base) + LOG))
                segment = Segment(self.folder, base, size)
                segment.index_interval = interval
                self.log.segments.append(segment)
                if size and not (base in indexed[0] and base in indexed[1]):
                    self.indexed = False

    def _begin_anew(self) -> None:
        """Nothing is left that a reader may see: one empty segment where the log starts.

        Of what its producers did last nothing is known: the end of a transaction may be lost.
        """
        log = self.log
        self._forget_snapshots(Offset(-1))
        for segment in log.segments:
            segment.delete()
        segment = Segment(self.folder, log.log_start_offset)
        segment.index_interval = log.config.index_interval_bytes
        segment.created = self.now
        segment.create()
        log.segments = [segment]
        self.end = self.checked_from = log.log_start_offset
        self.epochs_seen.clear()

    # Segments

    def _trust(self) -> None:
        """The end is behind the last batch that the active segment's index leads to."""
        if not self.log.segments:
            return
        if not self.indexed:
            self.repair.notes.append("indexes are missing")
            self._check()
            return
        try:
            self.end = self.log.active_segment.next_offset(closed=True)
        except CorruptFile as error:
            self.repair.notes.append(f"checked although it was closed cleanly: {error}")
            self._check()

    def _check(self) -> None:
        """Everything from the recovery point on; what is below was durable when it was noted."""
        segments = self.log.segments
        if not segments:
            return
        if not self.indexed:
            self.check_point = Offset(0)
            self._forget_snapshots(Offset(0))
        before = self.log.segment_of(self.check_point - 1)  # may lack its last time
        first = segments.index(before)
        for segment in segments[first:]:
            if segment.size and is_old_format(segment.file, segment.size):
                raise OldFormat(segment.path(LOG))
        for number in range(first, len(segments)):
            segment = segments[number]
            if number > first and self._is_hole(segments[number - 1], segment):
                self._drop(number)
                return
            file_size = segment.size
            following = segments[number + 1] if number + 1 < len(segments) else None
            error = self._recover(segment, following)
            if following is not None:
                segment.complete_times()
            if self._is_trusted(segment):
                self._keep_indexes(segment)
            else:
                save_indexes(segment)
            if error is not None:
                self._cut(number, file_size, error)
                return

    def _is_trusted(self, segment: Segment) -> bool:
        """Whether a start goes by its indexes: below the recovery point nothing is checked."""
        return segment.base_offset < self.checkpointed.recovery_point

    def _keep_indexes(self, segment: Segment) -> None:
        """Durably, and the offset index last, by which the next start knows where to begin.

        Beside one that is whole it believes the others. What is built from the segment's first
        batch on takes the place of a file that may be missing, and until then it stays missing.
        """
        disk = self.folder.disk
        if not segment.index.saved:
            for index in (segment.times, segment.index):
                if not self._says(index.path, index.unsaved()):
                    put_small(disk, index.path, index.unsaved())
                index.was_saved(index.count)
        for save in reversed(segment.saves()):
            save.write(disk)
            sync_if_there(disk, save.path)
            save.note()
        for suffix in (TIME_INDEX, INDEX):  # they may have been cut
            sync_if_there(disk, segment.path(suffix))
        disk.sync_directory(self.folder.name)

    def _says(self, path: str, data: bytes) -> bool:
        """Whether a file is there and has these bytes."""
        try:
            return read_small(self.folder.disk, path) == data
        except FileNotFoundError:
            return False

    def _forget_snapshots(self, beyond: Offset) -> None:
        """Durably, before the transaction indexes that they rest on are built anew."""
        gone = [offset for offset in self.snapshots if offset > beyond]
        for offset in gone:
            delete_if_there(self.folder.disk, self.folder.path(segment_stem(offset) + SNAPSHOT))
        if gone:
            self.folder.disk.sync_directory(self.folder.name)
            self.snapshots = [offset for offset in self.snapshots if offset <= beyond]

    def _is_hole(self, before: Segment, segment: Segment) -> bool:
        """Whether batches are missing between two segments.

        A segment begins where the log ended, so a gap is what a crash took of the one before:
        unless that was durable, or compaction made the gap, or it is a leap over more offsets
        than one segment can number.
        """
        sound = max(self.checkpointed.recovery_point, self.checkpointed.cleaned_upto)
        return self.end < segment.base_offset > sound and before.holds(segment.base_offset)

    def _drop(self, number: int) -> None:
        """Ends the log before this segment: what it would follow is not there."""
        segments = self.log.segments
        self._note_cut()
        reason = f"the log ends at {self.end}, before this segment"
        error = CorruptFile(segments[number].path(LOG), 0, reason)
        self.repair.first_lost_offset, self.repair.reason = self.end, str(error)
        for later in reversed(segments[number:]):
            self._count_lost(later, later.size, None)
            later.delete()
        del segments[number:]
        self.folder.disk.sync_directory(self.folder.name)

    def _cut(self, number: int, file_size: int, error: CorruptFile) -> None:
        """Ends the log where this segment stopped being whole, and counts what goes."""
        segments = self.log.segments
        self._note_cut()
        self._count_lost(segments[number], file_size, error)
        for later in reversed(segments[number + 1 :]):
            self._count_lost(later, later.size, None)
            later.delete()
        segments[number].file.truncate(segments[number].size)
        segments[number].file.sync()  # or a crash behind the next roll brings the bad bytes back
        segments[number].truncate_places(self.end)  # of the bad batch, if recovery began there
        del segments[number + 1 :]
        self.folder.disk.sync_directory(self.folder.name)

    def _note_cut(self) -> None:
        """Before anything goes: the next start would find a log that looks whole."""
        self.before_cut()
        self.log.unclean = Unclean(Reason.CUT)

    def _recover(self, segment: Segment, following: Segment | None) -> CorruptFile | None:
        """Walks through a segment's batches, and builds its indexes as it goes.

        Where the index can be trusted the walk begins at its last entry below the recovery
        point, for what lies before was synced together with it.
        """
        size, start, path = segment.size, 0, segment.path(LOG)
        end: int = max(segment.base_offset, self.end)
        try:
            start, end = self._restart(segment, end)
        except CorruptFile as error:
            self.repair.notes.append(f"indexes of {path} built anew: {error.reason}")
            self._forget_snapshots(segment.base_offset)
            self._begin_indexes(segment)
        if self.checked_from is None:
            self.checked_from = Offset(end)
        segment.size, segment.bytes_since_entry = start, 0
        whole: list[BatchHeader] = []
        epoch = self.epochs_seen[-1][0] if self.epochs_seen else -1
        before = self.last_epochs
        try:
            for position, header, _ in walk_batches(segment.file, path, start, size):
                if header.base_offset != end or header.leader_epoch != before[1]:
                    place = Place(segment, position, size, following)
                    gapless = not self.log.config.compact
                    self.repair.notes += put_right(header, place, end, before, gapless=gapless)
                next_end = segment.follows(position, header, end)
                before = (before[1], header.leader_epoch)
                if header.leader_epoch > epoch:
                    epoch = LeaderEpoch(header.leader_epoch)
                    self.epochs_seen.append(EpochStart(epoch, Offset(header.base_offset)))
                whole.append(header)
                end = next_end
                if len(whole) == NOTED_AT_ONCE:
                    segment.note(whole, segment.size)
                    whole.clear()
        except CorruptFile as error:
            return error
        finally:
            segment.note(whole, segment.size)
            self.end, self.last_epochs = Offset(end), before
        return None

    def _restart(self, segment: Segment, end: int) -> tuple[int, int]:
        """Where the walk begins, and the offset that must not be undercut there."""
        relative = self.check_point - segment.base_offset
        entry = segment.index.floor(relative) if relative > 0 else None
        if entry is None:
            self._begin_indexes(segment)
            return 0, end
        found = segment.find(segment.base_offset + entry[0])
        if found is None or found[0] != entry[1]:
            raise CorruptFile(segment.index.path, 0, "its entries lead astray")
        position, header = found
        segment.truncate_places(Offset(header.next_offset))
        _ = segment.aborted  # CorruptFile, if it cannot be read
        return position, header.base_offset

    def _begin_indexes(self, segment: Segment) -> None:
        """Each batch is to be noted anew. Files that a start goes by are replaced at the end."""
        if self._is_trusted(segment):
            segment.start_empty_indexes()
        else:
            segment.clear_indexes()

    def _count_lost(self, segment: Segment, file_size: int, error: CorruptFile | None) -> None:
        """Adds what lies behind the first bad byte to the loss, as far as it can be told."""
        repair = self.repair
        start = segment.size if error is not None else 0
        if error is not None:
            repair.first_lost_offset, repair.reason = self.end, str(error)
        repair.lost_bytes = Bytes(repair.lost_bytes + file_size - start)
        try:
            for _, header in walk_headers(segment.file, segment.path(LOG), start, file_size):
                repair.lost_messages += header.record_count
        except CorruptFile:
            return

    # What is known of the records

    def _load_epochs(self, names: list[str]) -> None:
        log, path = self.log, self.folder.path(EPOCH_CHECKPOINT)
        entries: list[EpochStart] = []
        if EPOCH_CHECKPOINT in names:
            try:
                entries = decode_epochs(read_small(self.folder.disk, path), path)
            except CorruptFile as error:
                self.repair.notes.append(f"history of epochs built anew: {error.reason}")
        log.epochs = self._history(entries)
        self._correct(log.epochs)
        log.saved_epochs = tuple(entries)
        settled = [_below(epochs, log.recovery_point) for epochs in (entries, log.epochs.entries)]
        if settled[0] != settled[1] and save_epochs(log, log.epochs.entries):
            self.folder.disk.sync_directory(self.folder.name)

    def _correct(self, history: EpochHistory) -> None:
        """Brings a history into line with what was found in the log.

        A truncation and what was appended behind it may have been lost, or survived, apart from
        the file that speaks of them: from where the log was checked on, the batches are right.
        Between the recovery point and a log that starts behind it neither says anything, and an
        older epoch in the file is not that of the log's start.
        """
        if self.checked_from is not None:
            if self.checked_from > self.checkpointed.recovery_point:
                history.clear()
            history.truncate_from_end(self.checked_from)
            for epoch, start in self.epochs_seen:
                if epoch > history.latest:
                    history.assign(epoch, start)
        history.truncate_from_end(self.log.log_end_offset)
        history.truncate_from_start(self.log.log_start_offset)

    def _history(self, entries: list[EpochStart]) -> EpochHistory:
        """The history of the file, completed at its start.

        It is cut when the log's start moves; where the crash brought back what was deleted, the
        epochs of that are in the batches.
        """
        if entries and entries[0].start_offset <= self.log.log_start_offset:
            return EpochHistory(entries)
        history = self._epochs_of_batches(entries[0].start_offset if entries else self.end)
        for epoch, start in entries:
            if epoch > history.latest:
                history.assign(epoch, start)
        return history

    def _epochs_of_batches(self, upto: Offset) -> EpochHistory:
        history = EpochHistory()
        for segment in self.log.segments:
            if segment.base_offset >= upto:
                break
            for _, header in walk_leaping(segment, segment.base_offset):
                if header.base_offset < upto and header.leader_epoch > history.latest:
                    history.assign(LeaderEpoch(header.leader_epoch), Offset(header.base_offset))
        return history

    def _load_producers(self) -> None:
        """From the newest snapshot that is whole and not beyond the end, and on from there.

        Of one from before the log's first segment too much is unknown: what lies between is gone.
        """
        bases = {segment.base_offset for segment in self.log.segments}
        start, first = None, self.log.segments[0].base_offset
        limit = self.end if self.checked_from is None else min(self.end, self.checked_from)
        for offset in reversed(self.snapshots):
            path = self.folder.path(segment_stem(offset) + SNAPSHOT)
            if first <= offset <= limit and start is None:
                try:
                    entries = producer_snapshot.decode(read_small(self.folder.disk, path), path)
                except CorruptFile as error:
                    self.repair.notes.append(f"producer snapshot dropped: {error}")
                else:
                    if hides_an_end(self.log, entries, offset):
                        continue
                    self.log.producers = ProducerState.of(entries)
                    find_earlier_batches(self.log, offset, self.now)
                    start = offset
                    continue
            if offset > limit or start is None or offset not in bases:
                delete_if_there(self.folder.disk, path)
        if start is None:
            start = first  # a client may send again what was deleted
        if start < self.end or self.checked_from is not None:
            aborted = replay_producers(self.log, start, self.now, self.checked_from)
            keep_aborted(self.log, aborted, start, limit)
        if self.log.passed_over is not None:
            self.log.corrupt = self.log.passed_over
            self.repair.notes.append(f"corrupt at offset {self.log.corrupt.offset}")
        self.log.producers.on_high_watermark(self.log.high_watermark)
        self.log.producers.expire(self.now, self.log.config.producer_expiration_ms)

    def _has_snapshot(self) -> bool:
        """Whether the producers at its end are in a file; before the first record are none."""
        return not self.end or self.end in self.snapshots


def _below(entries: Iterable[EpochStart], offset: Offset) -> list[EpochStart]:
    return [entry for entry in entries if entry.start_offset < offset]
