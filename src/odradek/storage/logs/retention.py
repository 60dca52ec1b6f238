"""Dropping a log's oldest segments: they are too old, too many, or below the log's start.

In three steps. What may go is found on the disk's thread, in a view, for it reads the time indexes;
the start of the log moves on the loop, and from then on nothing below it is read; the files go on
the disk's thread. Ranges that were handed out before keep their files open until they were sent.

A start is noted before it moves. Where a full disk has no room for the note, the oldest segment
goes first: once it is durable that its file is gone the log begins behind it, without a note.
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
            if not segment.size and segment is not log.active_segment:
                continue  # compaction, or a cut, took all that it had
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
                segment.unpin()
                segment.delete()
                delete_if_there(disk, segment.path(SNAPSHOT))


class DeletionBeforeTheStart:
    """Deletes the oldest segment for good; only then does the start of the log move.

    Until it is durable that the segment is gone nobody is told so: a power cut could bring it back.
    Meanwhile it is read from its open files. Nothing else may change the log's old segments.
    """

    __slots__ = ("_behind", "_is_durable", "_log", "_oldest")

    def __init__(self, log: PartitionLog, behind: Offset) -> None:
        """`behind` is what `oldest_below` has found. On the loop."""
        assert not log.being_cleaned, log.partition
        log.being_cleaned = True
        self._log, self._behind = log, behind
        self._oldest = log.segments[0]
        self._is_durable = False

    def run(self) -> None:
        """On the disk's thread."""
        disk = self._log.folder.disk
        with self._log.failures.touching(disk.name):
            self._oldest.pin()
            self._oldest.delete()
            delete_if_there(disk, self._oldest.path(SNAPSHOT))
        with self._log.failures.syncing(disk.name):
            disk.sync_directory(self._log.folder.name)
        self._is_durable = True

    def publish(self) -> DeleteJob | None:
        """Moves the start, if it may; the job removes what was saved of the segment meanwhile."""
        self._log.being_cleaned = False
        return DeleteJob(self._log, self._behind) if self._is_durable else None


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
