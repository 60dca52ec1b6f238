"""Small files are replaced whole; few files stay open."""

import pytest

from odradek.sim.disk import SimulatedDisk
from odradek.storage.files.dir_files import OpenFiles, delete_if_there, read_small, write_small


class Reader:
    """Keeps a file as a segment does."""

    def __init__(self) -> None:
        self.held: list[object] = []

    def forget_file(self) -> None:
        """Drops it."""
        self.held.clear()


def test_a_small_file_is_replaced() -> None:
    """The new bytes, not a mixture, and nothing temporary stays behind."""
    disk = SimulatedDisk()
    disk.make_directory("orders-0")
    write_small(disk, "orders-0/epochs", b"a long first text")
    write_small(disk, "orders-0/epochs", b"short")
    assert read_small(disk, "orders-0/epochs") == b"short"
    assert disk.names("orders-0") == ["epochs"]
    assert delete_if_there(disk, "orders-0/epochs")
    assert not delete_if_there(disk, "orders-0/epochs")


def test_the_file_touched_longest_ago_is_forgotten() -> None:
    """However many segments are read, a bounded number of files is open."""
    files = OpenFiles(SimulatedDisk(), count_max=2)
    readers = [Reader() for _ in range(3)]
    for number, reader in enumerate(readers):
        reader.held.append(files.open(str(number), reader, create=True))
        files.touch(readers[0])
    assert [bool(reader.held) for reader in readers] == [True, False, True]
    assert len(files) == 2
    files.forget(readers[0])
    assert not readers[0].held
    files.forget_all()
    assert len(files) == 0


def test_a_forgotten_file_can_still_be_read() -> None:
    """A range that is on its way out keeps its file open."""
    files = OpenFiles(SimulatedDisk(), count_max=1)
    first, second = Reader(), Reader()
    held = files.open("a", first, create=True)
    first.held.append(held)
    held.write([b"bytes"], 0)
    second.held.append(files.open("b", second, create=True))
    assert not first.held
    assert held.read(5, 0) == b"bytes"


def test_a_missing_file_is_the_callers_question() -> None:
    """Some files may be missing: only who asks knows."""
    with pytest.raises(FileNotFoundError):
        read_small(SimulatedDisk(), "nothing")
