"""A log moves to another log dir of this broker (KIP-113), in steps on the workers of both.

A *future log* is filled in the target dir while the current one is read and written; when it has
caught up, appends are held for the moment that the swap takes. A step is one call for the worker of
one dir, and what stands between two steps happens on the loop: `dir_moves` sends each
to its worker and goes on when it has ended, or throws in what it raised.

The first piece of a segment is read on the worker of its dir, which also truncates; what follows
is read, and everything is written, beside the workers, so that appends to either dir wait for no
copy. While a piece is written, the next one is read, checked and decided. Pieces are large where
batches are, and small where many batches are to be checked on the loop. Their way to the device
begins at once, and no more than a backlog is under way: a sync of gigabytes at the end would hold
up what others write to that disk.

What a crash leaves: before the target has its name, the current log is the one. Afterwards both
have it, and the higher number in a note of the target, durable before, says that it is the newer.
Whether it has the name is unknown once it was asked for, and it may get it late. So on every way
that does not end with the target in its place the current one gets a number above it (`stay`),
before it takes another append: on the worker that appends, ahead of them.

Invariant: of one partition there is at most one future log, never in the dir of the current one.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from odradek.model.errors import BrokerError, CorruptBatch
from odradek.model.ids import TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, Offset
from odradek.model.units import KIB, MIB, Bytes, Timestamp
from odradek.ports import File
from odradek.records.batch import check_crc, headers
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.dirs.log_dirs import LogDirs
from odradek.storage.errors import (
    CorruptFile,
    DiskFull,
    LogDirCordoned,
    LogDirOffline,
    NameTooLongToMove,
    OffsetOutOfRange,
    OutOfDescriptors,
    StorageError,
)
from odradek.storage.files.failures import Failures
from odradek.storage.files.move_notes import (
    Note,
    note_kept,
    note_leaving,
    note_moved,
)
from odradek.storage.files.names import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    Kind,
    fits_future,
    renamed,
)
from odradek.storage.files.new_logs import put_note
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import ProducerState
from odradek.storage.logs.retention import DeleteJob
from odradek.storage.logs.truncation import truncate_fully, truncate_to
from odradek.storage.logs.view import LogView
from odradek.storage.logs.writing import WriteJob

PIECE_BYTES: Final = Bytes(4 * MIB)
PIECE_BYTES_MIN: Final = Bytes(64 * KIB)
PIECE_BATCHES: Final = 250
"""No more are checked and placed in one turn of the loop."""
BACKLOG_BYTES: Final = Bytes(32 * MIB)
"""So much may be on its way to the device of the target."""


class Step(NamedTuple):
    """One call for the worker of a dir; while it runs, a piece may be read ahead."""

    log_dir: LogDir
    run: Callable[[], None]
    ahead: "Piece | None" = None  # a job to be done beside the worker of its dir
    is_background: bool = False  # so is this one
    lent: tuple[PartitionLog, ...] = ()  # what the call has for itself


class Place(NamedTuple):
    """Where published bytes are: in a file that stays readable, whatever becomes of its name."""

    file: File
    path: str
    segment_base: Offset
    position: int
    length: int


class Piece:
    """Whole batches of the current log on their way to the future one, from an offset on.

    As a job it reads, and then decides: what is wrong is met again when it is needed. Batches that
    are too many for one turn of the loop, or cut off at the end, are left to the next one.
    """

    def __init__(
        self, move: "Move", offset: Offset, now: Timestamp, place: Place | None = None
    ) -> None:
        self.log_dir = move.source
        self.cuts = move.current.cuts  # a piece is of one history
        self.place = place  # None: it is to be found
        self.data = memoryview(b"")
        self.is_read = False
        self.is_void = False
        self.write: WriteJob | None = None  # decided, and not yet written
        self._current = move.current
        self._view = LogView(move.current) if place is None else None
        self._future = move.future
        self._offset = offset
        self._size = move.piece_bytes
        self._now = now

    def run(self) -> None:
        """On the worker, which also truncates; or beside it, if its place is known."""
        if self._view is not None:
            log, size = self._view, self._size
            found = log.read(self._offset, log.log_end_offset, size, at_least_one=True)
            if found.chunk is None:
                return
            file, position, length = found.chunk
            path = log.path_of(found.segment_base)
            self.place = Place(file, path, found.segment_base, position, length)
        assert self.place is not None, "it was given or found"
        with self.log_dir.failures.touching(self.log_dir.name):
            data = self.place.file.read(self.place.length, self.place.position)
        self.data = memoryview(data)[: _end_of_batches(data, self.place)]

    def done(self, error: Exception | None) -> None:
        """On the loop."""
        self.is_read = True
        if error is None and not self.is_void and self._current.cuts == self.cuts:
            with suppress(BrokerError):
                self.decide()

    def decide(self) -> None:
        """Checks the batches, and gives them their place in the future log."""
        if self.data:
            self._future.append_replica(self.data, self._now)
            self.write = self._future.take_job(may_wait=True)


def _end_of_batches(data: bytes, place: Place) -> int:
    """Where so many end as are checked in one turn, or those that are whole.

    A piece is as large as the batches before it allow, and these may be much smaller.
    """
    end = 0
    try:
        for at, header in islice(headers(data, cut_tail=True), PIECE_BATCHES):
            check_crc(data, header, at)
            end = at + header.size
    except CorruptBatch as error:
        raise CorruptFile(place.path, place.position + end, str(error)) from None
    return end


def _nothing() -> None:
    """What was submitted before has ended."""


class Move:
    """A partition's log on its way to another dir."""

    def __init__(self, dirs: LogDirs, partition: TopicPartition) -> None:
        source, future_dir = dirs.dir_of(partition), dirs.future_dir_of(partition)
        assert source is not None, partition
        assert future_dir is not None, partition
        self.partition = partition
        self.source = source
        self.target = future_dir
        self.current: PartitionLog = source.logs[partition]
        self.future: PartitionLog = future_dir.futures[partition]
        self._dirs = dirs
        self._rest: DeleteJob | None = None  # of what the current log lost during the swap
        self._came_in = NO_LEADER_EPOCH  # what the current log's note says
        self._moved = Note("", 0, "")  # what the future log's note is to say
        self.is_undecided = False  # a note says that it may be replaced, and none how that ended
        self.piece_bytes = PIECE_BYTES_MIN
        self._ahead: Piece | None = None  # read while the one before it is written

    @property
    def bytes_left(self) -> int:
        """About how much is to be copied: what the current log has more."""
        return max(self.current.size - self.future.size, 0)

    @property
    def is_caught_up(self) -> bool:
        """Whether both end at the same offset of the same history."""
        ends = self.future.log_end_offset == self.current.log_end_offset
        return ends and self._common_end() == self.future.log_end_offset

    @property
    def is_over(self) -> bool:
        """Whether one of the logs, or their dirs, is no longer what it was."""
        return (
            self.source.logs.get(self.partition) is not self.current
            or self.target.futures.get(self.partition) is not self.future
        )

    def copy(self, now: Timestamp) -> Generator[Step, None, int]:
        """Copies a piece, behind what both have in common; how many bytes it had."""
        piece = yield from self._next_piece(now)
        if piece is None or piece.write is None:
            return 0
        write = piece.write
        self._adapt(write)
        self._ahead = self._behind(piece, write, now)
        try:
            yield Step(self.target, partial(self._write, write), self._ahead, is_background=True)
        except StorageError:
            write.fail()
            self.drop_ahead()
            raise
        write.publish()
        return len(piece.data)

    def _next_piece(self, now: Timestamp) -> Generator[Step, None, Piece | None]:
        ahead = self._ahead
        if ahead is not None and not ahead.is_read:
            yield Step(self.source, _nothing, is_background=True)  # behind the read
        if ahead is not None and ahead.write is not None and ahead.cuts == self.current.cuts:
            self._ahead = None
            return ahead
        self.drop_ahead()
        yield from self._cut(now)
        if self.future.log_end_offset >= self.current.log_end_offset:
            return None
        piece = Piece(self, self.future.log_end_offset, now)
        try:
            yield Step(self.source, piece.run)
        except OffsetOutOfRange:  # it was cut meanwhile, at one of its ends
            return None
        if self.current.cuts == piece.cuts:
            piece.decide()
        return piece

    def _behind(self, piece: Piece, write: WriteJob, now: Timestamp) -> Piece | None:
        """The piece that follows in the same segment, if more is there."""
        assert piece.place is not None, "it was read"
        offset, place = write.end_offset, piece.place
        if offset >= self.current.log_end_offset:
            return None
        segment, at = self.current.segment_of(offset), place.position + write.size
        if segment.base_offset != place.segment_base or at >= segment.size:
            return None
        length = min(self.piece_bytes, segment.size - at)
        return Piece(self, offset, now, place._replace(position=at, length=length))

    def drop_ahead(self) -> None:
        """What was read ahead is not written."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.is_void = True
            if ahead.write is not None:
                ahead.write.fail()

    def _adapt(self, job: WriteJob) -> None:
        """The next piece has as many bytes as so many batches of this size have."""
        count = sum(len(piece.batches) for piece in job.pieces)
        size = max(job.size * PIECE_BATCHES // count, PIECE_BYTES_MIN)
        self.piece_bytes = Bytes(min(size, PIECE_BYTES))

    def _write(self, job: WriteJob) -> None:
        """On the worker of the target."""
        job.run()
        with self.target.failures.syncing(self.target.name):
            for piece in job.pieces:
                file, at = piece.segment.file, piece.position
                file.write_back(at, piece.size)
                if at > BACKLOG_BYTES:
                    file.write_back(at - BACKLOG_BYTES, piece.size, wait=True)

    def flush(self, now: Timestamp) -> Generator[Step, None, None]:
        """Makes what was copied so far durable, so that the swap has little to sync."""
        job = FlushJob(self.future, now)
        yield Step(self.target, job.run, is_background=True)
        job.publish()

    def swap(self, now: Timestamp) -> Generator[Step, None, None]:
        """Puts the future log in the place of the current one, and that one out of the way."""
        yield from self.prepare(now)
        yield from self.take_place(now)
        yield from self.tidy()

    def take_place(
        self, now: Timestamp, on_taken: Callable[[], None] = lambda: None
    ) -> Generator[Step, None, None]:
        """Puts the future log in the place of the current one, to which nothing is on its way.

        The current one is held meanwhile. `on_taken` is called in the turn in which the future one
        becomes the current one. That it has its name is durable then if its records have to be;
        else only before the old one goes.
        """
        current, future = self.current, self.future
        assert current.is_settled, self.partition
        assert not current.being_cleaned, self.partition
        try:
            while not self.is_caught_up:
                before = future.log_end_offset
                yield from self.copy(now)
                if future.log_end_offset == before and not self.is_caught_up:
                    raise StorageError(f"{self.partition}: the future log cannot catch up")
            self.drop_ahead()
            lasts = yield from self._take_over(now)
            yield from self._take_name(now, is_durable=lasts)
            on_taken()
        finally:
            self.target.arriving.pop(self.partition, None)

    def tidy(self) -> Generator[Step, None, None]:
        """The old log goes; if its dir fails now, the next start knows by the note."""
        yield from _put_away(self._dirs, self.source, self.partition, self.target)
        if self._rest is not None:
            yield Step(self.target, self._rest.run)

    def cancel(self) -> Generator[Step, None, None]:
        """Gives the move up; the current log goes on."""
        self.drop_ahead()
        self.target.arriving.pop(self.partition, None)
        if self.target.futures.get(self.partition) is self.future:
            del self.target.futures[self.partition]
            if not self.target.is_offline:
                discard = partial(self._dirs.discard, self.target, self.future)
                yield Step(self.target, discard, lent=(self.future,))

    def _common_end(self) -> Offset:
        """Up to where both logs have the same history (KIP-101)."""
        current, future = self.current, self.future
        latest = future.epochs.latest
        if latest == NO_LEADER_EPOCH:
            return min(future.log_end_offset, current.log_end_offset)
        epoch, end = current.epochs.end_offset_for(latest, current.log_end_offset)
        if epoch == NO_LEADER_EPOCH:  # the current log was cut below this epoch
            epoch, end = current.epochs.latest, current.log_end_offset
        _, ours = future.epochs.end_offset_for(epoch, future.log_end_offset)
        return min(end, ours, future.log_end_offset) if ours >= 0 else Offset(0)

    def _cut(self, now: Timestamp) -> Generator[Step, None, None]:
        """What the current log has lost meanwhile, at either end, the future one loses, too."""
        future, start = self.future, self.current.log_start_offset
        common = self._common_end()
        if future.log_end_offset < start or common < start:
            yield Step(self.target, partial(truncate_fully, future, start, now), lent=(future,))
        elif common < future.log_end_offset:
            yield Step(self.target, partial(truncate_to, future, common, now), lent=(future,))

    def prepare(self, now: Timestamp) -> Generator[Step, None, None]:
        """All that the log needs in its new place, durably, while the current one is written to.

        What is said of it before it has the name is true then, too, or says less.
        """
        self.drop_ahead()
        current, future, target = self.current, self.future, self.target
        self.is_undecided = True
        yield Step(self.source, self._note_leaving, is_background=True)
        yield from self._cut(now)
        if self._common_end() == future.log_end_offset:
            history = current.epochs.copy()
            history.truncate_from_end(future.log_end_offset)
            future.take_history(history)
        yield from self.flush(now)
        yield from self._adjust()
        target.arriving[self.partition] = future
        for note in target.notes(RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS):
            yield Step(target, note.write, is_background=True)
            yield Step(target, note.take_place)
        yield Step(target, self._note, is_background=True)

    def _adjust(self) -> Generator[Step, None, None]:
        """What is committed, and where it begins, as far as it has it."""
        current, future = self.current, self.future
        future.on_high_watermark(min(current.high_watermark, future.log_end_offset))
        if current.log_start_offset > future.log_start_offset:
            start = min(current.log_start_offset, future.log_end_offset)
            yield Step(self.target, DeleteJob(future, start).run)

    def _note(self) -> None:
        """Where it comes from, in its directory."""
        target, folder = self.target, self.future.folder
        with target.failures.touching(target.name):
            if self._came_in != NO_LEADER_EPOCH:
                put_note(target.disk, folder.name, self._came_in)
            note_moved(target.disk, folder.name, self._moved)

    def _take_over(self, now: Timestamp) -> Generator[Step, None, bool]:
        """The little that has changed since it was prepared; whether it was made to last."""
        current, future, target = self.current, self.future, self.target
        future.take_history(current.epochs)
        lasts = self._is_to_last
        future.is_synced = current.is_synced
        if lasts or future.recovery_point < current.recovery_point:
            yield from self.flush(now)
        yield from self._adjust()
        future.unclean, future.incarnation = current.unclean, current.incarnation
        cleaned = self.source.cleaner_offsets.get(self.partition)
        if not target.speaks_of(future, cleaned):
            yield Step(target, partial(target.take_over, future, cleaned))
        yield Step(target, partial(target.note_unclean, future))
        known = {self.partition}
        named, others = (known, ()) if future.is_synced else ((), known)
        yield Step(target, partial(target.name_synced, named, others))
        return lasts

    @property
    def _is_to_last(self) -> bool:
        """Whether what is acknowledged of the log is durable: settings change at any moment."""
        return self.current.config.flush_before_ack or self.current.is_synced

    def _take_name(self, now: Timestamp, *, is_durable: bool) -> Generator[Step, None, None]:
        """All that is known of producers comes along: the copy does not tell all of it.

        Not of those whose records were deleted, nor who waits to be confirmed.
        """
        rename = partial(
            self.target.rename_log, self.future, str(self.partition), is_durable=is_durable
        )
        try:
            yield Step(self.target, rename, lent=(self.future,))
            if self._is_to_last and not is_durable:  # since a moment ago
                yield from self.flush(now)
                yield Step(self.target, self.target.sync_names)
            self._check_goes_on()
        except StorageError:
            if self.is_undecided and self.is_current:
                yield Step(self.source, self.stay)
                self.is_undecided = False
            raise
        self.is_undecided = False
        del self.target.futures[self.partition]
        if self.source.logs.pop(self.partition, None) is not None:  # its dir may just have failed
            self.source.left_behind[self.partition] = self.current
            self.source.leaving[self.partition] = self.target.name
        self.target.logs[self.partition] = self.future
        self.future.config = self.current.config
        self.future.unclean = self.current.unclean
        self.future.incarnation = self.current.incarnation
        self.future.producers = replace(self.current.producers, planned={})
        self.future.passed_over = self.current.passed_over
        self.current.producers = ProducerState(dict(self.current.producers.entries))
        self.future.on_high_watermark(self.current.high_watermark)
        self.current.failures = Failures()  # that its files go says nothing of the disk
        if self.current.log_start_offset > self.future.log_start_offset:  # DeleteRecords meanwhile
            self._rest = DeleteJob(self.future, self.current.log_start_offset)

    def _note_leaving(self) -> None:
        """The numbers of both logs, above all that this one has had; see `move_notes`."""
        source, folder = self.source, self.current.folder
        self._came_in = source.came_in(self.current)
        before = source.moves_of(self.current)
        chain = self._dirs.unique() if before.chain is None else before.chain
        self._moved = Note(chain, before.number_max + 1, source.name)
        leaving = Note(chain, before.number_max + 2, self.target.name)
        with source.failures.touching(source.name):
            note_leaving(source.disk, folder.name, leaving)

    def _check_goes_on(self) -> None:
        """Whether the future log may take its place, now that it has the name."""
        if self.target.futures.get(self.partition) is not self.future:
            raise StorageError(f"{self.partition}: its move was given up, or its dir failed")
        if not self.is_undecided:
            raise StorageError(f"{self.partition}: its log went on where it was")

    @property
    def is_current(self) -> bool:
        """Whether the log that was to be moved is served: not deleted, and its dir is online."""
        return self.source.logs.get(self.partition) is self.current

    def stay(self) -> None:
        """Before the current log takes another append: the target may have its name, or get it."""
        source = self.source
        try:
            with source.failures.touching(source.name):
                note_kept(source.disk, self.current.folder.name)
        except (DiskFull, OutOfDescriptors) as error:  # without the note nothing may be appended
            raise source.failures.report(source.name, OSError(str(error))) from error


def _put_away(
    dirs: LogDirs, left_in: LogDir, partition: TopicPartition, serving: LogDir
) -> Generator[Step, None, None]:
    """The log goes that a move has left behind, once it is durable which one serves.

    Until it is gone it stands in the table: a deletion wants it, too.
    """
    old = left_in.left_behind.get(partition)
    if old is None:
        return
    yield Step(serving, serving.sync_names, is_background=True)
    if left_in.left_behind.get(partition) is old:
        yield Step(left_in, partial(dirs.discard, left_in, old), lent=(old,))
    if left_in.left_behind.get(partition) is old:
        del left_in.left_behind[partition], left_in.leaving[partition]


def begin_move(
    dirs: LogDirs, partition: TopicPartition, target: str, *, how: InDir, now: Timestamp
) -> Generator[Step, None, Move | None]:
    """Makes a future log in another dir; None where there is nothing to move.

    A running move elsewhere is given up, and one to the dir of the current log is just that.
    Without a log the dir is remembered for its creation.
    """
    target_dir = dirs.named(target)
    source = dirs.dir_of(partition)
    if target_dir is not source and target in dirs.cordoned:
        raise LogDirCordoned(f"{target} is cordoned: no log may be moved there")
    if source is None:
        dirs.preferred[partition] = target
        return None
    if partition in target_dir.futures:
        return Move(dirs, partition)
    if dirs.future(partition) is not None:
        yield from Move(dirs, partition).cancel()
    if target_dir is source:
        return None
    yield from _put_away(dirs, target_dir, partition, source)
    if dirs.some_failed:
        raise LogDirOffline(f"a future log of {partition} may be in a log dir that is offline")
    if not fits_future(partition):
        raise NameTooLongToMove(f"{partition}: the name is too long for a future log")
    name = renamed(partition, dirs.unique(), Kind.FUTURE)
    current = source.logs[partition]
    made: list[PartitionLog] = []
    yield Step(target_dir, lambda: made.append(target_dir.create(partition, name, how, now)))
    dirs.failures.check(target)
    if source.logs.get(partition) is not current:
        discard = partial(dirs.discard, target_dir, made[0])
        yield Step(target_dir, discard, lent=(made[0],))
        raise StorageError(f"{partition} was deleted, or its dir failed, as its move began")
    target_dir.futures[partition] = made[0]
    made[0].config = current.config  # it may have changed meanwhile
    return Move(dirs, partition)
