"""One partition's log: segments in a row, and what is known of the records in them.

An append has three steps. *Decide*, on the loop: the producer's numbers are checked, the batch
gets its offsets and its leader epoch, and joins the turn's job. *Write*, on the disk: one vectored
write a segment. *Publish*, on the loop: the end moves, and readers see it. Reading, deciding and
publishing change memory on the loop; the disk's thread changes files, and memory only in calls
which say that they need the log for themselves (loading, truncation, closing).

Knows nothing of leaders, in-sync sets or requests; the high watermark is told to it.

Invariants: log_start_offset <= high_watermark <= log_end_offset; segments rise by base offset, the
last is the active one; recovery_point <= log_end_offset.
"""

from bisect import bisect_right
from operator import attrgetter
from typing import Final, NamedTuple

from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Timestamp
from odradek.ports import FileRange
from odradek.records.batch import (
    BatchHeader,
    Buffer,
    check_crc,
    headers,
    place,
)
from odradek.records.control import EndMarker, read_end_marker
from odradek.records.record import read_records
from odradek.storage import producer_snapshot
from odradek.storage.epochs import EpochHistory
from odradek.storage.errors import (
    BatchLargerThanSegment,
    OffsetOutOfRange,
    OffsetsOutOfOrder,
    StorageError,
)
from odradek.storage.failures import Failures
from odradek.storage.offset_index import ENTRY_BYTES, RELATIVE_OFFSET_MAX
from odradek.storage.producers import ProducerState, check_batch, check_marker, duplicate_of
from odradek.storage.segment import Folder, Segment, TimestampedOffset
from odradek.storage.settings import FOREVER, LogConfig
from odradek.storage.transaction_index import AbortedTransaction
from odradek.storage.writing import Piece, WriteJob

BASE: Final = attrgetter("base_offset")
TIME_ENTRY_BYTES: Final = 12


class Appended(NamedTuple):
    """Which offsets a batch has; both inclusive. A duplicate had them already."""

    base_offset: Offset
    last_offset: Offset
    duplicate: bool = False


class Room(NamedTuple):
    """Up to where the next segment takes batches; beyond, another one is begun."""

    position: int
    offset: int
    timestamp: int


class Slice(NamedTuple):
    """Whole batches, as they lie in one segment."""

    chunk: FileRange | None  # None: nothing there, or not even one batch fits
    segment_base: Offset
    aborted: tuple[AbortedTransaction, ...] = ()


class PartitionLog:
    """The log of one partition on one disk."""

    __slots__ = (
        "_end_position",
        "_in_flight",
        "_job",
        "_next_epochs",
        "_next_offset",
        "_next_position",
        "_next_segment",
        "_room",
        "being_cleaned",
        "broken",
        "config",
        "epochs",
        "failures",
        "flushed_at",
        "folder",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "partition",
        "producers",
        "recovery_point",
        "segments",
        "topic_id",
    )

    def __init__(
        self, partition: TopicPartition, folder: Folder, config: LogConfig, failures: Failures
    ) -> None:
        """An empty log without a segment; `loading` fills it from the disk."""
        self.partition = partition
        self.folder = folder
        self.config = config
        self.failures = failures
        self.topic_id: TopicId = NO_TOPIC_ID
        self.segments: list[Segment] = []
        self.epochs = EpochHistory()
        self.producers = ProducerState()
        self.log_start_offset = Offset(0)
        self.log_end_offset = Offset(0)
        self.high_watermark = Offset(0)
        self.recovery_point = Offset(0)
        self.flushed_at = Timestamp(0)
        self.broken = False  # a write failed, and those behind it must fail too
        self.being_cleaned = False  # its old segments are being replaced, and must stay
        self._in_flight = 0  # jobs that were taken and neither published nor failed
        self._job: WriteJob | None = None  # that of this turn
        self._next_segment: Segment | None = None  # where the next batch goes, once it is decided
        self._next_position = 0
        self._room = Room(0, 0, 0)
        self._next_offset = Offset(0)
        self._next_epochs: EpochHistory = self.epochs
        self._end_position = (-1, -1)  # an offset whose position was looked up last, and that

    # What there is

    @property
    def active_segment(self) -> Segment:
        """The one that is appended to."""
        return self.segments[-1]

    @property
    def last_stable_offset(self) -> Offset:
        """All below is decided and committed: how far a reader of committed records may go."""
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log_start_offset)

    @property
    def size(self) -> int:
        """The bytes of all its batches."""
        return sum(segment.size for segment in self.segments)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is decided that is not published."""
        return self._job is None and not self._in_flight

    @property
    def next_offset(self) -> Offset:
        """What the next batch will get: beyond the end while appends are on their way."""
        return self._next_offset

    def on_high_watermark(self, high_watermark: Offset) -> None:
        """All below this is on every replica that could be elected. It never passes the end."""
        assert high_watermark <= self.log_end_offset, (high_watermark, self.log_end_offset)
        self.high_watermark = max(high_watermark, self.log_start_offset)
        self.producers.on_high_watermark(self.high_watermark)

    # Deciding

    def append(
        self,
        batch: bytearray | memoryview,
        header: BatchHeader,
        leader_epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Appended:
        """Takes a producer's batch, which was checked, and gives it its place.

        A duplicate gets the offsets that it has. They may not be published yet: whoever answers
        waits for the end of the log to pass them, as for any other batch.
        """
        if header.producer_id >= 0:
            entry = self.producers.get(header.producer_id)
            duplicate = duplicate_of(entry, header)
            if duplicate is not None:
                return Appended(
                    Offset(duplicate.base_offset), Offset(duplicate.last_offset), duplicate=True
                )
            check_batch(entry, header)
        self._place(batch, header, leader_epoch)
        return self._take(batch, header, now)

    def append_marker(
        self,
        batch: bytearray | memoryview,
        marker: EndMarker,
        leader_epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Appended:
        """Takes the end of a transaction from its coordinator."""
        ((_, header),) = headers(batch)
        check_marker(self.producers.get(header.producer_id), header, marker)
        self._place(batch, header, leader_epoch)
        return self._take(batch, header, now, marker)

    def append_replica(self, run: memoryview, now: Timestamp) -> Offset:
        """Takes what the leader sent, as it is; the end of the log once it is published.

        All of it is checked before any of it is taken. A last batch that is cut off is left out:
        the next fetch brings it whole.
        """
        taken: list[tuple[int, BatchHeader]] = []
        expected: int = self._next_offset
        epoch: int = self._next_epochs.latest
        for position, header in headers(run, cut_tail=True):
            check_crc(run, header, position)
            if header.base_offset < expected:
                raise OffsetsOutOfOrder(
                    f"{self.partition}: a batch at {header.base_offset}, the log ends at {expected}"
                )
            if 0 <= header.leader_epoch < epoch:
                raise OffsetsOutOfOrder(
                    f"{self.partition}: epoch {header.leader_epoch} at {header.base_offset} "
                    f"behind epoch {epoch}"
                )
            expected, epoch = header.next_offset, max(epoch, header.leader_epoch)
            taken.append((position, header))
        for position, header in taken:
            chunk = run[position : position + header.size]
            self._take(chunk, header, now, _marker_in(chunk, header))
        return self._next_offset

    def _place(
        self, batch: bytearray | memoryview, header: BatchHeader, leader_epoch: LeaderEpoch
    ) -> None:
        """As the leader: the next offsets, and this leadership's epoch."""
        place(batch, 0, self._next_offset, leader_epoch)
        header.base_offset = self._next_offset
        header.leader_epoch = leader_epoch

    def _take(
        self, batch: Buffer, header: BatchHeader, now: Timestamp, marker: EndMarker | None = None
    ) -> Appended:
        """Adds a batch that has its place to the job of this turn."""
        job, size = self._job, header.size
        last = header.base_offset + header.last_offset_delta
        if (
            job is None
            or self._next_position + size > self._room.position
            or last > self._room.offset
            or header.max_timestamp > self._room.timestamp
        ):
            job = self._make_room(header, last, now)
        epoch = header.leader_epoch
        if epoch >= 0 and epoch != self._next_epochs.latest:
            self._begin_epoch(job, LeaderEpoch(epoch), Offset(header.base_offset))
        if header.producer_id >= 0:
            job.updates.append(self.producers.plan(header, marker, now))
        piece = job.pieces[-1]
        piece.chunks.append(batch)
        piece.batches.append(header)
        piece.size += size
        self._next_position += size
        self._next_offset = Offset(last + 1)
        return Appended(Offset(header.base_offset), Offset(last))

    def _make_room(self, header: BatchHeader, last: int, now: Timestamp) -> WriteJob:
        """Sees to a job, and to a segment in it that takes this batch."""
        if header.size > self.config.segment_bytes:
            raise BatchLargerThanSegment(
                f"a batch of {header.size} bytes, segments have {self.config.segment_bytes}"
            )
        segment = self._next_segment or self.active_segment
        if self._job is None:
            self._make_ready(segment)
        room = self._room = self._room_in(segment, now)
        if (
            self._next_position + header.size > room.position
            or last > room.offset
            or max(header.max_timestamp, now if header.max_timestamp < 0 else -1) > room.timestamp
        ):
            far = last - self._next_offset > RELATIVE_OFFSET_MAX
            base = Offset(header.base_offset) if far else self._next_offset
            self._begin_segment(base, now)
        elif self._job is None:
            self._job = WriteJob(self, Piece(segment, self._next_position))
        assert self._job is not None, "either way there is a job now"
        self._room = self._room_in(self._job.pieces[-1].segment, now)
        return self._job

    def _room_in(self, segment: Segment, now: Timestamp) -> Room:
        """What a segment still takes: bytes, offsets, times. A full index takes nothing."""
        config = self.config
        offset = segment.base_offset + RELATIVE_OFFSET_MAX
        if not self._next_position:
            return Room(config.segment_bytes, offset, FOREVER)
        full = (
            segment.index.count >= config.index_bytes_max // ENTRY_BYTES
            or segment.times.count >= config.index_bytes_max // TIME_ENTRY_BYTES - 1
        )
        began = segment.first_timestamp
        if began is None or began < 0:
            began = segment.created or now
        return Room(0 if full else config.segment_bytes, offset, began + config.segment_ms)

    def _make_ready(self, segment: Segment) -> None:
        """Before the first append of a turn: the directory serves, the indexes are at hand."""
        self.failures.check(self.folder.disk.name)
        if self.broken:
            raise StorageError(f"{self.partition}: an earlier write failed")
        try:
            segment.warm()
            if segment.first_timestamp is None and segment.size:
                found = segment.find(segment.base_offset)
                segment.first_timestamp = Timestamp(found[1].max_timestamp if found else -1)
        except OSError as error:
            raise self.failed(error) from error

    def _begin_segment(self, base_offset: Offset, now: Timestamp) -> tuple[WriteJob, Piece]:
        """What comes next in this turn's job goes into a new segment."""
        segment = Segment(self.folder, base_offset)
        segment.index_interval = self.config.index_interval_bytes
        segment.created = now
        segment.start_empty_indexes()
        piece = Piece(segment, 0, self._snapshot())
        self._next_segment, self._next_position = segment, 0
        if self._job is None:
            self._job = WriteJob(self, piece)
        else:
            self._job.pieces.append(piece)
        return self._job, piece

    def _snapshot(self) -> bytes:
        """The producers with all that is decided: they stand before the next batch."""
        return producer_snapshot.encode(
            {**self.producers.entries, **self.producers.planned}.values()
        )

    def roll(self, now: Timestamp) -> None:
        """Begins a new segment in this turn's job, unless the active one is empty."""
        if self._next_position:
            self._make_ready(self._next_segment or self.active_segment)
            self._begin_segment(self._next_offset, now)

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """A leadership begins here: its epoch is noted before its first record (KIP-101)."""
        if leader_epoch != self._next_epochs.latest:
            segment = self._next_segment or self.active_segment
            self._make_ready(segment)
            job = self._job = self._job or WriteJob(self, Piece(segment, self._next_position))
            self._begin_epoch(job, leader_epoch, self._next_offset)

    def _begin_epoch(self, job: WriteJob, leader_epoch: LeaderEpoch, start: Offset) -> None:
        changed = self._next_epochs.copy()
        changed.assign(leader_epoch, start)
        job.epochs = self._next_epochs = changed

    # Writing

    def take_job(self) -> WriteJob | None:
        """What this turn decided, to be run and then published; None if that is nothing."""
        job, self._job = self._job, None
        if job is not None:
            job.end_offset = self._next_offset
            self._in_flight += 1
            if job.pieces[0].segment.index.page_is_due:
                job.saves = job.pieces[0].segment.saves()
        return job

    def published(self, job: WriteJob) -> None:
        """The job's bytes are in the file: the end of the log moves."""
        assert job.pieces[0].segment is self.active_segment or job.pieces[0].is_new, job
        aborted = [self.producers.publish(update) for update in job.updates]
        for piece in job.pieces:
            if piece.is_new:
                if self.segments:
                    self.active_segment.complete_times()
                self.segments.append(piece.segment)
            piece.segment.note(piece.batches, piece.position)
        for entry in filter(None, aborted):
            self.segment_of(entry.last_offset).aborted.entries.append(entry)
        for save in job.saves:
            save.note()
        if job.epochs is not None:
            self.epochs = job.epochs
        self.log_end_offset = job.end_offset
        if job.wants_sync:
            self._note_synced(job)
        self._in_flight -= 1

    def _note_synced(self, job: WriteJob) -> None:
        """The batches are durable; the indexes of a segment that was left are after a flush."""
        begun = next((piece.segment.base_offset for piece in job.pieces if piece.is_new), None)
        if begun is not None:
            self.recovery_point = min(self.recovery_point, Offset(begun - 1))
        elif self.recovery_point >= self.active_segment.base_offset:
            self.recovery_point = job.end_offset

    def unwritten(self) -> None:
        """A job failed. Once the last that rests on it has failed too, the log is as before."""
        self._in_flight -= 1
        if self.is_idle:
            self.reset()

    def reset(self) -> None:
        """Decisions begin again at what is published."""
        assert self.is_idle, self.partition
        self.broken = False
        self.producers.abandon()
        self._next_segment = None
        self._next_position = self.active_segment.size
        self._next_offset = self.log_end_offset
        self._next_epochs = self.epochs
        self._end_position = (-1, -1)

    def failed(self, error: OSError) -> StorageError:
        """Reports an I/O error of this log's directory; the exception to raise."""
        return self.failures.met(self.folder.disk.name, error)

    def move_start(self, log_start_offset: Offset) -> list[Segment]:
        """Nothing below this offset is read any more; the segments that the disk may delete.

        The active segment stays, and so does one of which a part is above.
        """
        assert not self.being_cleaned, self.partition
        assert log_start_offset <= self.high_watermark, (log_start_offset, self.high_watermark)
        self.log_start_offset = max(self.log_start_offset, log_start_offset)
        last = max(bisect_right(self.segments, self.log_start_offset, key=BASE) - 1, 0)
        gone, self.segments = self.segments[:last], self.segments[last:]
        return gone

    # Reading

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
        self.failures.check(self.folder.disk.name)
        self._check_readable(offset)
        if offset >= end_offset:
            return Slice(None, self.active_segment.base_offset)
        try:
            return self._read(offset, end_offset, bytes_max, at_least_one=at_least_one)
        except OSError as error:
            raise self.failed(error) from error

    def _read(
        self, offset: Offset, end_offset: Offset, bytes_max: int, *, at_least_one: bool
    ) -> Slice:
        at = max(bisect_right(self.segments, offset, key=BASE) - 1, 0)
        for segment in self.segments[at:]:
            found = segment.find(offset)
            if found is None:
                continue  # compaction took what was there
            position, header = found
            stop = self._stop(segment, end_offset)
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
        if end_offset >= self.log_end_offset or self.segment_of(end_offset - 1) is not segment:
            return segment.size
        if self._end_position[0] != end_offset:
            found = segment.find(end_offset)
            self._end_position = (end_offset, found[0] if found else segment.size)
        return self._end_position[1]

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
        for segment in self.segments:
            if segment.size and segment.newest.timestamp >= timestamp:
                found = segment.find_time(timestamp, self.log_start_offset)
                if found is not None:
                    return found
        return None

    def newest(self) -> TimestampedOffset | None:
        """The record with the greatest timestamp, the first of them; None in an empty log."""
        written = [segment.newest for segment in self.segments if segment.size]
        if not written:
            return None
        newest = max(written, key=attrgetter("timestamp"))
        return self.offset_at(newest.timestamp) if newest.timestamp >= 0 else None

    def _check_readable(self, offset: Offset) -> None:
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"{self.partition}: offset {offset} is not from {self.log_start_offset} "
                f"to {self.log_end_offset}"
            )


def _marker_in(batch: memoryview, header: BatchHeader) -> EndMarker | None:
    """The end of a transaction that a control batch holds."""
    if not header.is_control or not header.record_count:
        return None
    for record in read_records(batch, header):
        return read_end_marker(record)
    return None
