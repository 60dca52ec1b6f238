"""What only the real disk can show: the kernel's short answers, and locks that others see."""

import errno
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.ports import File
from odradek.runtime.doors.disk import SystemDisk


@pytest.fixture
def file(tmp_path: Path) -> File:
    """An open file in an empty log dir."""
    return SystemDisk(str(tmp_path)).open("log", create=True)


def test_a_short_write_is_completed(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that takes three bytes at a time still ends up with all of them, in order."""
    real = os.pwritev

    def three_bytes(fd: int, chunks: Sequence[bytes], position: int) -> int:
        return real(fd, [b"".join(chunks)[:3]], position)

    monkeypatch.setattr(os, "pwritev", three_bytes)
    assert file.write([b"ab", b"cdefg", b"", b"h", b"ij"], 1) == 10
    assert file.read(20, 0) == b"\0abcdefghij"


def test_a_write_that_stands_still_is_an_error(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that takes nothing must not keep the thread for ever."""
    monkeypatch.setattr(os, "pwritev", lambda *_: 0)
    with pytest.raises(OSError, match="no more bytes"):
        file.write([b"abc"], 0)


def test_a_short_read_is_completed(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bytes at a time are no reason to believe that the file ends there."""
    file.write([b"0123456789"], 0)
    pread, preadv = os.pread, os.preadv
    monkeypatch.setattr(os, "pread", lambda fd, count, at: pread(fd, min(count, 2), at))
    monkeypatch.setattr(os, "preadv", lambda fd, views, at: preadv(fd, [views[0][:2]], at))
    buffer = bytearray(5)
    assert file.read(7, 1) == b"1234567"
    assert file.read(7, 5) == b"56789"
    assert file.read_into(memoryview(buffer), 2) == 5
    assert buffer == b"23456"


def test_allocation_reserves_blocks(file: File) -> None:
    """Where the file system offers it, the space is taken and the size is not changed."""
    file.allocate(1 << 20)
    status = os.fstat(file.fileno() or -1)
    assert status.st_size == 0
    assert status.st_blocks * 512 in {0, 1 << 20}


@pytest.mark.parametrize("code", [errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_a_file_system_may_know_one_name_only(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or no more of them: that is an answer, and no failure of the disk."""
    disk = SystemDisk(str(tmp_path))
    disk.open("log", create=True).close()

    def link(_old: str, _new: str) -> None:
        raise OSError(code, "no more names")

    monkeypatch.setattr(os, "link", link)
    assert not disk.link("log", "second")


@pytest.mark.parametrize(("in_order", "synced"), [(True, 2), (False, 4)])
def test_a_journal_in_order_is_synced_once_for_all_directories(
    in_order: bool,  # noqa: FBT001 - a row of the table
    synced: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And each file: its bytes are not in the journal."""
    monkeypatch.setattr("odradek.runtime.doors.disk.commits_in_order", lambda _: in_order)
    disk = SystemDisk(str(tmp_path))
    names = ["orders-0", "orders-1", "orders-2"]
    for name in names:
        disk.make_directory(name)
    disk.open("orders-0/log", create=True).close()
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    disk.sync_all(["orders-0/log"], names)
    assert len(calls) == synced


def test_another_process_sees_the_lock(tmp_path: Path) -> None:
    """A record lock, as a JVM takes it, is refused while we hold ours, and given afterwards."""
    attempt = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    )

    def other_process() -> int:
        command = [sys.executable, "-c", attempt, str(tmp_path / ".lock")]
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode

    lock = SystemDisk(str(tmp_path)).lock(".lock")
    assert other_process() == 1
    lock.release()
    assert other_process() == 0


def test_the_time_of_the_last_write_is_in_milliseconds(tmp_path: Path) -> None:
    """The moment that the file system noted, without its fractions."""
    disk = SystemDisk(str(tmp_path))
    disk.open("log", create=True).close()
    os.utime(tmp_path / "log", ns=(0, 1_700_000_000_123_999_999))
    assert disk.modified("log") == 1_700_000_000_123


def test_a_missing_log_dir_says_so(tmp_path: Path) -> None:
    """A directory that is not mounted is an error of its own, not an empty log dir."""
    disk = SystemDisk(str(tmp_path / "not-mounted"))
    assert not disk.exists("")
    for call in (disk.free_bytes, lambda: disk.names(""), lambda: disk.lock(".lock")):
        with pytest.raises(OSError, match="not-mounted") as caught:
            call()
        assert caught.value.errno == errno.ENOENT


def test_a_file_that_nobody_holds_closes_itself(tmp_path: Path) -> None:
    """Storage forgets files while a range of one may be on its way: the last holder closes it."""
    file = SystemDisk(str(tmp_path)).open("log", create=True)
    fd = file.fileno()
    assert fd is not None
    os.fstat(fd)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
