"""Dropping a log's oldest segments: they are too old, too many, or below the log's start.

In three steps. What may go is found on the disk's thread, in a view, for it reads the time indexes;
the start of the log moves on the loop, and from then on nothing below it is read; the files go on
the disk's thread. Ranges that were handed out before keep their files open until they were sent.

A start is noted before it moves. Where a full disk has no room for the note, the oldest segment
goes first: without its file the log begins behind it, and that needs no note.
"""

from odradek.model.positions import Offset
from odradek.model.units import Timestamp
from odradek.storage.files.dir_files import delete_if_there
from odradek.storage.files.names import LOG, SNAPSHOT
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import ReadableLog
from odradek.storage.segments.segment import Segment


def deletable_up_to(log: ReadableLog, now: Timestamp) -> Offset:
    """Where the log may start when what its topic does not keep is gone. For a view.

    Never beyond the high watermark. The active segment may go too, once it is rolled: the end
    of the log is the answer then.
    """
    if not log.config.delete:
        return log.log_start_offset
    with log.failures.touching(log.folder.disk.name):
        start = log.log_start_offset
        excess = _excess(log)
        for segment, end in zip(log.segments, _ends(log), strict=True):
            excess -= segment.size
            fits = excess < 0
            if end > log.high_watermark or (fits and not _has_expired(log, segment, now)):
                break
            if not segment.size:
                break
            start = max(start, end)
        return start


class DeleteJob:
    """Moves the start of a log, and deletes the segments that lie below it."""

    __slots__ = ("log", "segments")

    def __init__(self, log: PartitionLog, log_start_offset: Offset) -> None:
        """On the loop: from now on nothing below the new start is read.

        The file of epochs is cut by the next flush, or by the next start.
        """
        self.log = log
        self.segments: list[Segment] = log.move_start(log_start_offset)
        if log.is_idle:
            changed = log.epochs.copy()
            if changed.truncate_from_start(log.log_start_offset):
                log.epochs = changed
                log.reset()

    def run(self) -> None:
        """On the disk's thread: the oldest first, so that what is left has no hole."""
        disk = self.log.folder.disk
        with self.log.failures.touching(disk.name):
            for segment in self.segments:
                segment.delete()
                delete_if_there(disk, segment.path(SNAPSHOT))

    def run_durably(self) -> None:
        """Likewise; that they are gone says from now on where the log begins, whatever happens."""
        self.run()
        disk = self.log.folder.disk
        with self.log.failures.touching(disk.name):
            disk.sync_directory(self.log.folder.name)


def oldest_below(log: ReadableLog, start: Offset) -> Offset | None:
    """Where the log begins without its oldest segment, if all of that is below this offset."""
    others = log.segments[1:]
    if not others:
        return None
    behind = others[0].base_offset
    return behind if log.log_start_offset < behind <= min(start, log.high_watermark) else None


def _excess(log: ReadableLog) -> int:
    """How many bytes more than its topic keeps."""
    bound = log.config.retention_bytes
    return -1 if bound is None else log.size - bound


def _ends(log: ReadableLog) -> list[Offset]:
    return [segment.base_offset for segment in log.segments[1:]] + [log.log_end_offset]


def _has_expired(log: ReadableLog, segment: Segment, now: Timestamp) -> bool:
    keep = log.config.retention_ms
    if keep is None:
        return False
    newest = segment.newest.timestamp
    if newest < 0:
        newest = log.folder.disk.modified(segment.path(LOG))
    return now - newest > keep
