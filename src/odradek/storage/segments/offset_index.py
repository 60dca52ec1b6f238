"""The sparse index of one segment: from an offset to where in the file to start looking.

Kafka's `.index`: eight bytes an entry, the last offset of a batch, relative to the segment's base,
and the position at which that batch starts. Both rise strictly.

Memory holds the newest entries, those that are not in the file yet, and one page of the older
ones: the index of a full segment has 2 MiB, and a broker has thousands of segments. Many
entries are written at once, so that one costs no system call. It need not be durable: what lies
beyond the recovery point is rebuilt after a crash.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise
from operator import lt
from typing import Final, NamedTuple

from odradek.ports import File
from odradek.storage.errors import LyingIndex

ENTRY_BYTES: Final = 8
WRITE_ENTRIES: Final = 512  # 4 KiB of index, 2 MiB of log at the default interval
PAGE_ENTRIES: Final = 2_048  # 16 KiB; to open the file costs more than to read so much of it
RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
LITTLE: Final = array("H", [1]).tobytes()[0] == 1
assert array("I").itemsize == 4, "entries are made of 32-bit numbers"


class Page(NamedTuple):
    """A run of entries that are in the file."""

    first: int
    relatives: "array[int]"
    positions: "array[int]"

    def holds(self, key: int, column: int, saved: int) -> bool:
        """Whether a key in this column belongs behind one of its entries, and no later page's.

        The first page also has the keys before all entries: they belong behind none.
        """
        keys = (self.relatives, self.positions)[column]
        return (not self.first or keys[0] <= key) and (
            key <= keys[-1] or self.first + len(keys) == saved
        )


class OffsetIndex:
    """Where batches lie. Relative offsets only: the segment knows its base."""

    __slots__ = ("_open", "_page", "path", "positions", "relatives", "saved")

    def __init__(self, path: str, saved: int, open_file: Callable[[], File]) -> None:
        self.path = path
        self.saved = saved  # entries in the file
        self.relatives = array("I")  # those behind them, in memory only
        self.positions = array("I")
        self._open = open_file
        self._page: Page | None = None

    def copy(self) -> "OffsetIndex":
        """It as it is now, for another thread."""
        same = OffsetIndex(self.path, self.saved, self._open)
        same.relatives, same.positions = self.relatives[:], self.positions[:]
        same._page = self._page
        return same

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self.saved + len(self.relatives)

    @property
    def write_is_due(self) -> bool:
        """Whether enough entries wait to be worth a write."""
        return len(self.relatives) >= WRITE_ENTRIES

    def append(self, relative: int, position: int) -> None:
        """Adds an entry behind all others."""
        assert 0 <= relative <= RELATIVE_OFFSET_MAX, relative
        self.relatives.append(relative)
        self.positions.append(position)

    def last(self) -> tuple[int, int] | None:
        """The newest entry: relative offset and position."""
        if self.relatives:
            return self.relatives[-1], self.positions[-1]
        if not self.saved:
            return None
        page = self._load((self.saved - 1) // PAGE_ENTRIES)
        _check_rising(page.relatives, page.positions, self.path, page.first)
        return page.relatives[-1], page.positions[-1]

    def floor(self, relative: int) -> tuple[int, int] | None:
        """The last entry at or below a relative offset: start there; at 0 where there is none."""
        if self.relatives and self.relatives[0] <= relative:
            at = bisect_right(self.relatives, relative) - 1
            return self.relatives[at], self.positions[at]
        page = self._page_holding(relative, column=0)
        at = bisect_right(page.relatives, relative) - 1 if page else -1
        return self._entry(page, at) if page and at >= 0 else None

    def floor_position(self, position: int) -> tuple[int, int] | None:
        """The last entry at or below a position in the segment; None where there is none."""
        if self.positions and self.positions[0] <= position:
            at = bisect_right(self.positions, position) - 1
            return self.relatives[at], self.positions[at]
        page = self._page_holding(position, column=1)
        at = bisect_right(page.positions, position) - 1 if page else -1
        return self._entry(page, at) if page and at >= 0 else None

    def above_position(self, position: int) -> tuple[int, int] | None:
        """The first entry beyond a position in the segment; None where there is none."""
        for number in range(-(-self.saved // PAGE_ENTRIES)):
            page = self._load(number)
            if page.positions[-1] > position:
                return self._entry(page, bisect_right(page.positions, position))
        at = bisect_right(self.positions, position)
        return (self.relatives[at], self.positions[at]) if at < len(self.positions) else None

    def _entry(self, page: Page, at: int) -> tuple[int, int]:
        """An entry of a page, which its neighbours must not contradict.

        All entries of a page are not looked at: that costs a third of a read of a megabyte. What is
        not beside this one cannot make it wrong, for the reader looks at the batch that it names.
        """
        relatives, positions = page.relatives, page.positions
        relative, position = relatives[at], positions[at]
        after = at + 1
        if after < len(relatives) and (
            relatives[after] <= relative or positions[after] <= position
        ):
            raise self._falls(page, after)
        if at and (relatives[at - 1] >= relative or positions[at - 1] >= position):
            raise self._falls(page, at)
        return relative, position

    def _falls(self, page: Page, at: int) -> LyingIndex:
        return LyingIndex(self.path, (page.first + at) * ENTRY_BYTES, "its entries do not rise")

    def open_with(self, open_file: Callable[[], File]) -> None:
        """From now on the file is had in another way."""
        self._open = open_file

    def unsaved(self) -> bytes:
        """The entries that are not in the file, as they belong there."""
        return _encode(self.relatives, self.positions)

    def was_saved(self, count: int) -> None:
        """The file holds so many entries now; a second report of the same changes nothing."""
        fresh = count - self.saved
        if fresh > 0:
            self.saved = count
            del self.relatives[:fresh]
            del self.positions[:fresh]
            self._page = None

    def truncate(self, relative: int) -> int:
        """Drops the entries at or beyond this relative offset; how many are left in the file."""
        keep = bisect_left(self.relatives, relative)
        del self.relatives[keep:]
        del self.positions[keep:]
        if not keep:
            page = self._page_holding(relative, column=0)
            if page is not None:
                self.saved = page.first + bisect_left(page.relatives, relative)
        self._page = None
        return self.saved

    @property
    def page(self) -> Page | None:
        """The one that was read last."""
        return self._page

    def adopt_page(self, page: Page | None, saved: int) -> None:
        """What a copy has read, of so many entries."""
        if self._page is None and self.saved == saved:
            self._page = page

    def forget_page(self) -> None:
        """Gives back the memory of what is in the file."""
        self._page = None

    def _page_holding(self, key: int, column: int) -> Page | None:
        """The page of the file whose entries a key belongs behind; None if the file is empty."""
        if not self.saved:
            return None
        page = self._page
        if page is not None and page.holds(key, column, self.saved):
            return page
        if page is not None and (page.relatives, page.positions)[column][-1] < key:
            page = self._load(page.first // PAGE_ENTRIES + 1)  # where a reader comes next
            if page.holds(key, column, self.saved):
                return page
        file = self._open()
        low, high = 0, (self.saved - 1) // PAGE_ENTRIES
        while low < high:
            middle = (low + high + 1) // 2
            entry = file.read(ENTRY_BYTES, middle * PAGE_ENTRIES * ENTRY_BYTES)
            if int.from_bytes(entry[column * 4 : column * 4 + 4], "big") <= key:
                low = middle
            else:
                high = middle - 1
        return self._load(low, file)

    def _load(self, number: int, file: File | None = None) -> Page:
        """A page of the file, which the search for it may have opened already."""
        first = number * PAGE_ENTRIES
        if self._page is not None and self._page.first == first:
            return self._page
        count = min(PAGE_ENTRIES, self.saved - first)
        data = (file or self._open()).read(count * ENTRY_BYTES, first * ENTRY_BYTES)
        if len(data) < count * ENTRY_BYTES:
            raise LyingIndex(self.path, first * ENTRY_BYTES + len(data), "the file ends early")
        page = self._page = Page(first, *_columns(data))
        return page


def decode(data: bytes, path: str) -> tuple["array[int]", "array[int]"]:
    """Relative offsets and positions of a whole file; LyingIndex unless both rise."""
    relatives, positions = _columns(data)
    _check_rising(relatives, positions, path, 0)
    return relatives, positions


def _check_rising(relatives: "array[int]", positions: "array[int]", path: str, first: int) -> None:
    for column in (relatives.tolist(), positions.tolist()):
        if not all(map(lt, column, column[1:])):
            at = next(i for i, (left, right) in enumerate(pairwise(column), 1) if left >= right)
            raise LyingIndex(path, (first + at) * ENTRY_BYTES, "its entries do not rise")


def _columns(data: bytes) -> tuple["array[int]", "array[int]"]:
    numbers = array("I")
    numbers.frombytes(data[: len(data) // ENTRY_BYTES * ENTRY_BYTES])
    if LITTLE:
        numbers.byteswap()
    return numbers[0::2], numbers[1::2]


def _encode(relatives: "array[int]", positions: "array[int]") -> bytes:
    numbers = array("I", bytes(ENTRY_BYTES * len(relatives)))
    numbers[0::2] = relatives
    numbers[1::2] = positions
    if LITTLE:
        numbers.byteswap()
    return numbers.tobytes()
