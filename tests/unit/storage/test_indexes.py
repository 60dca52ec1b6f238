"""The sparse indexes: what they find, in memory and in their files, and what they refuse."""

from collections.abc import Callable

import pytest

from odradek.ports import File
from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import CorruptFile
from odradek.storage.segments.offset_index import WRITE_ENTRIES, OffsetIndex
from odradek.storage.segments.time_index import TimeEntry, TimeIndex
from odradek.storage.segments.transaction_index import AbortedTransaction, decode, encode


def opener(disk: SimulatedDisk) -> Callable[[], File]:
    """Opens the one file of these tests."""
    return lambda: disk.open("index", create=True)


def offset_index(
    entries: int, *, saved: int, open_file: Callable[[], File] | None = None
) -> OffsetIndex:
    """An index with entries (10, 100), (20, 200), ...; some in its file, the rest in memory."""
    open_file = open_file or opener(SimulatedDisk())
    index = OffsetIndex("index", 0, open_file)
    for number in range(1, entries + 1):
        index.append(number * 10, number * 100)
        if number == saved:
            open_file().write([index.unsaved()], 0)
            index.was_saved(saved)
    return index


@pytest.mark.parametrize("saved", [0, 1, 2_900, 4_999, 5_000])
def test_an_offset_index_finds_the_entry_below(saved: int) -> None:
    """The same answers wherever the entries are: in memory, in the file, or in both."""
    index = offset_index(5_000, saved=saved)
    assert index.count == 5_000
    assert index.last() == (50_000, 500_000)
    assert index.floor(9) is None
    assert index.floor_position(99) is None
    for number in (1, 2, 2_047, 2_048, 2_049, 2_899, 2_900, 2_901, 4_096, 4_097, 5_000):
        assert index.floor(number * 10) == (number * 10, number * 100)
        assert index.floor(number * 10 + 9) == (number * 10, number * 100)
        assert index.floor_position(number * 100 + 99) == (number * 10, number * 100)
        assert index.above_position(number * 100 - 1) == (number * 10, number * 100)
    assert index.above_position(500_000) is None
    index.forget_page()
    assert index.floor(10) == (10, 100)


@pytest.mark.parametrize("saved", [1, 2_900, 5_000])
def test_an_offset_index_remembers_what_begins_before_its_first_entry(saved: int) -> None:
    """A reader at the beginning of a segment has the page read once, and not at each fetch."""
    opened: list[File] = []
    disk = SimulatedDisk()

    def open_file() -> File:
        opened.append(disk.open("index", create=True))
        return opened[-1]

    index = offset_index(5_000, saved=saved, open_file=open_file)
    opened.clear()
    for _ in range(3):
        assert index.floor(9) is None
        assert index.floor_position(99) is None
    assert len(opened) == 1


@pytest.mark.parametrize("saved", [0, 300, 2_600, 5_000])
@pytest.mark.parametrize("kept", [0, 1, 299, 300, 301, 2_048, 5_000])
def test_truncating_an_offset_index(saved: int, kept: int) -> None:
    """What begins at the cut or beyond it goes, from memory and from the file."""
    index = offset_index(5_000, saved=saved)
    assert index.truncate(kept * 10 + 1) == min(saved, kept)
    assert index.count == kept
    assert index.floor(99_999) == ((kept * 10, kept * 100) if kept else None)


def test_a_report_of_a_save_counts_once() -> None:
    """Two jobs may have written the same entries to the same place."""
    index = offset_index(10, saved=0)
    index.was_saved(6)
    index.was_saved(6)
    assert (index.saved, index.count) == (6, 10)
    assert index.write_is_due is (len(index.relatives) >= WRITE_ENTRIES)


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("0000000500000064 0000000500000065"),
        bytes.fromhex("0000000500000064 0000000600000064"),
        bytes.fromhex("0000000500000064"),
    ],
)
def test_a_lying_offset_index_is_refused(data: bytes) -> None:
    """Entries that do not rise, or a file shorter than it was, are never an answer."""
    open_file = opener(SimulatedDisk())
    open_file().write([data], 0)
    with pytest.raises(CorruptFile, match="index: corrupt at byte 8"):
        OffsetIndex("index", 2, open_file).floor(5)


def time_index(*, saved: int) -> TimeIndex:
    """An index of ten entries: time 1000 was reached at offset 10, and so on."""
    open_file = opener(SimulatedDisk())
    index = TimeIndex("index", 0, open_file)
    for number in range(1, 11):
        index.append(number * 1_000, number * 10)
        if number == saved:
            open_file().write([index.unsaved()], 0)
            index.was_saved(saved)
    return index


@pytest.mark.parametrize("saved", [0, 4, 10])
def test_a_time_index_says_before_what_nothing_is_so_new(saved: int) -> None:
    """The last entry older than a time: start looking behind its offset."""
    index = time_index(saved=saved)
    assert index.before(1_000) is None
    assert index.before(1_001) == TimeEntry(1_000, 10)
    assert index.before(99_999) == index.last() == TimeEntry(10_000, 100)
    index.append(9_000, 110)
    index.append(10_000, 110)
    assert index.count == 10
    assert index.truncate(51) == min(saved, 5)
    assert index.last() == TimeEntry(5_000, 50)


def test_a_lying_time_index_is_refused() -> None:
    """Times that do not rise cannot be searched."""
    open_file = opener(SimulatedDisk())
    open_file().write([bytes(7) + b"\x01" + bytes(4) + bytes(7) + b"\x01" + bytes(4)], 0)
    with pytest.raises(CorruptFile, match="do not rise"):
        TimeIndex("index", 2, open_file).before(5)


def test_aborted_transactions_round_trip() -> None:
    """34 bytes each, and the damaged ones are told from the whole."""
    entries = [AbortedTransaction(*map(int, row)) for row in ("1059", "7388")]  # type: ignore[arg-type]
    data = encode(entries)
    assert len(data) == 68
    assert decode(data, "x") == entries
    for wrong, at in ((data[:-1], 34), (b"\x00\x01" + data[2:], 0), (data[34:] + data[:34], 34)):
        with pytest.raises(CorruptFile) as refused:
            decode(wrong, "x")
        assert refused.value.position == at
