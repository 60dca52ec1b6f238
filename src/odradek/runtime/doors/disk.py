"""The Disk door on the operating system's files.

Decides how a promise of the door becomes system calls: a write is whole or it raises, a lock is
seen by a JVM broker on the same directory too, a sync reaches the device. Knows nothing of logs.
Calls block; the caller decides on which thread they run. A disk that knows the thread of the loop
refuses there what the loop might wait for. A call that a signal interrupts is taken up again by
Python itself (PEP 475).
"""

# A path is a string on the door, and a `Path` for each call costs more than many of the calls.
# ruff: noqa: PTH102, PTH103, PTH105, PTH106, PTH108, PTH116, PTH208

import ctypes
import errno
import fcntl
import os
import stat
import struct
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Final

from odradek.model.units import Bytes, Timestamp
from odradek.ports import File, Lock, WouldBlock
from odradek.runtime.doors import page_cache
from odradek.runtime.doors.beside import Beside
from odradek.runtime.doors.file_systems import commits_in_order
from odradek.runtime.doors.worker import tick

Buffer = bytes | bytearray | memoryview
OnRead = Callable[[bytes, OSError | None], None]

SYNCING_THREADS: Final = 16
SYNCED_ALONE_MAX: Final = 3  # a thread costs more than it saves
VECTORS_MAX: Final = 1_000  # the kernel's IOV_MAX is 1024
AT_ONCE: Final = 512 << 10
"""On a virtual machine whose memory had been idle, 4 MB at once were written at 140 MB/s, and in
pieces of 512 KB at 470 MB/s. The cause is not proven; perhaps larger pages come from the host."""
MODE: Final = 0o644
NO_ATIME: Final[int] = getattr(os, "O_NOATIME", 0)  # Linux
NOT_OFFERED: Final = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
NO_MORE_NAMES: Final = NOT_OFFERED | {errno.EPERM, errno.EMLINK}
FALLOCATE_KEEP_SIZE: Final = 1
WRITE_BACK: Final = 2  # SYNC_FILE_RANGE_WRITE
WRITE_BACK_AND_WAIT: Final = 1 | WRITE_BACK | 4  # also for what was under way before
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
WHOLE_FILE: Final = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)

_libc = ctypes.CDLL(None, use_errno=True)


class SystemFile:
    """An open descriptor."""

    __slots__ = ("_beside", "_fd")

    def __init__(self, fd: int, beside: Beside) -> None:
        self._fd = fd
        self._beside = beside

    def read(self, length: int, position: int) -> bytes:
        """One `pread`; more only where the kernel gave less than was asked."""
        if self._beside.is_on_loop():
            found = page_cache.read_whole_now(self._fd, length, position)
            if found is None:
                raise WouldBlock(f"{length} bytes at {position}")
            return found
        tick()
        data = os.pread(self._fd, length, position)
        if len(data) == length or not data:
            return data
        parts = [data]
        missing = length - len(data)
        while missing and data:
            data = os.pread(self._fd, missing, position + length - missing)
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fills the buffer as far as the file goes."""
        filled = 0
        while filled < len(buffer):
            tick()
            count = os.preadv(self._fd, [buffer[filled:]], position + filled)
            if not count:
                break
            filled += count
        return filled

    def write(self, chunks: Sequence[Buffer], position: int) -> int:
        """One `pwritev` as a rule; more where there is much or the kernel took less."""
        total = sum(map(len, chunks))
        is_small = total <= AT_ONCE and len(chunks) <= VECTORS_MAX
        if is_small and os.pwritev(self._fd, chunks, position) == total:
            return total
        return self._write_in_pieces(chunks, position, total)

    def _write_in_pieces(self, chunks: Sequence[Buffer], position: int, total: int) -> int:
        """Writes from the start once more: after a short write that is allowed."""
        rest = [memoryview(chunk) for chunk in chunks if len(chunk)]
        written = first = 0
        while first < len(rest):
            tick()
            some = _up_to(AT_ONCE, rest[first : first + VECTORS_MAX])
            count = os.pwritev(self._fd, some, position + written)
            if not count:
                raise OSError(errno.EIO, "the kernel takes no more bytes")
            written += count
            while first < len(rest) and count >= len(rest[first]):
                count -= len(rest[first])
                first += 1
            if count:
                rest[first] = rest[first][count:]
        assert written == total, (written, total)
        return total

    def truncate(self, size: int) -> None:
        """Cuts the file, or fills it up with zeros."""
        os.ftruncate(self._fd, size)

    def allocate(self, size: int) -> None:
        """Reserves blocks behind the end where the file system offers that; else nothing."""
        fallocate = getattr(_libc, "fallocate", None)
        if fallocate is None:
            return
        length = ctypes.c_int64(size)
        if fallocate(self._fd, FALLOCATE_KEEP_SIZE, ctypes.c_int64(0), length):
            code = ctypes.get_errno()
            if code not in NOT_OFFERED:
                raise OSError(code, os.strerror(code))

    def sync(self) -> None:
        """The bytes, and the size that is needed to read them; not the time of the last change."""
        tick()
        _sync(self._fd)

    def write_back(self, position: int, length: int, *, wait: bool = False) -> None:
        """Only on Linux; where a file system does not offer it, its own pace must do."""
        tick()
        begin = getattr(_libc, "sync_file_range", None)
        if begin is None:
            return
        how = WRITE_BACK_AND_WAIT if wait else WRITE_BACK
        if begin(self._fd, ctypes.c_int64(position), ctypes.c_int64(length), how):
            code = ctypes.get_errno()
            if code not in NOT_OFFERED:
                raise OSError(code, os.strerror(code))

    def size(self) -> int:
        """Asks the kernel: others may have written."""
        return os.fstat(self._fd).st_size

    def is_cached(self, position: int, length: int) -> bool:
        """Where the kernel or the file system cannot tell, they are not."""
        return page_cache.holds(self._fd, position, length)

    def fileno(self) -> int | None:
        """For a stream, which reads what is in memory."""
        return self._fd

    def read_beside(self, length: int, position: int, on_read: OnRead) -> None:
        """Reads in the disk's own time; `on_read` is called there with the bytes or the error."""
        self._beside.do(partial(self._read_beside, length, position, on_read))

    def _read_beside(self, length: int, position: int, on_read: OnRead) -> None:
        try:
            data = self.read(length, position)
        except OSError as error:
            on_read(b"", error)
        else:
            on_read(data, None)

    def close(self) -> None:
        """Gives the descriptor back; a second call does nothing."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __del__(self) -> None:
        """The last reference is gone, perhaps on the loop, which waits for no disk."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._beside.close(fd)


class SystemLock:
    """A lock on an open file; the kernel drops it with the last copy of the descriptor."""

    def __init__(self, fd: int, beside: Beside) -> None:
        self._fd = fd
        self._beside = beside

    def release(self) -> None:
        """Closes the file, and with it the lock; a second call does nothing."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            if self._beside.is_on_loop():
                self._beside.close(fd)
            else:
                os.close(fd)


class SystemDisk:
    """One log dir: a directory of the operating system."""

    def __init__(self, directory: str, loop_thread: int | None = None) -> None:
        """With the thread of a loop, that thread is refused what it might wait for."""
        self.name = directory
        self._beside = Beside(directory, loop_thread)
        self._no_atime = NO_ATIME  # 0 once a file was not ours
        self._commits_in_order: bool | None = None  # once it was asked

    def open(self, path: str, *, create: bool = False) -> File:
        """For reading and writing; children do not inherit it.

        A read does not note its time: that would be a change of the file system, for which the
        reader of a cached page might wait. Only the owner of a file may ask for this.
        """
        self._may_wait(path)
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            fd = os.open(self._at(path), flags | self._no_atime, MODE)
        except PermissionError:
            if not self._no_atime:
                raise
            fd = os.open(self._at(path), flags, MODE)
            self._no_atime = 0
        return self._opened(fd, path)

    def _opened(self, fd: int, path: str) -> SystemFile:
        """A file of this descriptor."""
        del path
        return SystemFile(fd, self._beside)

    def close(self) -> None:
        """Ends the thread beside it, which a process that ends does not need."""
        self._beside.end()

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name; an error is an error, not a 'no'."""
        return self._status(path) is not None

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        status = self._status(path)
        return status is not None and stat.S_ISDIR(status.st_mode)

    def size(self, path: str) -> int:
        """Of a file, without opening it."""
        self._may_wait(path)
        return os.stat(self._at(path)).st_size

    def modified(self, path: str) -> Timestamp:
        """When it was last written, in whole milliseconds."""
        return Timestamp(os.stat(self._at(path)).st_mtime_ns // 1_000_000)

    def names(self, path: str) -> list[str]:
        """Sorted: the kernel's order differs from run to run."""
        return sorted(os.listdir(self._at(path)))

    def make_directory(self, path: str) -> None:
        """With those above it, which are there as a rule."""
        at = self._at(path)
        try:
            os.mkdir(at)
        except OSError:
            os.makedirs(at, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        """Atomic, also in place of an existing file."""
        tick()
        os.replace(self._at(old), self._at(new))

    def link(self, path: str, second: str) -> bool:
        """A hard link."""
        try:
            os.link(self._at(path), self._at(second))
        except OSError as error:
            if error.errno in NO_MORE_NAMES:
                return False
            raise
        return True

    def unlink(self, path: str) -> None:
        """Open files of this name stay readable until they are closed."""
        tick()
        os.unlink(self._at(path))

    def remove_directory(self, path: str) -> None:
        """Only an empty one."""
        os.rmdir(self._at(path))

    def sync_directory(self, path: str) -> None:
        """A directory is synced through a descriptor of its own."""
        tick()
        fd = os.open(self._at(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def sync_all(self, files: Sequence[str], directories: Sequence[str]) -> None:
        """By several threads: syncs that wait together share a commit of the file system.

        One that commits changes in their order has all directories in the commit of the last.
        """
        if self._commits_in_order is None:
            self._commits_in_order = commits_in_order(self.name)
        paths = [*files, *(directories[-1:] if self._commits_in_order else directories)]
        if len(paths) <= SYNCED_ALONE_MAX:
            for path in paths:
                self._sync_path(path)
            return
        left, errors = deque(paths), deque[OSError]()
        count = min(len(paths), SYNCING_THREADS)
        threads = [
            Thread(target=self._sync_left, args=(left, errors), name=f"sync {it}", daemon=True)
            for it in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _sync_left(self, left: deque[str], errors: deque[OSError]) -> None:
        """One of the threads; after an error nothing more is begun."""
        while not errors:
            try:
                path = left.popleft()
            except IndexError:
                return
            try:
                self._sync_path(path)
            except OSError as error:
                errors.append(error)

    def _sync_path(self, path: str) -> None:
        fd = os.open(self._at(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            if hasattr(fcntl, "F_FULLFSYNC"):
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            else:
                os.fsync(fd)
        finally:
            os.close(fd)

    def lock(self, path: str) -> Lock:
        """A lock of the open file, not of the process, where the system has it.

        It excludes a second opening in this same process, and the record locks of a JVM, which
        `flock` would not see.
        """
        fd = os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, MODE)
        try:
            _take_lock(fd)
        except OSError as error:
            os.close(fd)
            if error.errno in {errno.EACCES, errno.EAGAIN}:
                raise BlockingIOError(error.errno, "another process holds the lock", path) from None
            raise
        return SystemLock(fd, self._beside)

    def free_bytes(self) -> Bytes:
        """What an ordinary user may still take."""
        space = os.statvfs(self.name)
        return Bytes(space.f_bavail * space.f_frsize)

    def total_bytes(self) -> Bytes:
        """As `df` shows it."""
        space = os.statvfs(self.name)
        return Bytes(space.f_blocks * space.f_frsize)

    def boot(self) -> str:
        """As Linux names it, in containers too."""
        try:
            return Path(BOOT_ID).read_text("ascii").strip()
        except OSError:
            return ""

    def _may_wait(self, path: str) -> None:
        if self._beside.is_on_loop():
            raise WouldBlock(path)
        tick()

    def _at(self, path: str) -> str:
        assert ".." not in path.split("/"), path
        assert not path.startswith("/"), path
        return f"{self.name}/{path}" if path else self.name

    def _status(self, path: str) -> os.stat_result | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            return os.stat(self._at(path))
        return None


def _up_to(size: int, chunks: Sequence[memoryview]) -> list[memoryview]:
    """So many bytes of the first of them."""
    found: list[memoryview] = []
    for chunk in chunks:
        found.append(chunk[:size])
        size -= len(chunk)
        if size <= 0:
            break
    return found


def _sync(fd: int) -> None:
    """Through the device's own cache, which macOS does only when asked with a call of its own."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(fd)


def _take_lock(fd: int) -> None:
    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, WHOLE_FILE)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
