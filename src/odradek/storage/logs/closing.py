"""Closing a log in good order, so that the next start may trust what it finds."""

from odradek.model.units import Timestamp
from odradek.storage.files.dir_files import write_synced
from odradek.storage.files.names import SNAPSHOT, segment_stem
from odradek.storage.logs import producer_snapshot
from odradek.storage.logs.flushing import FlushJob
from odradek.storage.logs.log import PartitionLog
from odradek.storage.segments.segment import Save


def close(log: PartitionLog, now: Timestamp) -> None:
    """Makes everything durable, with a snapshot of the producers at the end of the log.

    On the disk's thread; nothing is on its way to the log, and nothing comes after. Of many logs
    most have had no record since they were closed the last time: they cost nothing.
    """
    assert log.is_idle, log.partition
    assert not log.being_cleaned, log.partition
    if log.log_end_offset == log.closed_end:
        return
    with log.failures.touching(log.folder.disk.name):
        log.active_segment.complete_times()
        if log.passed_over is None:
            path = log.folder.path(segment_stem(log.log_end_offset) + SNAPSHOT)
            snapshot = producer_snapshot.encode(log.producers.entries.values())
            write_synced(log.folder.disk, path, snapshot)
    flush = FlushJob(log, now)
    flush.run()
    flush.publish()
    rest(log)


class RestJob:
    """Puts a log to rest that was not used for a while: a job as any other.

    Its indexes are written, not synced: after a crash they would be built anew anyway.
    """

    __slots__ = ("log", "saves")

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.saves: list[Save] = [save for segment in log.segments for save in segment.saves()]

    def run(self) -> None:
        """Writes what only memory has. On the disk's thread."""
        disk = self.log.folder.disk
        with self.log.failures.touching(disk.name):
            for save in self.saves:
                save.write(disk)

    def publish(self) -> None:
        """On the loop."""
        for save in self.saves:
            save.note()
        rest(self.log)


def rest(log: PartitionLog) -> None:
    """Gives back the files and the memory that an idle log does not need. On the loop."""
    for segment in log.segments:
        segment.rest()
