"""A segment that was written anew takes the place of its originals.

By steps that a crash may interrupt anywhere: written as `.cleaned` and synced; renamed to `.swap`,
from when on it counts; the originals deleted; renamed to its final name.
"""

from collections.abc import Sequence

from odradek.storage.files.dir_files import delete_if_there
from odradek.storage.files.names import SEGMENT_SUFFIXES, SNAPSHOT, SWAP
from odradek.storage.logs.flushing import sync_if_there
from odradek.storage.logs.log import PartitionLog
from odradek.storage.segments.segment import Segment


def swap(log: PartitionLog, originals: Sequence[Segment], cleaned: Segment) -> None:
    """From here on the new segment counts; readers keep the open files of the old ones."""
    disk, folder = log.folder.disk, log.folder
    cleaned.file.sync()
    for suffix in SEGMENT_SUFFIXES[1:]:
        sync_if_there(disk, cleaned.path(suffix))
    disk.sync_directory(folder.name)
    cleaned.rename(SWAP)
    disk.sync_directory(folder.name)
    for segment in originals:
        segment.pin()
        segment.delete()
        if segment is not originals[0]:
            delete_if_there(disk, segment.path(SNAPSHOT))
    disk.sync_directory(folder.name)
    cleaned.rename("")
    disk.sync_directory(folder.name)
    cleaned.rest()
