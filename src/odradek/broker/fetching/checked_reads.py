"""Bytes that are read from the disk before they go out: the disk's worker checks them on the way.

What is in the page cache goes out as it is; its readers check it. What is not is read by the
worker of its dir, so that the loop waits for no disk, and a batch that fails its checksum is found
before anybody is served it. The same is done for what one reader fetches a second time: it may have
found that it cannot be true.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.jobs import foreseen
from odradek.model.positions import Offset
from odradek.ports import FileRange
from odradek.storage.errors import CorruptFile
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt, corrupt_at
from odradek.storage.logs.rot import check_range

OnCorrupt = Callable[[PartitionLog, CorruptAt], None]


class ReadRange(NamedTuple):
    """Whole batches of one segment."""

    log: PartitionLog
    segment_base: Offset
    chunk: FileRange


class CheckedRead:
    """A job of the dir's worker. `on_done` is called however it went."""

    __slots__ = (
        "_chunk",
        "_corrupt",
        "_cuts",
        "_log",
        "_on_corrupt",
        "_on_done",
        "_seen",
        "_segment",
    )

    def __init__(self, read: ReadRange, on_corrupt: OnCorrupt, on_done: Callable[[], None]) -> None:
        self._log, self._chunk = read.log, read.chunk
        self._segment = segment = read.log.segment_of(read.segment_base)
        is_shared = segment is not read.log.active_segment and segment.is_at_rest  # as by a view
        self._seen = segment if is_shared else segment.copy()
        self._cuts = read.log.cuts
        self._on_corrupt = on_corrupt
        self._on_done = on_done
        self._corrupt: CorruptAt | None = None

    def run(self) -> None:
        """On the worker."""
        try:
            check_range(self._chunk, self._seen)
        except CorruptFile as error:
            self._corrupt = corrupt_at(self._seen, error.position)

    def done(self, error: Exception | None) -> None:
        """On the loop. An error of the disk is met again, and told, when the range is sent."""
        if error is not None:
            foreseen(error, self._log)
        found = self._log
        is_as_it_was = found.lent_to is None and found.cuts == self._cuts
        if self._corrupt is not None and is_as_it_was and self._segment in found.segments:
            self._on_corrupt(self._log, self._corrupt)
        self._on_done()
