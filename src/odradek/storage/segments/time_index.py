"""The sparse index of one segment by time: when the greatest timestamp so far was reached.

Kafka's `.timeindex`: twelve bytes an entry, a timestamp and the last offset, relative to the
segment's base, of the batch that brought it. Both rise strictly, so the first entry at or above a
time names an offset before which nothing so new was written.

Look-ups by time are rare: memory holds only what is not in the file yet.
"""

from collections.abc import Callable
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

from odradek.ports import File
from odradek.storage.errors import LyingIndex

_ENTRY: Final = Struct(">qI")
ENTRY_BYTES: Final = _ENTRY.size


class TimeEntry(NamedTuple):
    """All batches up to the one that ends at this relative offset are no newer than this."""

    timestamp: int
    relative: int


class TimeIndex:
    """When what was written, as far as the greatest timestamp goes."""

    __slots__ = ("_last", "_open", "path", "saved", "tail")

    def __init__(self, path: str, saved: int, open_file: Callable[[], File]) -> None:
        self.path = path
        self.saved = saved  # entries in the file
        self.tail: list[TimeEntry] = []  # those behind them
        self._open = open_file
        self._last: TimeEntry | None = None  # of those in the file, once it was read

    def copy(self) -> "TimeIndex":
        """It as it is now, for another thread."""
        same = TimeIndex(self.path, self.saved, self._open)
        same.tail, same._last = self.tail.copy(), self._last
        return same

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self.saved + len(self.tail)

    @property
    def knows_last(self) -> bool:
        """Whether the newest entry is at hand: an append needs it, a look-up does not read it."""
        return bool(self.tail) or self._last is not None or not self.saved

    def adopt_last(self, seen: "TimeIndex") -> None:
        """What a copy has read, of as many entries."""
        if self._last is None and self.saved == seen.saved:
            self._last = seen._last  # noqa: SLF001 - one of its own

    def last(self) -> TimeEntry | None:
        """The newest entry: the greatest timestamp that the index knows."""
        if self.tail:
            return self.tail[-1]
        if self._last is None and self.saved:
            data = self._open().read(ENTRY_BYTES, (self.saved - 1) * ENTRY_BYTES)
            self._last = decode(data, self.path)[-1]
        return self._last

    def append(self, timestamp: int, relative: int) -> None:
        """Adds an entry, unless nothing newer has been written since the last one."""
        last = self.tail[-1] if self.tail else self.last()
        if last is None or (timestamp > last[0] and relative > last[1]):
            self.tail.append(TimeEntry(timestamp, relative))

    def before(self, timestamp: int) -> TimeEntry | None:
        """The last entry that is older than this: nothing up to its offset is as new."""
        older = None
        for entry in (*self._saved_entries(), *self.tail):
            if entry.timestamp >= timestamp:
                break
            older = entry
        return older

    def open_with(self, open_file: Callable[[], File]) -> None:
        """From now on the file is had in another way."""
        self._open = open_file

    def unsaved(self) -> bytes:
        """The entries that are not in the file, as they belong there."""
        return b"".join(_ENTRY.pack(*entry) for entry in self.tail)

    def was_saved(self, count: int) -> None:
        """The file holds so many entries now; a second report of the same changes nothing."""
        fresh = count - self.saved
        if fresh > 0:
            self._last = self.tail[fresh - 1]
            self.saved = count
            del self.tail[:fresh]

    def truncate(self, relative: int) -> int:
        """Drops the entries at or beyond this relative offset; how many are left in the file."""
        self.tail = [entry for entry in self.tail if entry.relative < relative]
        kept = [entry for entry in self._saved_entries() if entry.relative < relative]
        self.saved = len(kept)
        self._last = kept[-1] if kept else None
        return self.saved

    def _saved_entries(self) -> list[TimeEntry]:
        if not self.saved:
            return []
        return decode(self._open().read(self.saved * ENTRY_BYTES, 0), self.path)


def decode(data: bytes, path: str) -> list[TimeEntry]:
    """The entries of a file; LyingIndex unless there are some, and both columns rise."""
    if not data or len(data) % ENTRY_BYTES:
        raise LyingIndex(path, len(data) - len(data) % ENTRY_BYTES, "an entry is cut off")
    entries = [TimeEntry(*fields) for fields in _ENTRY.iter_unpack(data)]
    for number, (left, right) in enumerate(pairwise(entries), 1):
        if left.timestamp >= right.timestamp or left.relative >= right.relative:
            raise LyingIndex(path, number * ENTRY_BYTES, "its entries do not rise")
    return entries
