"""The real disk and the simulated one keep the same promises: each test runs on both."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.ports import Disk
from odradek.runtime.doors.disk import SystemDisk
from odradek.sim.doors.disk import SimulatedDisk


@pytest.fixture(params=["system", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    """An empty log dir."""
    return SystemDisk(str(tmp_path)) if request.param == "system" else SimulatedDisk()


def put(disk: Disk, path: str, data: bytes) -> None:
    """A file with these bytes, closed again."""
    file = disk.open(path, create=True)
    file.write([data], 0)
    file.close()


def take(disk: Disk, path: str) -> bytes:
    """All the bytes of a file."""
    file = disk.open(path)
    data = file.read(file.size() + 1, 0)
    file.close()
    return data


def refused(number: int, call: Callable[[], object]) -> None:
    """The call raises an OSError of this number."""
    with pytest.raises(OSError) as caught:
        call()
    assert errno.errorcode[caught.value.errno or 0] == errno.errorcode[number]


def test_chunks_are_written_one_behind_the_other(disk: Disk) -> None:
    """Any kind of buffer, empty ones among them, ends up in order at the position."""
    file = disk.open("log", create=True)
    assert file.write([b"ab", bytearray(b"cd"), b"", memoryview(b"xefx")[1:3]], 2) == 6
    assert file.write([], 0) == 0
    assert file.read(100, 0) == b"\0\0abcdef"
    assert file.size() == disk.size("log") == 8
    file.close()


def test_more_chunks_than_the_kernel_takes_at_once(disk: Disk) -> None:
    """The bound of one system call is not the caller's business."""
    file = disk.open("log", create=True)
    chunks = [str(number).encode() for number in range(3_000)]
    assert file.write(chunks, 1) == len(b"".join(chunks))
    assert file.read(1 << 20, 1) == b"".join(chunks)
    file.close()


def test_a_large_write_is_one_write(disk: Disk) -> None:
    """However the system takes it: some large chunks, and one that lies across any border."""
    file = disk.open("log", create=True)
    chunks = [bytes([number]) * size for number, size in enumerate((700_001, 3, 0, 1 << 21, 99))]
    assert file.write(chunks, 5) == len(b"".join(chunks))
    assert file.read(1 << 22, 5) == b"".join(chunks)
    file.close()


def test_a_read_ends_where_the_file_ends(disk: Disk) -> None:
    """Fewer bytes than asked for mean the end, and nothing else."""
    put(disk, "log", b"0123456789")
    file = disk.open("log")
    buffer = bytearray(b"........")
    assert file.read(4, 3) == b"3456"
    assert file.read(4, 8) == b"89"
    assert file.read(4, 10) == file.read(4, 99) == b""
    assert file.read_into(memoryview(buffer), 7) == 3
    assert buffer == b"789....."
    assert file.read_into(memoryview(buffer), 10) == 0
    file.close()


def test_truncation_cuts_and_fills(disk: Disk) -> None:
    """Growing gives zeros, and never again what was cut off."""
    file = disk.open("log", create=True)
    file.write([b"0123456789"], 0)
    file.truncate(4)
    file.truncate(6)
    assert file.read(10, 0) == b"0123\0\0"
    file.close()


def test_allocation_shows_nowhere(disk: Disk) -> None:
    """Reserved space is not size."""
    file = disk.open("log", create=True)
    file.write([b"ab"], 0)
    file.allocate(1 << 16)
    assert file.size() == 2
    assert file.read(10, 0) == b"ab"
    file.sync()
    file.close()


def test_writing_back_changes_nothing(disk: Disk) -> None:
    """Not even behind the end of the file."""
    file = disk.open("log", create=True)
    file.write([b"0123456789"], 0)
    file.write_back(0, 5)
    file.write_back(0, 1 << 20, wait=True)
    assert file.read(100, 0) == b"0123456789"
    assert file.size() == 10
    file.close()
    refused(errno.EBADF, lambda: file.write_back(0, 5))


def test_a_closed_file_is_closed(disk: Disk) -> None:
    """Closing twice is allowed, using it afterwards is not."""
    file = disk.open("log", create=True)
    file.close()
    file.close()
    refused(errno.EBADF, lambda: file.read(1, 0))
    refused(errno.EBADF, lambda: file.write([b"a"], 0))


def test_opening_needs_a_file(disk: Disk) -> None:
    """Missing, missing parent, a directory, a file as parent: four different errors."""
    disk.make_directory("orders-0")
    put(disk, "file", b"")
    refused(errno.ENOENT, lambda: disk.open("log"))
    refused(errno.ENOENT, lambda: disk.open("nowhere/log", create=True))
    refused(errno.EISDIR, lambda: disk.open("orders-0"))
    refused(errno.ENOENT, lambda: disk.size("log"))
    refused(errno.ENOENT, lambda: disk.modified("log"))
    assert not disk.exists("nowhere/log")
    assert not disk.exists("file/log")


def test_opening_again_keeps_what_is_there(disk: Disk) -> None:
    """`create` never empties a file."""
    put(disk, "log", b"kept")
    disk.open("log", create=True).close()
    assert take(disk, "log") == b"kept"


def test_names_are_sorted_and_told_apart(disk: Disk) -> None:
    """A directory lists what was put into it, in order, whatever it is."""
    for name in ("b", "a", "c"):
        put(disk, name, b"")
    disk.make_directory("orders-0/deep/er")
    disk.make_directory("orders-0")
    disk.make_directory("")
    assert disk.names("") == ["a", "b", "c", "orders-0"]
    assert disk.names("orders-0/deep") == ["er"]
    assert disk.is_directory("orders-0")
    assert disk.is_directory("")
    assert not disk.is_directory("a")
    assert disk.exists("a")
    refused(errno.ENOTDIR, lambda: disk.names("a"))
    refused(errno.ENOENT, lambda: disk.names("nowhere"))
    refused(errno.EEXIST, lambda: disk.make_directory("a"))
    refused(errno.ENOTDIR, lambda: disk.make_directory("a/below"))


def test_a_rename_replaces_a_file(disk: Disk) -> None:
    """The old name is gone, the new one has the new bytes; handles stay on theirs."""
    put(disk, "checkpoint", b"old")
    put(disk, "checkpoint.tmp", b"new")
    before = disk.open("checkpoint")
    disk.rename("checkpoint.tmp", "checkpoint")
    disk.sync_directory("")
    assert disk.names("") == ["checkpoint"]
    assert take(disk, "checkpoint") == b"new"
    assert before.read(10, 0) == b"old"
    before.close()
    refused(errno.ENOENT, lambda: disk.rename("checkpoint.tmp", "checkpoint"))
    disk.rename("checkpoint", "checkpoint")
    assert take(disk, "checkpoint") == b"new"


def test_a_rename_moves_a_directory(disk: Disk) -> None:
    """With all that is in it; onto an empty directory, but not onto a full one or a file."""
    disk.make_directory("orders-0")
    disk.make_directory("empty")
    disk.make_directory("full/er")
    put(disk, "orders-0/log", b"data")
    put(disk, "file", b"")
    refused(errno.ENOTEMPTY, lambda: disk.rename("orders-0", "full"))
    refused(errno.ENOTDIR, lambda: disk.rename("orders-0", "file"))
    refused(errno.EISDIR, lambda: disk.rename("file", "empty"))
    disk.rename("orders-0", "empty")
    disk.rename("empty", "full/orders-0.0123-delete")
    assert take(disk, "full/orders-0.0123-delete/log") == b"data"
    assert disk.names("") == ["file", "full"]


def test_removal(disk: Disk) -> None:
    """A file goes by `unlink`, a directory when it is empty; open bytes stay until closed."""
    disk.make_directory("orders-0")
    put(disk, "orders-0/log", b"data")
    file = disk.open("orders-0/log")
    refused(errno.ENOTEMPTY, lambda: disk.remove_directory("orders-0"))
    refused(errno.EISDIR, lambda: disk.unlink("orders-0"))
    refused(errno.ENOTDIR, lambda: disk.remove_directory("orders-0/log"))
    disk.unlink("orders-0/log")
    assert file.read(10, 0) == b"data"
    file.close()
    refused(errno.ENOENT, lambda: disk.unlink("orders-0/log"))
    disk.remove_directory("orders-0")
    disk.sync_directory("")
    assert disk.names("") == []
    refused(errno.ENOENT, lambda: disk.sync_directory("orders-0"))


def test_a_file_may_have_two_names(disk: Disk) -> None:
    """Both show the same bytes, and each stays when the other goes or is put in another's place."""
    for name in ("orders-0", "orders-1"):
        disk.make_directory(name)
    put(disk, "orders-0/topic", b"data")
    assert disk.link("orders-0/topic", "orders-1/topic")
    refused(errno.EEXIST, lambda: disk.link("orders-0/topic", "orders-1/topic"))
    refused(errno.ENOENT, lambda: disk.link("orders-0/none", "orders-1/none"))
    refused(errno.ENOENT, lambda: disk.link("orders-0/topic", "orders-2/topic"))
    put(disk, "orders-1/topic", b"DATA")
    assert take(disk, "orders-0/topic") == b"DATA"
    put(disk, "orders-1/new", b"other")
    disk.rename("orders-1/new", "orders-1/topic")
    assert take(disk, "orders-0/topic") == b"DATA"
    disk.unlink("orders-0/topic")
    assert take(disk, "orders-1/topic") == b"other"


def test_many_are_synced_together(disk: Disk) -> None:
    """Files and directories alike; where one is missing, that is an error."""
    names = [f"orders-{number}" for number in range(20)]
    for name in names:
        disk.make_directory(name)
        put(disk, f"{name}/log", b"data")
    files = [f"{name}/log" for name in names]
    disk.sync_all(files, names)
    disk.sync_all(files[:1], names[:1])
    disk.sync_all([], [])
    refused(errno.ENOENT, lambda: disk.sync_all([*files, "orders-20/log"], names))
    refused(errno.ENOENT, lambda: disk.sync_all(files, [*names, "orders-20"]))
    refused(errno.ENOENT, lambda: disk.sync_all([], ["orders-20"]))


def test_a_lock_is_held_by_one(disk: Disk) -> None:
    """The second taker is refused, also in the same process, until the first lets go."""
    lock = disk.lock(".lock")
    with pytest.raises(BlockingIOError):
        disk.lock(".lock")
    lock.release()
    lock.release()
    disk.lock(".lock").release()
    assert disk.names("") == [".lock"]


def test_there_is_room(disk: Disk) -> None:
    """A disk says how much space is left."""
    assert 0 < disk.free_bytes() <= disk.total_bytes()
    assert disk.name


def test_the_run_of_the_system_has_one_name(disk: Disk) -> None:
    """Two calls of one run say the same."""
    assert disk.boot() == disk.boot()


def test_a_path_stays_inside(disk: Disk) -> None:
    """A path that would leave the log dir is our own mistake."""
    with pytest.raises(AssertionError):
        disk.open("../outside", create=True)
