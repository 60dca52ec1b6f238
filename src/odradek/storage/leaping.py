"""Walking over batches of which rot has harmed some: what lies behind them is still there.

A reader stops at a batch that is not as it was written, with an error of its own partition. Whoever
only counts, at a start or after a cut, must not stop: a directory is not given up for one bit.
"""

from collections.abc import Iterator

from odradek.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile
from odradek.storage.names import LOG
from odradek.storage.scan import walk_headers
from odradek.storage.segment import Segment


def walk_leaping(segment: Segment, start: int) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch from a position on, by its header; from one that lies on by the index."""
    path, reached = segment.path(LOG), start
    while True:
        try:
            for position, header in walk_headers(segment.file, path, reached, segment.size):
                reached = position
                yield position, header
        except CorruptFile:
            entry = segment.index.above_position(reached)
            if entry is not None:
                reached = entry[1]
                continue
        return
