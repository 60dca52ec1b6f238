"""Building the indexes of one segment anew, when a reader finds that they lie.

A file of an index may rot, or be replaced, while the log is open. A read that follows an entry
looks whether the batch there is the one it names; if not, the batches tell what is true. The reader
who finds the lie waits for a walk over the segment's headers: that is rare, and bounded by a
segment.

Only indexes that will not be written to any more are built anew: those of segments that are closed
and durable. For the others the error stands; a start after a crash checks them.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

from odradek.model.positions import Offset
from odradek.records.batch import BatchHeader
from odradek.storage.errors import LyingIndex
from odradek.storage.files.dir_files import write_small
from odradek.storage.files.names import INDEX, LOG, TIME_INDEX
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Segment

NOTED_AT_ONCE: Final = 1_000


class Mendable(Protocol):
    """A log, as far as it matters which of its segments are at rest."""

    segments: list[Segment]
    recovery_point: Offset
    being_cleaned: bool


def mend(log: Mendable, lie: LyingIndex) -> None:
    """Replaces the indexes of the segment in question; raises the error where it may not."""
    if log.being_cleaned:
        raise lie
    for segment, following in zip(log.segments, log.segments[1:], strict=False):
        if lie.path in {segment.path(INDEX), segment.path(TIME_INDEX)}:
            if following.base_offset > log.recovery_point:
                raise lie
            _mend(segment)
            return
    raise lie


def _mend(segment: Segment) -> None:
    """Each file is replaced whole, so that a crash in between leaves one or the other."""
    disk = segment.folder.disk
    disk.open(segment.path(INDEX), create=True).close()  # on the loop nothing is walked in vain
    fresh = Segment(segment.folder, segment.base_offset)
    fresh.index_interval = segment.index_interval
    fresh.start_empty_indexes()
    walk = _in_order(segment)
    while headers := list(islice(walk, NOTED_AT_ONCE)):
        fresh.note(headers, fresh.size)
    fresh.complete_times()
    write_small(disk, segment.path(INDEX), fresh.index.unsaved())
    write_small(disk, segment.path(TIME_INDEX), fresh.times.unsaved())
    segment.forget_indexes()


def _in_order(segment: Segment) -> Iterator[BatchHeader]:
    end: int = segment.base_offset
    for position, header in walk_headers(segment.file, segment.path(LOG), 0, segment.size):
        end = segment.follows(position, header, end)
        yield header
