"""Whether the page cache holds a range, and reading it only if it does."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, get_ident

import pytest

from odradek.ports import WouldBlock
from odradek.runtime.doors import page_cache
from odradek.runtime.doors.beside import Beside
from odradek.runtime.doors.disk import SystemDisk, SystemFile

MEGABYTE = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux says it in two ways")


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    """Four megabytes that were written back and put out of memory, but for the second."""
    path = tmp_path / "log"
    path.write_bytes(bytes(4 * MEGABYTE))
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # nothing is read ahead
    if page_cache.holds(fd, 0, MEGABYTE):
        pytest.skip("this file system lives in memory")
    os.pread(fd, MEGABYTE, MEGABYTE)
    yield fd
    os.close(fd)


def test_a_range_is_held_if_all_of_it_is(fd: int) -> None:
    """A hole at either end, or in the middle, is one."""
    assert page_cache.holds(fd, MEGABYTE, MEGABYTE)
    assert page_cache.holds(fd, MEGABYTE + 5_000, 3)
    assert not page_cache.holds(fd, MEGABYTE - 1, 2)
    assert not page_cache.holds(fd, MEGABYTE, MEGABYTE + 1)
    os.pread(fd, 1, 3 * MEGABYTE)
    assert not page_cache.holds(fd, MEGABYTE, 2 * MEGABYTE + 1)


def test_it_is_found_out_by_reading_where_nobody_counts(
    fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older kernel, or a sandbox that lets no new call through."""
    monkeypatch.setattr(page_cache, "_has_cachestat", False)
    assert page_cache.holds(fd, MEGABYTE, MEGABYTE)
    assert not page_cache.holds(fd, MEGABYTE, MEGABYTE + 1)


def test_the_loop_is_told_and_does_not_wait(fd: int, tmp_path: Path) -> None:
    """Neither for what is not in memory, nor for a file that is to be opened or measured."""
    disk = SystemDisk(str(tmp_path), loop_thread=get_ident())
    file = SystemFile(os.dup(fd), Beside("log", get_ident()))
    for call in (lambda: disk.open("log"), lambda: disk.size("log"), lambda: file.read(1, 0)):
        with pytest.raises(WouldBlock):
            call()
    assert file.read(MEGABYTE, MEGABYTE) == bytes(MEGABYTE)


def test_the_last_holder_of_a_file_does_not_close_it_on_the_loop(fd: int) -> None:
    """Whoever lets go of it goes on; the thread beside the disk closes it."""
    beside, closed = Beside("log", get_ident()), Event()
    file = SystemFile(os.dup(fd), beside)
    number = file.fileno()
    del file
    beside.do(closed.set)
    assert closed.wait(10)
    assert number is not None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_range_of_a_file_is_read_as_far_as_it_is_in_memory(fd: int) -> None:
    """And at the end of the file there is nothing."""
    assert page_cache.read_whole_now(fd, 2 * MEGABYTE, 0) is None
    assert page_cache.read_whole_now(fd, MEGABYTE, MEGABYTE) == bytes(MEGABYTE)
    os.pread(fd, MEGABYTE, 3 * MEGABYTE)
    assert page_cache.read_whole_now(fd, MEGABYTE, 4 * MEGABYTE - 10) == bytes(10)
