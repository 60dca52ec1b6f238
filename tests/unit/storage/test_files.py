"""Small files are replaced whole; few files stay open."""

import errno

import pytest

from odradek.sim.doors.disk import SimulatedDisk
from odradek.storage.errors import LogDirOffline
from odradek.storage.files.dir_files import OpenFiles, delete_if_there, read_small, write_small
from odradek.storage.files.failures import Failures


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


def test_of_a_disk_that_is_given_up_nothing_is_kept() -> None:
    """A job that was under way may still open a file; with one open nobody unmounts the disk."""
    files, late = OpenFiles(SimulatedDisk()), Reader()
    files.forget_all()
    file = files.open("a", late, create=True)
    file.write([b"bytes"], 0)
    late.held.append(file)
    files.adopt(late)
    assert not late.held
    assert len(files) == 0


def test_a_failure_is_noted_without_what_the_call_had_open() -> None:
    """Its traceback has every file of that call, and the note stays until the disk is replaced."""
    failures = Failures()
    with pytest.raises(LogDirOffline), failures.touching("disk"):
        raise OSError(errno.EIO, "it is broken")
    ((_, error),) = failures.take()
    assert (error.errno, error.strerror, error.__traceback__) == (errno.EIO, "it is broken", None)
    assert failures.failed["disk"].__traceback__ is None


def test_a_missing_file_is_the_callers_question() -> None:
    """Some files may be missing: only who asks knows."""
    with pytest.raises(FileNotFoundError):
        read_small(SimulatedDisk(), "nothing")
