"""Looking for what a reader wants where memory does not know the way: a job of the disk's worker.

The indexes of a log that rests are in their files, and a page of them that was left is read again;
its segments are to be opened. The loop does none of this. The job finds the range in a view of the
log, and checks it on the way if it is not in the page cache, or its reader asks for it again; then
the fetch looks again, and the log knows what was read for it.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.broker.fetching.checked_reads import OnCorrupt
from odradek.broker.jobs import foreseen
from odradek.model.errors import BrokerError
from odradek.model.positions import Offset
from odradek.ports import FileRange
from odradek.storage.errors import CorruptFile
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.reading import CorruptAt, ReadableLog, Slice, corrupt_at
from odradek.storage.logs.rot import check_range
from odradek.storage.logs.view import LogView
from odradek.storage.segments.transaction_index import AbortedTransaction


class Wanted(NamedTuple):
    """What a reader asks one log for."""

    offset: Offset
    end: Offset  # no batch from there on
    bytes_max: int
    at_least_one: bool
    names_aborted: bool  # transactions


class Part(NamedTuple):
    """What there is of it."""

    found: Slice
    aborted: list[AbortedTransaction]


def read_part(log: ReadableLog, wanted: Wanted) -> Part:
    """On the loop it may raise WouldBlock."""
    offset, end = wanted.offset, wanted.end
    found = log.read(offset, end, wanted.bytes_max, at_least_one=wanted.at_least_one)
    is_named = wanted.names_aborted and found.chunk is not None
    return Part(found, log.aborted_between(offset, end) if is_named else [])


class SoughtRead:
    """A job of the dir's worker. `on_done` is called however it went."""

    __slots__ = (
        "_corrupt",
        "_cuts",
        "_error",
        "_is_asked_again",
        "_on_corrupt",
        "_on_done",
        "_part",
        "_view",
        "_wanted",
        "log",
    )

    def __init__(self, log: PartitionLog, wanted: Wanted, *, is_asked_again: bool = False) -> None:
        """On the loop; `then` says who is told."""
        self.log = log
        self._is_asked_again = is_asked_again
        self._wanted = wanted
        self._view = LogView(log)
        self._cuts = log.cuts
        self._part: Part | None = None
        self._error: BrokerError | None = None
        self._corrupt: CorruptAt | None = None
        self._on_corrupt: OnCorrupt
        self._on_done: Callable[[], None]

    def then(self, on_corrupt: OnCorrupt, on_done: Callable[[], None]) -> "SoughtRead":
        """Whom the end is told."""
        self._on_corrupt, self._on_done = on_corrupt, on_done
        return self

    def run(self) -> None:
        """On the worker."""
        view = self._view
        self._part = part = read_part(view, self._wanted)
        chunk = part.found.chunk
        if chunk is not None and (
            self._is_asked_again or not chunk.file.is_cached(chunk.position, chunk.length)
        ):
            self._check(chunk, part.found.segment_base)

    def _check(self, chunk: FileRange, segment_base: Offset) -> None:
        segment = self._view.segment_of(segment_base)
        try:
            check_range(chunk, segment)
        except CorruptFile as error:
            self._corrupt, self._part = corrupt_at(segment, error.position), None

    def done(self, error: Exception | None) -> None:
        """On the loop: the log knows what was read."""
        if error is not None:
            met = foreseen(error, self.log)
            self._error = met if isinstance(met, BrokerError) else self.log.failed(met)
        elif self._is_of(self.log):
            self._adopt()
            if self._corrupt is not None:
                self._on_corrupt(self.log, self._corrupt)
        on_done = self._on_done
        del self._on_corrupt, self._on_done  # the fetch has this job, which must not have the fetch
        on_done()

    def _adopt(self) -> None:
        """Of the segment in which the search ended, and of the active one: others are shared."""
        view = self._view
        bases = {view.active_segment.base_offset}
        if self._part is not None:
            bases.add(self._part.found.segment_base)
        for base in sorted(bases):
            segment, seen = self.log.segment_of(base), view.segment_of(base)
            if segment.base_offset == seen.base_offset == base:
                segment.adopt(seen.known)

    def part_for(self, log: PartitionLog, wanted: Wanted) -> Part | None:
        """What was found, if it is what this reader may have now; the error that was met."""
        part = self._part
        if not self._is_of(log) or wanted.offset != self._wanted.offset:
            return None
        if self._error is not None:
            raise self._error
        if part is None or wanted.end < self._wanted.end:
            return None
        chunk = part.found.chunk
        if chunk is not None and chunk.length > wanted.bytes_max and not wanted.at_least_one:
            return Part(part.found._replace(chunk=None), [])
        return part

    def _is_of(self, log: PartitionLog) -> bool:
        """Whether it is about this log, and still true of it."""
        return log is self.log and log.cuts == self._cuts and log.lent_to is None
