"""One partition's log: segments in a row, and what is known of the records in them.

An append has three steps. *Decide*, on the loop: the producer's numbers are checked, the batch
gets its offsets and its leader epoch, and joins the turn's job. *Write*, on the disk: one vectored
write a segment. *Publish*, on the loop: the end moves, and readers see it. Reading, deciding and
publishing change memory on the loop; the disk's thread changes files, and memory only in calls
which say that they need the log for themselves (loading, truncation, closing).

Knows nothing of leaders, in-sync sets or requests; the high watermark is told to it. How the log is
read stands in `reading`.

Invariant: recovery_point <= log_end_offset.
"""

from bisect import bisect_right
from typing import Final, NamedTuple

from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.model.positions import FIRST_INCARNATION, NO_OFFSET, LeaderEpoch, Offset
from odradek.model.units import Timestamp
from odradek.records.batch import (
    CONTROL_BIT,
    BatchHeader,
    Buffer,
    check_crc,
    headers,
    place,
    read_header,
)
from odradek.records.control import EndMarker, TransactionEnd, end_marker_in
from odradek.storage.errors import (
    BatchLargerThanSegment,
    OffsetsOutOfOrder,
    StorageError,
)
from odradek.storage.files.checkpoints import EpochStart
from odradek.storage.files.failures import Failures
from odradek.storage.files.unclean_logs import Unclean
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.epochs import EpochHistory
from odradek.storage.logs.producers import (
    check_batch,
    check_marker,
    check_offsets,
    duplicate_of,
    is_ended,
    is_open,
)
from odradek.storage.logs.reading import BASE, NOT_LOOKED_UP, ReadableLog
from odradek.storage.logs.writing import Piece, WriteJob
from odradek.storage.segments.offset_index import ENTRY_BYTES, RELATIVE_OFFSET_MAX
from odradek.storage.segments.segment import Folder, Segment
from odradek.storage.segments.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from odradek.storage.settings import FOREVER, LogConfig


class Appended(NamedTuple):
    """Which offsets a batch has; both inclusive. A duplicate had them already."""

    base_offset: Offset
    last_offset: Offset
    duplicate: bool = False


class Room(NamedTuple):
    """Up to where a segment takes batches without a second look at what it may hold."""

    position: int
    offset: int
    timestamp: int
    config: LogConfig | None = None  # under which this was found


NO_ROOM: Final = Room(0, 0, 0)


class PartitionLog(ReadableLog):
    """The log of one partition on one disk."""

    __slots__ = (
        "_cold",
        "_in_flight",
        "_job",
        "_next_epochs",
        "_next_offset",
        "_next_position",
        "_next_segment",
        "_room",
        "broken",
        "closed_end",
        "cuts",
        "epochs",
        "flushed_at",
        "incarnation",
        "is_given_up",
        "is_held",
        "is_synced",
        "saved_epochs",
        "topic_id",
        "unclean",
        "unsynced_end",
    )

    def __init__(
        self, partition: TopicPartition, folder: Folder, config: LogConfig, failures: Failures
    ) -> None:
        """An empty log without a segment; `loading` fills it from the disk."""
        super().__init__(partition, folder, config, failures)
        self.topic_id: TopicId = NO_TOPIC_ID
        self.epochs = EpochHistory()
        self.saved_epochs: tuple[EpochStart, ...] = ()  # in the file; the disk's thread changes it
        self.flushed_at = Timestamp(0)
        self.unclean: Unclean | None = None  # it may lack records that it held; None: it is whole
        self.incarnation = FIRST_INCARNATION  # another one since it lost any
        self.is_held = False  # about to be served from another dir: what is decided waits
        self.is_synced = False  # its dir may say so durably: each append is synced
        self.unsynced_end = Offset(0)  # of what was last written without a sync of its own
        self.is_given_up = False  # a job on it failed in a way that no code foresees
        self.broken = False  # a write failed, and those behind it must fail too
        self.closed_end = NO_OFFSET  # ending here, its files lack nothing that closing adds
        self.cuts = 0  # how often its bytes were exchanged: what was planned before is void
        self._in_flight = 0  # jobs that were taken and neither published nor failed
        self._job: WriteJob | None = None  # that of this turn
        self._cold: dict[Segment, None] = {}  # what it has to read before it is published
        self._next_segment: Segment | None = None  # where the next batch goes, once it is decided
        self._next_position = 0
        self._room = NO_ROOM
        self._next_offset = Offset(0)
        self._next_epochs: EpochHistory = self.epochs

    # What there is

    @property
    def is_doubted(self) -> bool:
        """Whether a dir that is offline may have a newer log of the same replica."""
        return self.unclean is not None and self.unclean.is_doubt

    @property
    def is_idle(self) -> bool:
        """Whether nothing is decided that is not published."""
        return self._job is None and not self._in_flight

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way to the disk."""
        return not self._in_flight

    @property
    def is_durable(self) -> bool:
        """Whether all that was written is on the device, if what comes is synced at once."""
        end = min(self.unsynced_end, self.log_end_offset) if self.is_idle else self.unsynced_end
        return self.recovery_point >= end

    @property
    def next_offset(self) -> Offset:
        """What the next batch will get: beyond the end while appends are on their way."""
        return self._next_offset

    @property
    def next_epochs(self) -> EpochHistory:
        """The leader epochs, with those of appends that are on their way."""
        return self._next_epochs

    def on_high_watermark(self, high_watermark: Offset) -> None:
        """All below this is on every replica that could be elected. It never passes the end."""
        assert high_watermark <= self.log_end_offset, (high_watermark, self.log_end_offset)
        self.high_watermark = max(high_watermark, self.log_start_offset)
        if self.producers.unreplicated:
            self.producers.on_high_watermark(self.high_watermark)

    def give_up(self) -> None:
        """It is not served any more until the broker starts again. On the loop."""
        if not self.is_given_up:
            self.is_given_up = self.broken = True
            self.failures.gave_up(self.partition)

    # Deciding

    def append(
        self,
        batch: bytearray | memoryview,
        header: BatchHeader,
        leader_epoch: LeaderEpoch,
        now: Timestamp,
    ) -> Appended:
        """Takes a producer's batch, which was checked, and gives it its place.

        A duplicate gets the offsets that it has. They may not be published yet: the answer
        waits for the end of the log to pass them, as for any other batch. Where a topic is synced
        before it is acknowledged, the end passes them only when the original is durable.
        """
        if header.producer_id >= 0:
            entry = self.producers.get(header.producer_id)
            duplicate = duplicate_of(entry, header)
            if duplicate is not None:
                return Appended(
                    Offset(duplicate.base_offset), Offset(duplicate.last_offset), duplicate=True
                )
            check_batch(entry, header)
            if self.producers.awaited:
                self.producers.check_turn(header)
        self._place(batch, header, leader_epoch)
        last = self._take(batch, header, now)
        return Appended(Offset(header.base_offset), last)

    def may_take(self, header: BatchHeader) -> bool:
        """Whether the log knows by itself what becomes of a transactional batch.

        Its transaction is open, or it is there already, or its producer was fenced.
        """
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return False
        is_fenced = header.producer_epoch < entry.producer_epoch
        has_open = is_open(entry, header.producer_epoch)
        return is_fenced or has_open or duplicate_of(entry, header) is not None

    def has_open(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer has a transaction open in this log, under this epoch."""
        return is_open(self.producers.get(producer_id), producer_epoch)

    def append_own(
        self, batch: bytearray, header: BatchHeader, leader_epoch: LeaderEpoch, now: Timestamp
    ) -> Appended:
        """Takes a coordinator's batch, perhaps of a producer's transaction: it has no sequence."""
        if header.producer_id >= 0:
            check_offsets(self.producers.get(header.producer_id), header)
        self._place(batch, header, leader_epoch)
        last = self._take(batch, header, now)
        return Appended(Offset(header.base_offset), last)

    def append_end(
        self, end: TransactionEnd, leader_epoch: LeaderEpoch, now: Timestamp
    ) -> Appended:
        """Takes the end of a transaction from its coordinator.

        One that is there already is not written again; all that is decided stands for it.
        """
        batch = end.batch(now)
        header = read_header(batch)
        entry = self.producers.get(end.producer_id)
        check_marker(entry, header, end.marker, end.version)
        if is_ended(entry, header, end.version):
            last = Offset(self._next_offset - 1)
            return Appended(last, last, duplicate=True)
        self._place(batch, header, leader_epoch)
        last = self._take(batch, header, now, end.marker)
        return Appended(Offset(header.base_offset), last)

    def append_replica(self, run: memoryview, now: Timestamp) -> Offset:
        """Takes what the leader sent, as it is; the end of the log once it is published.

        All of it is checked before any of it is taken: checksums, and offsets and epochs that rise.
        The records are the leader's affair. A last batch that is cut off is left out: the next
        fetch brings it whole. The run is written as it lies here, and may not change until then.
        """
        taken: list[tuple[int, BatchHeader]] = []
        expected: int = self._next_offset
        epoch: int = self._next_epochs.epoch_at(Offset(expected - 1))  # the last that has records
        for position, header in headers(run, cut_tail=True):
            check_crc(run, header, position)
            if header.base_offset < expected and (
                taken or header.last_offset < expected or not self._is_blank
            ):
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
        if taken and taken[0][1].base_offset < self._next_offset:
            self._start_below(Offset(taken[0][1].base_offset), now)
        for position, header in taken:
            chunk = run[position : position + header.size]
            marker = end_marker_in(chunk, header) if header.attributes & CONTROL_BIT else None
            self._take(chunk, header, now, marker)
        return self._next_offset

    @property
    def _is_blank(self) -> bool:
        """Whether the log has no record, and none is on its way."""
        active = self.active_segment
        return self.is_idle and self._next_offset == self.log_start_offset and not active.size

    def _start_below(self, base_offset: Offset, now: Timestamp) -> None:
        """The leader's log starts within a batch (DeleteRecords), and so does this one.

        The batch is kept whole; what lies below the start of the log is not read.
        """
        empty = self.active_segment
        self._make_ready(empty)
        self._begin_segment(base_offset, now)
        assert self._job is not None, self.partition
        self._job.pieces[0].replaces = empty
        self._room = NO_ROOM

    def _place(
        self, batch: bytearray | memoryview, header: BatchHeader, leader_epoch: LeaderEpoch
    ) -> None:
        """As the leader: the next offsets, and this leadership's epoch.

        Only what comes in has to fit into a segment: what is copied was taken when it did.
        """
        if header.size > self.config.segment_bytes:
            raise BatchLargerThanSegment(
                f"a batch of {header.size} bytes, segments have {self.config.segment_bytes}"
            )
        base = self._next_offset
        if self.unclean is not None and self.unclean.given_upto > base:
            base = self.unclean.given_upto  # consumers may have seen other records there
        place(batch, 0, base, leader_epoch)
        header.base_offset = base
        header.leader_epoch = leader_epoch

    def _take(
        self, batch: Buffer, header: BatchHeader, now: Timestamp, marker: EndMarker | None = None
    ) -> Offset:
        """Adds a batch that has its place to the job of this turn; its last offset."""
        size, timestamp = header.size, header.max_timestamp
        last = header.base_offset + header.last_offset_delta
        job, room = self._job, self._room
        if (
            self._next_position + size > room.position
            or last > room.offset
            or (timestamp if timestamp >= 0 else now) > room.timestamp
            or room.config is not self.config
        ):
            job = self._make_room(header, last, now)
        elif job is None:
            job = self._begin_job()
        epoch = header.leader_epoch
        if epoch >= 0 and epoch != self._next_epochs.latest:
            self._begin_epoch(LeaderEpoch(epoch), Offset(header.base_offset))
        if header.producer_id >= 0:
            job.updates.append(self.producers.plan(header, marker, now))
        piece = job.pieces[-1]
        piece.chunks.append(batch)
        piece.batches.append(header)
        piece.size += size
        self._next_position += size
        self._next_offset = Offset(last + 1)
        return Offset(last)

    def _begin_job(self) -> WriteJob:
        """The job of this turn, which goes on where the last one ended."""
        segment = self._next_segment or self.segments[-1]
        self._make_ready(segment)
        job = self._job = WriteJob(self, Piece(segment, self._next_position))
        return job

    def _make_room(self, header: BatchHeader, last: int, now: Timestamp) -> WriteJob:
        """Sees to a job, and to a segment in it that takes this batch."""
        size, timestamp = header.size, header.max_timestamp
        segment = self._next_segment or self.active_segment
        if self._job is None:
            self._make_ready(segment)
        room = self._room_in(segment, size, now)
        if (
            self._next_position + size > room.position
            or last > room.offset
            or (timestamp if timestamp >= 0 else now) > room.timestamp
        ):
            far = last - self._next_offset > RELATIVE_OFFSET_MAX
            base = Offset(header.base_offset) if far else self._next_offset
            segment = self._begin_segment(base, now)
            room = self._room_in(segment, size, now)
        self._room = room
        return self._job or self._begin_job()

    def _room_in(self, segment: Segment, size: int, now: Timestamp) -> Room:
        """What a segment still takes: bytes, offsets, times. A full index takes nothing.

        An entry of an index stands for so many bytes at least: before these are written it cannot
        be full, and is not looked at again.
        """
        config = self.config
        offset = segment.base_offset + RELATIVE_OFFSET_MAX
        if not self._next_position:
            return Room(config.segment_bytes, offset, FOREVER)
        began = segment.first_timestamp
        if began is None or began < 0:
            began = segment.created or now
        if not segment.is_warm:  # how full its indexes are is known once the job has read them
            return Room(config.segment_bytes, offset, began + config.segment_ms, config)
        left = min(
            config.index_bytes_max // ENTRY_BYTES - segment.index.count,
            config.index_bytes_max // TIME_ENTRY_BYTES - 1 - segment.times.count,
        )
        if left <= 0:
            return Room(0, offset, FOREVER)
        full = segment.size + left * max(segment.index_interval, BATCH_HEADER_BYTES)
        position = min(max(full, self._next_position + size), config.segment_bytes)
        return Room(position, offset, began + config.segment_ms, config)

    def _make_ready(self, segment: Segment) -> None:
        """Before the first append of a turn: the directory serves, the indexes will be at hand."""
        if self.failures.failed:
            self.failures.check(self.folder.disk.name)
        if self.broken:
            raise StorageError(f"{self.partition}: an earlier write failed")
        if not segment.is_warm:
            self._cold[segment] = None

    def _begin_segment(self, base_offset: Offset, now: Timestamp) -> Segment:
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
        return segment

    def _snapshot(self) -> bytes:
        """The producers with all that is decided: they stand before the next batch.

        Nothing where a batch was passed over: a later start has to meet it again.
        """
        if self.passed_over is not None:
            return b""
        return producer_snapshot.encode(
            {**self.producers.entries, **self.producers.planned}.values()
        )

    def roll(self, now: Timestamp) -> None:
        """Begins a new segment in this turn's job, unless the active one is empty."""
        if self._next_position:
            self._make_ready(self._next_segment or self.active_segment)
            self._begin_segment(self._next_offset, now)

    def begin_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """A leadership begins here: its epoch is noted before its first record (KIP-101).

        In memory only, so ten thousand leaderships begin without touching a disk. A start forgets
        an epoch without records anyway; one that has some is saved before the recovery point
        passes them, and until then recovery reads it in the batches.
        """
        if leader_epoch != self._next_epochs.latest:
            self._begin_epoch(leader_epoch, self._next_offset)
        if self.is_idle:
            self.epochs = self._next_epochs

    def take_history(self, history: EpochHistory) -> None:
        """The epochs of a log with the same records, some of which may have none left."""
        assert self.is_idle, self.partition
        self.epochs = self._next_epochs = history.copy()

    def _begin_epoch(self, leader_epoch: LeaderEpoch, start: Offset) -> None:
        self._next_epochs = self._next_epochs.copy()
        self._next_epochs.assign(leader_epoch, start)

    # Writing

    def take_job(self, *, may_wait: bool = False) -> WriteJob | None:
        """What this turn decided, to be run and then published; None if that is nothing.

        A copy that serves no reader yet is synced later (`may_wait`). In others each append is
        synced once its dir names the log, also where the job was begun before.
        """
        job = self._job
        if job is not None:
            self._job = None
            job.end_offset = self._next_offset
            job.wants_sync = (job.wants_sync or self.is_synced) and not may_wait
            if not job.wants_sync:
                self.unsynced_end = job.end_offset
            job.epochs = self._next_epochs
            self._in_flight += 1
            if self._cold:
                job.warming = [(segment, segment.copy()) for segment in self._cold]
                self._cold = {}
            elif job.pieces[0].segment.has_new_entries:
                job.saves = job.pieces[0].segment.due_saves()
        return job

    def published(self, job: WriteJob) -> None:
        """The job's bytes are in the file: the end of the log moves."""
        for segment, seen in job.warming:
            segment.adopt(seen.known)
            self._room = NO_ROOM
        for piece in job.pieces:
            if not piece.position:
                self._published_first(piece)
            assert piece.segment is self.segments[-1], piece
            piece.segment.note(piece.batches, piece.position)
        for update in job.updates:
            aborted = self.producers.publish(update)
            if aborted is not None:
                self.segment_of(aborted.last_offset).aborted.entries.append(aborted)
        for save in job.saves:
            save.note()
        self.epochs = job.epochs
        self.log_end_offset = job.end_offset
        if job.wants_sync:
            self._note_synced(job)
        self._in_flight -= 1
        if not self._in_flight and self._job is None:
            self.epochs = self._next_epochs  # of a leadership that began meanwhile

    def _published_first(self, piece: Piece) -> None:
        """A segment got its first batches; from the first one's time on, its room has an end."""
        self._room = NO_ROOM
        if piece.replaces is not None:
            self.segments.remove(piece.replaces)
        if piece.is_new:
            if self.segments:
                self.active_segment.complete_times()
            self.segments.append(piece.segment)

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
        self.closed_end = NO_OFFSET
        self.producers.abandon()
        self._next_segment = None
        self._room = NO_ROOM
        self._next_position = self.active_segment.size
        self._next_offset = self.log_end_offset
        self._next_epochs = self.epochs
        self._end_position = NOT_LOOKED_UP

    def mended(self, spoilt: Segment, mended: Segment) -> None:
        """A segment was written anew, with whole batches for corrupt ones."""
        self.segments[self.segments.index(spoilt)] = mended
        self.corrupt = None
        self.cuts += 1  # what was planned before is of other bytes
        self._end_position = NOT_LOOKED_UP

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
