"""A log as its readers see it: what was published, found by offset and by time.

The state that readers need is here; what is decided and on its way stands in `log`, which tells
this one when it is in the file. Reading changes nothing but what it remembers of where it was.

Invariants: log_start_offset <= high_watermark <= log_end_offset; segments rise by base offset, the
last is the active one.
"""

from bisect import bisect_right
from contextlib import suppress
from operator import attrgetter
from typing import Final, NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.ports import FileRange
from odradek.records.record import read_records
from odradek.storage.errors import CorruptFile, LyingIndex, OffsetOutOfRange, StorageError
from odradek.storage.files.failures import Failures
from odradek.storage.files.names import LOG
from odradek.storage.lending import Holders
from odradek.storage.logs.producers import ProducerState
from odradek.storage.segments.mending import mend
from odradek.storage.segments.scan import walk_batches, walk_headers
from odradek.storage.segments.segment import (
    NO_TIMESTAMP,
    Folder,
    Segment,
    TimestampedOffset,
)
from odradek.storage.segments.transaction_index import AbortedTransaction
from odradek.storage.settings import LogConfig

BASE: Final = attrgetter("base_offset")

EndPosition = tuple[int, Segment | None, int]
"""An offset where readers end, the segment that they end in, and where in its file."""
NOT_LOOKED_UP: Final[EndPosition] = (-1, None, -1)


class Slice(NamedTuple):
    """Whole batches, as they lie in one segment."""

    chunk: FileRange | None  # None: nothing there, or not even one batch fits
    segment_base: Offset
    aborted: tuple[AbortedTransaction, ...] = ()


class CorruptAt(NamedTuple):
    """A batch that is not as it was written: its disk has spoilt it."""

    segment_base: Offset
    position: int  # in the segment's file
    offset: Offset  # that of its first record; all below can be read
    not_at: frozenset[BrokerId] = frozenset()  # who was asked for it, and cannot read it either


def corrupt_at(segment: Segment, position: int) -> CorruptAt:
    """The batch at this position, or the first before it that has no end. Disk's thread."""
    offset, at = segment.base_offset, 0
    with suppress(CorruptFile):
        for begin, header in walk_headers(segment.file, segment.path(LOG), 0, position):
            offset, at = Offset(header.next_offset), begin + header.size
    return CorruptAt(segment.base_offset, at, offset)


def newest_from(segment: Segment, offset: int) -> Timestamp:
    """The greatest time of its records from an offset on; -1 if there are none."""
    found = segment.find(offset)
    if found is None:
        return NO_TIMESTAMP
    times = [NO_TIMESTAMP]
    for _, header, batch in walk_batches(segment.file, segment.path(LOG), found[0], segment.size):
        if header.base_offset >= offset:
            times.append(Timestamp(header.max_timestamp))
        else:
            kept = (it for it in read_records(batch, header) if it.offset >= offset)
            times += [Timestamp(it.timestamp) for it in kept]
    return max(times)


class ReadableLog:
    """The published part of one partition's log on one disk."""

    __slots__ = (
        "_end_position",
        "_size_before",
        "being_cleaned",
        "config",
        "corrupt",
        "failures",
        "folder",
        "high_watermark",
        "lent_to",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "passed_over",
        "producers",
        "recovery_point",
        "segments",
    )

    def __init__(
        self, partition: TopicPartition, folder: Folder, config: LogConfig, failures: Failures
    ) -> None:
        """An empty log without a segment."""
        self.lent_to: Holders | None = None  # the job that has it for itself
        self._size_before = 0  # it was lent
        self.partition = partition
        self.folder = folder
        self.config = config
        self.failures = failures
        self.segments: list[Segment] = []
        self.producers = ProducerState()
        self.log_start_offset = Offset(0)
        self.log_end_offset = Offset(0)
        self.high_watermark = Offset(0)
        self.recovery_point = Offset(0)
        self.corrupt: CorruptAt | None = None  # the first such batch that was met
        self.passed_over: CorruptAt | None = None  # likewise, and `producers` lack what it says
        self.being_cleaned = False  # its old segments are being replaced, and must stay
        self._end_position: EndPosition = NOT_LOOKED_UP

    @property
    def active_segment(self) -> Segment:
        """The one that is appended to."""
        return self.segments[-1]

    @property
    def last_stable_offset(self) -> Offset:
        """All below is decided and committed: how far a reader of committed records may go."""
        producers = self.producers
        if not producers.open_transactions and not producers.unreplicated:
            return self.high_watermark
        unstable = producers.first_unstable_offset
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log_start_offset)

    @property
    def size(self) -> int:
        """The bytes of all its batches; while it is lent, those that it had before."""
        if self.lent_to is None:
            return sum(segment.size for segment in self.segments)
        return self._size_before

    def on_lent(self) -> None:
        """Its size is remembered."""
        self._size_before = self.size

    def failed(self, error: OSError) -> StorageError:
        """Reports an I/O error of this log's directory; the exception to raise."""
        return self.failures.met(self.folder.disk.name, error)

    def segment_of(self, offset: int) -> Segment:
        """The segment whose range holds an offset; the first one for those before it."""
        return self.segments[max(bisect_right(self.segments, offset, key=BASE) - 1, 0)]

    def read(
        self, offset: Offset, end_offset: Offset, bytes_max: int, *, at_least_one: bool = False
    ) -> Slice:
        """Whole batches of one segment from the one that holds `offset` on.

        None of them begins at or beyond `end_offset`: the high watermark, the last stable offset
        or the end of the log, as the reader may see. They are at most `bytes_max`, but with
        `at_least_one` the first one comes whatever its size, so that a reader can go on.
        """
        if self.failures.failed:
            self.failures.check(self.folder.disk.name)
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"{self.partition}: offset {offset} is not from {self.log_start_offset} "
                f"to {self.log_end_offset}"
            )
        if offset >= end_offset:
            return Slice(None, self.active_segment.base_offset)
        try:
            try:
                found = self._read(offset, end_offset, bytes_max, at_least_one=at_least_one)
            except LyingIndex as error:
                mend(self, error)
                found = self._read(offset, end_offset, bytes_max, at_least_one=at_least_one)
        except OSError as error:
            raise self.failed(error) from error
        return found if self.corrupt is None else self._sound(found, self.corrupt)

    def _sound(self, found: Slice, corrupt: CorruptAt) -> Slice:
        """What lies before the batch that is known to be corrupt; CorruptBatch if that is first."""
        chunk = found.chunk
        if chunk is None or found.segment_base != corrupt.segment_base:
            return found
        before = corrupt.position - chunk.position
        if not 0 <= before < chunk.length:
            return found
        if not before:
            path = self.path_of(corrupt.segment_base)
            raise CorruptBatch(f"{path}: corrupt at byte {corrupt.position}")
        return found._replace(chunk=chunk._replace(length=before))

    def path_of(self, segment_base: Offset) -> str:
        """Of the file with this segment's batches."""
        return self.segment_of(segment_base).path(LOG)

    def locate(self, error: CorruptFile) -> CorruptAt | None:
        """Which batch this is about; None if it is of no segment. For a view."""
        at = next((it for it in self.segments if it.path(LOG) == error.path), None)
        return None if at is None else corrupt_at(at, error.position)

    def _read(
        self, offset: Offset, end_offset: Offset, bytes_max: int, *, at_least_one: bool
    ) -> Slice:
        at = -1
        if offset < self.segments[-1].base_offset:  # as a rule it is in the active one
            at = max(bisect_right(self.segments, offset, key=BASE) - 1, 0)
        for segment in self.segments[at:]:
            if segment.base_offset >= end_offset:
                break
            found = segment.find(offset)
            if found is None:
                continue  # compaction took what was there
            position, header = found
            is_all = end_offset >= self.log_end_offset
            stop = segment.size if is_all else self._stop(segment, end_offset)
            if position >= stop:
                break
            if header.size > bytes_max:
                length = header.size if at_least_one else 0
                chunk = FileRange(segment.file, position, length)
            else:
                chunk = segment.range_up_to(position, bytes_max, stop)
            return Slice(chunk if chunk.length else None, segment.base_offset)
        return Slice(None, self.active_segment.base_offset)

    def _stop(self, segment: Segment, end_offset: Offset) -> int:
        """The position in a segment behind the last batch that begins below an offset."""
        if self.segment_of(end_offset - 1) is not segment:
            return segment.size
        offset, found_in, position = self._end_position
        if offset == end_offset and found_in is segment:
            return position
        found = segment.find(end_offset)
        position = found[0] if found else segment.size
        self._end_position = (end_offset, segment, position)
        return position

    def aborted_between(self, start: Offset, end: Offset) -> list[AbortedTransaction]:
        """The aborted transactions of which a record may lie in [start, end)."""
        found: list[AbortedTransaction] = []
        at = max(bisect_right(self.segments, start, key=BASE) - 1, 0)
        for segment in self.segments[at:]:
            entries, complete = segment.aborted.overlapping(start, end)
            found += entries
            if complete:
                break
        return found

    def offset_at(self, timestamp: Timestamp) -> TimestampedOffset | None:
        """The first record that is at least so new; None if none is."""
        with self.failures.touching(self.folder.disk.name):
            try:
                return self._offset_at(timestamp)
            except LyingIndex as error:
                mend(self, error)
                return self._offset_at(timestamp)

    def _offset_at(self, timestamp: Timestamp) -> TimestampedOffset | None:
        for segment in self.segments:
            if segment.size and segment.newest.timestamp >= timestamp:
                found = segment.find_time(timestamp, self.log_start_offset)
                if found is not None:
                    return found
        return None

    def newest(self) -> TimestampedOffset | None:
        """The record with the greatest timestamp, the first of them; None in an empty log."""
        with self.failures.touching(self.folder.disk.name):
            try:
                return self._newest()
            except LyingIndex as error:
                mend(self, error)
                return self._newest()

    def _newest(self) -> TimestampedOffset | None:
        first, *others = self.segments
        newest = max(it.newest.timestamp for it in self.segments)
        found = self._offset_at(newest) if newest >= 0 else None
        if found is not None or first.base_offset >= self.log_start_offset:
            return found
        # What had it lies below the start, in a segment of which the rest is read.
        left = newest_from(first, self.log_start_offset)
        newest = max([left, *(it.newest.timestamp for it in others)])
        return self._offset_at(newest) if newest >= 0 else None
