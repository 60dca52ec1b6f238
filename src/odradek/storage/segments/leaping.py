"""Walking over batches of which rot has harmed some: what lies behind them is still there.

A reader stops at a batch that is not as it was written, with an error of its own partition. One
that only counts, at a start or after a cut, must not stop: a directory is not given up for one bit.
"""

from collections.abc import Iterator

from odradek.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile, LyingIndex
from odradek.storage.files.names import LOG
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Segment


def walk_leaping(segment: Segment, offset: int) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch from about an offset on, by its header; from one that lies on by the index."""
    path, reached = segment.path(LOG), _near(segment, offset)
    while True:
        try:
            for position, header in walk_headers(segment.file, path, reached, segment.size):
                reached = position
                yield position, header
        except CorruptFile:
            behind = _behind(segment, reached)
            if behind is not None:
                reached = behind
                continue
        return


def _near(segment: Segment, offset: int) -> int:
    """The position of a batch at or before an offset."""
    try:
        entry = segment.index.floor(max(offset - segment.base_offset, 0))
    except LyingIndex:
        return 0
    return entry[1] if entry else 0


def _behind(segment: Segment, position: int) -> int | None:
    """The position of the next batch that the index knows."""
    try:
        entry = segment.index.above_position(position)
    except LyingIndex:
        return None
    return entry[1] if entry else None
