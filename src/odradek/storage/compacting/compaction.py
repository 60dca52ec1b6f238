"""Compacting a log: of each key the newest record stays, at its offset.

The dirty part is read first, to learn where the newest record of each key lies; then all segments
up to there are written anew, several small ones into one, and swapped (`swapping`).

The active segment is never touched, nor what is not decided and committed, nor what is too young.
The work comes in small steps, between which the disk's thread does what is more urgent, and the
shell sleeps as the throttle says. While it is under way the log must be neither truncated, nor
deleted from, nor closed, before it is cancelled.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from odradek.model.errors import CorruptBatch
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import MIB, SECOND, Bytes, Millis, Timestamp
from odradek.records.batch import BatchHeader, read_header
from odradek.records.control import EndMarker, end_marker_in
from odradek.records.record import read_records
from odradek.storage.compacting.cleaning_rules import Dirty, Rules, TransactionFilter
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.compacting.outline import outlines
from odradek.storage.dirs.dir_checkpoints import DirCheckpoints
from odradek.storage.errors import CorruptFile
from odradek.storage.files.names import CLEANED, LOG
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import ProducerEntry, after_batch, after_marker
from odradek.storage.logs.reading import ReadableLog
from odradek.storage.logs.replaying import save_indexes
from odradek.storage.logs.swapping import swap
from odradek.storage.segments.offset_index import RELATIVE_OFFSET_MAX
from odradek.storage.segments.scan import walk_batches
from odradek.storage.segments.segment import Segment

STEP_BYTES: Final = MIB
MAP_BYTES_MAX: Final = Bytes(128 * MIB)  # log.cleaner.dedupe.buffer.size


@dataclass(frozen=True, slots=True)
class Cleanable:
    """How much of a log could be compacted now."""

    first_dirty: Offset
    end: Offset  # exclusive: what lies beyond must stay as it is
    clean_bytes: int
    dirty_bytes: int
    overdue: bool  # a record has waited longer than it may

    @property
    def dirty_ratio(self) -> float:
        """The share of what was not compacted before."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def cleanable(log: ReadableLog, first_dirty: Offset, now: Timestamp) -> Cleanable:
    """What could be gained, and whether it must be done. Reads time indexes: for a view."""
    config = log.config
    first_dirty = max(first_dirty, log.log_start_offset, log.segments[0].base_offset)
    end = min(log.last_stable_offset, log.active_segment.base_offset, log.recovery_point)
    clean = dirty = 0
    overdue = False
    with log.failures.touching(log.folder.disk.name):
        for segment, following in zip(log.segments, log.segments[1:], strict=False):
            too_young = segment.newest.timestamp > now - config.compaction_lag_ms_min
            if following.base_offset > end or (too_young and config.compaction_lag_ms_min):
                end = min(end, segment.base_offset)
                break
            if following.base_offset <= first_dirty:
                clean += segment.size
                continue
            dirty += segment.size
            oldest = _first_timestamp(segment)
            overdue |= 0 <= oldest < now - config.compaction_lag_ms_max
    return Cleanable(first_dirty, max(end, first_dirty), clean, dirty, overdue)


def is_due(log: PartitionLog, found: Cleanable) -> bool:
    """Whether compaction is worth its cost, or owed."""
    if not log.config.compact or found.end <= found.first_dirty or not found.dirty_bytes:
        return False
    return found.overdue or found.dirty_ratio >= log.config.dirty_ratio_min


def _first_timestamp(segment: Segment) -> int:
    if segment.first_timestamp is None and segment.size:
        header = read_header(segment.file.read(61, 0))
        segment.first_timestamp = Timestamp(header.max_timestamp)
    return -1 if segment.first_timestamp is None else segment.first_timestamp


class Throttle:
    """How long to rest after so many bytes, to stay below a rate (`io.max.bytes.per.second`)."""

    def __init__(self, bytes_per_second: int | None) -> None:
        self._rate = bytes_per_second
        self._free_at = Millis(0)

    def rest_after(self, count: int, now: Millis) -> Millis:
        """The pause that is due now."""
        if self._rate is None:
            return Millis(0)
        self._free_at = Millis(max(self._free_at, now) + count * SECOND // self._rate)
        return Millis(max(0, self._free_at - now))


class Compaction:
    """One compaction of one log. `steps` on the disk's thread; the rest on the loop."""

    def __init__(
        self, log_dir: DirCheckpoints, log: PartitionLog, found: Cleanable, now: Timestamp
    ) -> None:
        """`log_dir` is the log's: there stands that what is to be compacted was flushed."""
        assert not log.being_cleaned, log.partition
        assert found.end <= log.recovery_point, log.partition
        log.being_cleaned = True
        self.log = log
        self._log_dir = log_dir
        self._flushed = {log.partition: log.recovery_point}
        self.first_dirty = found.first_dirty
        self.end = found.end
        self.cleaned_upto: Offset | None = None  # where the next one begins; None: it is not done
        self.now = now
        self.records_read = self.records_kept = 0
        self.bytes_read = self.bytes_written = 0
        self._cancelled = False
        self._keys = KeyMap(MAP_BYTES_MAX)
        self._producers = dict(log.producers.entries)
        self._decided: dict[ProducerId, ProducerEntry] = {}  # as the dirty part leaves them
        self._log_end = log.log_end_offset
        self._segments = log.segments[:-1]  # those that are closed; the loop adds others
        self._active_segment = log.active_segment.copy()
        self._replaced: list[tuple[list[Segment], Segment]] = []

    def was_cancelled(self) -> bool:
        """Whether somebody wants the log for himself."""
        return self._cancelled

    def cancel(self) -> None:
        """Stops at the next step; what was swapped stays so, and all of it is dirty still.

        Old values may stand where it did not come to, and only the keys of the dirty part are
        looked for there.
        """
        self._cancelled = True

    def steps(self) -> Iterator[Bytes]:
        """All the work, in steps; each yields the bytes that it read and wrote.

        A gap that compaction leaves between two segments must not be taken for a loss by a
        recovery, so the recovery point is durable before any is made. That of this log alone:
        what the checkpoints say of others is for who works on these.
        """
        self._log_dir.raise_recovery_points(self._flushed)
        with self.log.failures.touching(self.log.folder.disk.name):
            yield from self._learn()
            if self.was_cancelled():
                return
            rules = Rules(
                self._keys,
                Dirty(self.first_dirty, self.end, self._log_end),
                self._producers,
                self._decided,
                now=self.now,
                delete_retention_ms=self.log.config.delete_retention_ms,
            )
            segments = [s for s in self._segments if s.base_offset < self.end]
            transactions = self._transactions(Offset(0))
            for group in self._groups(segments):
                yield from self._rewrite(group, rules, transactions)
                if self.was_cancelled():
                    return
        self.cleaned_upto = self.end

    def publish(self) -> None:
        """Readers see the new segments from now on. To be called however the steps ended."""
        log = self.log
        for originals, cleaned in self._replaced:
            at = log.segments.index(originals[0])
            assert log.segments[at : at + len(originals)] == originals, log.partition
            log.segments[at : at + len(originals)] = [cleaned]
        log.cuts += bool(self._replaced)  # what was planned before is of other bytes
        self._replaced = []
        log.being_cleaned = False

    # What is newest

    def _learn(self) -> Iterator[Bytes]:
        """Fills the map from the dirty part; where it is full, the dirty part ends."""
        transactions = self._transactions(self.first_dirty)
        for segment in self._segments:
            if segment.base_offset >= self.end or self.was_cancelled():
                return
            found = segment.find(max(self.first_dirty, segment.base_offset))
            if found is None:
                continue
            read = 0
            path = segment.path(LOG)
            for position, header, batch in walk_batches(segment.file, path, found[0], segment.size):
                with _reading(path, position):
                    marker = end_marker_in(batch, header) if header.is_control else None
                    if header.is_control:
                        transactions.ends_nothing(header, marker)
                    elif not transactions.is_aborted(header) and not self._note(batch, header):
                        self.end = Offset(header.base_offset)
                        return
                    self._follow(header, marker)
                read += header.size
                if read >= STEP_BYTES:
                    yield Bytes(read)
                    read = 0
            yield Bytes(read)

    def _follow(self, header: BatchHeader, marker: EndMarker | None) -> None:
        """What is known of a producer, were this the last of its batches."""
        producer_id = ProducerId(header.producer_id)
        if producer_id not in self._producers:
            return
        before = self._decided.get(producer_id)
        if marker is None:
            self._decided[producer_id] = after_batch(before, header, self.now)
        else:
            self._decided[producer_id] = after_marker(before, header, marker, self.now).entry

    def _transactions(self, start: Offset) -> TransactionFilter:
        """The aborted transactions of which something lies at this offset or beyond."""
        return TransactionFilter(
            entry
            for segment in (*self._segments, self._active_segment)
            for entry in segment.aborted.entries
            if entry.last_offset >= start
        )

    def _note(self, batch: memoryview, header: BatchHeader) -> bool:
        """Adds the keys of a batch, all or none; the first one fits always, or none would."""
        keys = self._keys
        if len(keys) and not keys.has_room(header.record_count):
            return False
        for record in outlines(batch, header)[1]:
            if record.key is not None:
                keys.put(record.key, record.offset)
        return True

    # What is written anew

    def _groups(self, segments: list[Segment]) -> Iterator[list[Segment]]:
        """Neighbours that together are no larger than one segment may be."""
        group: list[Segment] = []
        size = 0
        for segment, end in zip(segments, self._ends(), strict=False):
            fits = (
                size + segment.size <= self.log.config.segment_bytes
                and group
                and end - group[0].base_offset <= RELATIVE_OFFSET_MAX
            )
            if group and not fits:
                yield group
                group, size = [], 0
            group.append(segment)
            size += segment.size
        if group:
            yield group

    def _ends(self) -> Iterator[Offset]:
        return (following.base_offset for following in (*self._segments[1:], self._active_segment))

    def _rewrite(
        self, group: list[Segment], rules: Rules, transactions: TransactionFilter
    ) -> Iterator[Bytes]:
        """Writes one new segment for a group, and puts it in their place.

        What cannot be finished is not left there: on a full disk it would keep the room.
        """
        cleaned = Segment(self.log.folder, group[0].base_offset, state=CLEANED)
        cleaned.index_interval = self.log.config.index_interval_bytes
        try:
            cleaned.create()
            yield from self._write(cleaned, group, rules, transactions)
            if not self.was_cancelled():
                cleaned.aborted.entries.extend(transactions.kept)
                transactions.kept = []
                cleaned.complete_times()
                save_indexes(cleaned)
        except (OSError, CorruptFile):
            cleaned.delete()
            raise
        if self.was_cancelled():
            cleaned.delete()
            return
        swap(self.log, group, cleaned)
        self._replaced.append((group, cleaned))

    def _write(
        self,
        cleaned: Segment,
        group: list[Segment],
        rules: Rules,
        transactions: TransactionFilter,
    ) -> Iterator[Bytes]:
        """Until it is cancelled."""
        for segment in group:
            read, end = 0, int(segment.base_offset)
            chunks: list[bytes | bytearray] = []
            path = segment.path(LOG)
            for position, header, batch in walk_batches(segment.file, path, 0, segment.size):
                end = segment.follows(position, header, end)
                with _reading(path, position):
                    kept = self._decide(batch, header, rules, transactions)
                read += header.size
                if kept is not None:
                    chunks.append(kept)
                if read >= STEP_BYTES:
                    yield self._append(cleaned, chunks, read)
                    chunks, read = [], 0
                    if self.was_cancelled():
                        return
            yield self._append(cleaned, chunks, read)

    def _decide(
        self, batch: memoryview, header: BatchHeader, rules: Rules, transactions: TransactionFilter
    ) -> bytes | bytearray | None:
        """The bytes that stay of a batch. The view is good until the next one only."""
        if header.is_control:
            records = list(read_records(batch, header))
            ends_nothing = transactions.ends_nothing(header, end_marker_in(batch, header))
            kept = rules.marker(batch, header, records, ends_nothing=ends_nothing)
        else:
            kept = rules.data(batch, header, aborted=transactions.is_aborted(header))
        self.records_read += kept.read
        self.records_kept += kept.kept
        return bytes(kept.batch) if isinstance(kept.batch, memoryview) else kept.batch

    def _append(self, cleaned: Segment, chunks: list[bytes | bytearray], read: int) -> Bytes:
        """Writes what was kept; how many bytes that and the reading were."""
        written = cleaned.file.write(chunks, cleaned.size) if chunks else 0
        cleaned.note(list(map(read_header, chunks)), cleaned.size)
        self.bytes_read += read
        self.bytes_written += written
        return Bytes(read + written)


@contextmanager
def _reading(path: str, position: int) -> Iterator[None]:
    """A checksum that holds over records that cannot be read is a file that is corrupt."""
    try:
        yield
    except CorruptBatch as error:
        raise CorruptFile(path, position, str(error)) from None
