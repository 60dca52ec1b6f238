"""When written bytes become durable, and which.

Three ways, as a topic chooses: never before the operating system pleases, because the other
replicas have them too (the default); after so many messages or so much time (`flush.messages`,
`flush.ms`); or before they are acknowledged at all (`log.flush.before.ack`), where whatever was
appended while the last sync ran shares the next one: the disk sets the pace. A rolled segment is
always synced soon, so that recovery after a crash begins at the active one.

A flush is a job as a write is: planned on the loop, run on the disk's thread, noted on the loop.
"""

from collections.abc import Callable
from contextlib import closing, suppress
from typing import Final

from odradek.model.positions import Offset
from odradek.model.units import MIB, Timestamp
from odradek.ports import Disk
from odradek.storage.errors import StorageError
from odradek.storage.files.names import INDEX, LOG, SNAPSHOT, TIME_INDEX, TXN_INDEX
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.writing import WriteJob, save_epochs, write_snapshot
from odradek.storage.segments.segment import Save, Segment

SYNCED_AT_ONCE: Final = 64 * MIB


def flush_is_due(log: PartitionLog, now: Timestamp) -> bool:
    """Whether the topic's settings, or a rolled segment, ask for a flush."""
    unflushed = log.log_end_offset - log.recovery_point
    if unflushed <= 0:
        return False
    config = log.config
    return (
        log.recovery_point < log.active_segment.base_offset
        or (config.flush_messages is not None and unflushed >= config.flush_messages)
        or (config.flush_ms is not None and now - log.flushed_at >= config.flush_ms)
    )


def presync(log: PartitionLog) -> Callable[[], None] | None:
    """The call that brings rolled segments to the device, beside appends; None: there are none.

    What it syncs counts for nothing: the flush behind it has less to do. On the loop; the call
    opens each file itself, for a segment may be deleted or renamed by then. A gigabyte is brought
    to the device in pieces: a watch over the disk sees that it gets on.
    """
    disk = log.folder.disk
    first = log.segments.index(log.segment_of(log.recovery_point))
    files = [(segment.path(LOG), segment.size) for segment in log.segments[first:-1]]
    if not files:
        return None

    def run() -> None:
        for path, size in files:
            with log.failures.syncing(disk.name), suppress(FileNotFoundError):
                _sync_in_pieces(disk, path, size)

    return run


def _sync_in_pieces(disk: Disk, path: str, size: int) -> None:
    with closing(disk.open(path)) as file:
        for position in range(0, size, SYNCED_AT_ONCE):
            file.write_back(position, SYNCED_AT_ONCE, wait=True)
        file.sync()


class FlushJob:
    """Makes one log durable up to where it ended when this was planned."""

    __slots__ = ("cuts", "epochs", "log", "now", "saves", "segments", "upto")

    def __init__(self, log: PartitionLog, now: Timestamp) -> None:
        self.log = log
        self.now = now
        self.upto: Offset = log.log_end_offset
        self.epochs = log.next_epochs.entries  # a write on its way may have saved newer ones
        self.cuts = log.cuts
        first = log.segment_of(log.recovery_point - 1)  # it may have been rolled since
        self.segments: list[Segment] = log.segments[log.segments.index(first) :]
        self.saves: list[Save] = [save for s in self.segments for save in s.saves()]

    def run(self) -> None:
        """Writes the indexes, then syncs all. On the disk's thread."""
        log = self.log
        disk = log.folder.disk
        with log.failures.touching(disk.name):
            for segment in self.segments:
                if segment.owed_snapshot is not None:
                    write_snapshot(disk, segment, segment.owed_snapshot)
                    segment.owed_snapshot = None
            for save in self.saves:
                save.write(disk)
        with log.failures.syncing(disk.name):
            for segment in self.segments:
                segment.file.sync()
                sync_if_there(disk, segment.path(INDEX))
                sync_if_there(disk, segment.path(TIME_INDEX))
                sync_if_there(disk, segment.path(TXN_INDEX))
                sync_if_there(disk, segment.path(SNAPSHOT))
        with log.failures.touching(disk.name):  # a disk without room for it loses nothing
            save_epochs(log, self.epochs)
        with log.failures.syncing(disk.name):
            disk.sync_directory(log.folder.name)

    def publish(self) -> None:
        """What was unflushed is flushed, unless it was cut meanwhile. On the loop."""
        if self.cuts != self.log.cuts:
            return
        for save in self.saves:
            save.note()
        self.log.recovery_point = max(self.log.recovery_point, self.upto)
        self.log.flushed_at = self.now


def sync_group(jobs: list[WriteJob]) -> None:
    """Syncs what these jobs wrote, each log once: its last job's files hold the earlier ones too.

    A segment that an earlier job of the group began or left is synced with that job. If one cannot
    be, all are taken back, those of other logs too.
    """
    try:
        _sync_each(jobs)
    except StorageError:
        for job in reversed(jobs):
            job.take_back()
        raise


def _sync_each(jobs: list[WriteJob]) -> None:
    synced: set[int] = set()
    for job in reversed(jobs):
        segments = {id(piece.segment) for piece in job.pieces}
        if segments - synced or job.names_segments:
            job.sync()
            synced |= segments


def sync_if_there(disk: Disk, path: str) -> None:
    """Makes a file durable that need not be there, by its name."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return
    try:
        file.sync()
    finally:
        file.close()
