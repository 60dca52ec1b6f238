"""What one turn of the loop appends to one log: written by the disk, then published by the loop.

A log decides and assigns (`PartitionLog.append`), this job carries it out. Its parts run in this
order, each whole or not at all: `run` on the disk's thread; `sync`, where the topic
wants its bytes durable before they are acknowledged; `publish` on the loop, which is when readers
see them. A job that fails leaves the log as it was, and takes with it the jobs behind it, whose
offsets rest on its own.
"""

from typing import Protocol

from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.ports import Disk
from odradek.records.batch import BatchHeader, Buffer
from odradek.storage.errors import StorageError
from odradek.storage.files.checkpoints import EpochStart, encode_epochs
from odradek.storage.files.dir_files import delete_if_there, put_small
from odradek.storage.files.failures import FULL, Failures
from odradek.storage.files.names import EPOCH_CHECKPOINT, SNAPSHOT
from odradek.storage.logs.epochs import EpochHistory
from odradek.storage.logs.producers import Update
from odradek.storage.segments.segment import Folder, Save, Segment
from odradek.storage.settings import LogConfig


class Owner(Protocol):
    """The log, as far as its job needs it."""

    partition: TopicPartition
    folder: Folder
    config: LogConfig
    failures: Failures
    broken: bool  # a write failed, and what rests on it must fail too
    log_end_offset: Offset
    epochs: EpochHistory
    saved_epochs: tuple[EpochStart, ...]

    def published(self, job: "WriteJob") -> None:
        """The job is in the file."""
        ...

    def unwritten(self) -> None:
        """A job is not."""
        ...


def save_epochs(log: Owner, entries: tuple[EpochStart, ...]) -> bool:
    """Replaces `leader-epoch-checkpoint` if it says something else; whether it did.

    On the disk's thread, before the recovery point passes a record of these epochs; the caller
    syncs the directory. Behind the recovery point the batches themselves tell their epochs, so
    neither an append nor the beginning of a leadership waits for this file.
    """
    if entries == log.saved_epochs:
        return False
    put_small(log.folder.disk, log.folder.path(EPOCH_CHECKPOINT), encode_epochs(entries))
    log.saved_epochs = entries
    return True


def write_snapshot(disk: Disk, segment: Segment, snapshot: bytes) -> None:
    """What is known of the producers where this segment begins. On the disk's thread."""
    file = disk.open(segment.path(SNAPSHOT), create=True)
    try:
        file.truncate(0)
        file.write([snapshot], 0)
    finally:
        file.close()


class Piece:
    """Batches that go into one segment, one behind the other."""

    __slots__ = (
        "batches",
        "chunks",
        "is_new",
        "position",
        "replaces",
        "segment",
        "size",
        "snapshot",
    )

    def __init__(self, segment: Segment, position: int, snapshot: bytes | None = None) -> None:
        self.segment = segment
        self.position = position
        self.size = 0
        self.chunks: list[Buffer] = []
        self.batches: list[BatchHeader] = []
        self.is_new = snapshot is not None  # the segment begins with this piece
        self.snapshot = snapshot  # the producers as they were before it
        self.replaces: Segment | None = None  # an empty one, whose base lies within a batch


class WriteJob:
    """The appends of one turn to one log."""

    __slots__ = (
        "end_offset",
        "epochs",
        "log",
        "pieces",
        "saves",
        "updates",
        "wants_sync",
        "warming",
    )

    def __init__(self, log: Owner, first: Piece) -> None:
        self.log = log
        self.pieces = [first]
        self.end_offset: Offset = log.log_end_offset
        self.epochs: EpochHistory = log.epochs  # as it is once this is written
        self.updates: list[Update] = []
        self.saves: list[Save] = []
        self.warming: list[tuple[Segment, Segment]] = []
        """Segments of which memory lacks what publishing needs, with copies that `run` reads."""
        # Its bytes must be durable before they are published; settings may change in between.
        self.wants_sync = log.config.flush_before_ack

    @property
    def size(self) -> int:
        """The bytes that it writes."""
        return sum(piece.size for piece in self.pieces)

    def run(self) -> None:
        """Writes. On the disk's thread; DiskFull or LogDirOffline if it cannot."""
        log = self.log
        if log.failures.failed:
            log.failures.check(log.folder.disk.name)
        if log.broken:
            raise StorageError(
                f"{log.partition}: an earlier write failed, and this one rests on it"
            )
        has_begun = False
        try:
            if self.warming:
                self._warm()
            for piece in self.pieces:
                if piece.is_new:
                    has_begun = True
                    if piece.replaces is not None:
                        self._give_way(piece.replaces)
                    self._begin(piece)
                file = piece.segment.file
                has_begun = True
                file.write(piece.chunks, piece.position)
            for save in self.saves:
                save.write(log.folder.disk)
        except OSError as error:
            log.broken = True
            refused = log.failures.met(log.folder.disk.name, error)
            if has_begun:
                self._undo()
            raise refused from error

    def _warm(self) -> None:
        try:
            for _, seen in self.warming:
                seen.warm()
        except StorageError:  # its files are corrupt, and nothing was written
            self.log.broken = True
            raise

    @property
    def names_segments(self) -> bool:
        """Whether a segment gets its first bytes: one that was begun before need not be durable."""
        return any(not piece.position for piece in self.pieces)

    def sync(self) -> None:
        """Makes what was written durable. On the disk's thread.

        A sync that fails ends the directory. A history of epochs for which there is no room, or no
        descriptor, does not: the caller takes back what was written.
        """
        log, disk = self.log, self.log.folder.disk
        with log.failures.syncing(disk.name):
            for piece in self.pieces:
                piece.segment.file.sync()
        with log.failures.touching(disk.name):
            is_new_epoch = save_epochs(log, self.epochs.entries)
        if is_new_epoch or self.names_segments:
            with log.failures.syncing(disk.name):
                disk.sync_directory(log.folder.name)

    def take_back(self) -> None:
        """It was written and cannot be synced. On the disk's thread, the last one first."""
        self.log.broken = True
        if not self.log.failures.has_failed(self.log.folder.disk.name):
            self._undo()

    def publish(self) -> None:
        """Lets readers see it. On the loop."""
        self.log.published(self)

    def fail(self) -> None:
        """It was not written: forgets it, and all that rests on it. On the loop."""
        self.log.unwritten()

    def _give_way(self, empty: Segment) -> None:
        """Durably, before the other begins: a start that finds both takes the gap for records."""
        empty.delete()
        self.log.folder.disk.sync_directory(self.log.folder.name)

    def _begin(self, piece: Piece) -> None:
        """The new segment's file, and beside it what was known when it began.

        Where a full disk has no room for that, a segment that is to be empty begins without: so
        retention can delete what lies before it, and then there is room.
        """
        piece.segment.create()
        assert piece.snapshot is not None, "a new segment comes with a snapshot"
        disk = self.log.folder.disk
        if not piece.snapshot:
            return
        try:
            write_snapshot(disk, piece.segment, piece.snapshot)
        except OSError as error:
            if piece.chunks or error.errno not in FULL:
                raise
            delete_if_there(disk, piece.segment.path(SNAPSHOT))
            piece.segment.owed_snapshot = piece.snapshot

    def _undo(self) -> None:
        """Takes back what a failed write left, durably.

        The next one may be shorter, and what it does not cover would be taken for a batch. It may
        also go into a new segment: after a loss of power recovery must not end before that one.
        A disk that does not even allow this is broken.
        """
        disk = self.log.folder.disk.name
        for piece in reversed(self.pieces):
            try:
                if piece.is_new:
                    piece.segment.delete()
                    if piece.replaces is not None:
                        piece.replaces.create()
                else:
                    piece.segment.file.truncate(piece.position)
                    piece.segment.file.sync()
            except OSError as error:
                self.log.failures.report(disk, error)
