"""Whether the page cache holds a range of a file, and reading it only if it does.

Linux says so in two ways. `cachestat` (6.5) counts the pages of a range in a microsecond, whatever
its size; those that are still on their way from the device count, too. A read with RWF_NOWAIT takes
what is whole, and is the only one that never waits. Where a system or a file system offers neither,
nothing is known to be in memory.
"""

import ctypes
import errno
import os
import sys
from typing import Final

from odradek.model.units import KIB

RWF_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)  # Linux
CACHESTAT: Final = 451  # the number of the call, the same on every processor that we know
PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")
SCRATCH: Final = bytearray(256 * KIB)
"""For bytes that are read only to see whether they are in memory."""

# With the lock of the interpreter held: the call only walks through memory, and to let go of the
# lock for a microsecond can cost a turn of another thread.
_libc = ctypes.PyDLL(None, use_errno=True)
_has_cachestat = sys.platform == "linux"


class _Range(ctypes.Structure):
    _fields_ = (("off", ctypes.c_uint64), ("len", ctypes.c_uint64))


class _Counts(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cache", "dirty", "writeback", "evicted", "recent")
    )


def holds(fd: int, position: int, length: int) -> bool:
    """Whether all pages of the range are there, or on their way."""
    if length <= 0:
        return True
    count = _cached_pages(fd, position, length)
    if count is not None:
        pages = (position + length - 1) // PAGE_BYTES - position // PAGE_BYTES + 1
        return count >= pages
    return _reads_through(fd, position, length)


def _cached_pages(fd: int, position: int, length: int) -> int | None:
    """None: the system does not say, or not of this file."""
    global _has_cachestat  # noqa: PLW0603 - it is asked once whether there is such a call
    if not _has_cachestat:
        return None
    counts = _Counts()
    wanted = _Range(position, length)
    if _libc.syscall(CACHESTAT, fd, ctypes.byref(wanted), ctypes.byref(counts), 0) == 0:
        return int(counts.cache)
    if ctypes.get_errno() in {errno.ENOSYS, errno.EPERM}:
        _has_cachestat = False  # an older kernel, or a sandbox that does not let it through
    return None


def _reads_through(fd: int, position: int, length: int) -> bool:
    """Reads it all, a scratch buffer's worth at a time."""
    end = position + length
    while position < end:
        count = read_now(fd, memoryview(SCRATCH)[: end - position], position)
        if not count:
            return count == 0
        position += count
    return True


def read_now(fd: int, room: memoryview, position: int) -> int | None:
    """As much as is in memory, 0 at the end of the file; None: the device would be asked."""
    if RWF_NOWAIT is None:
        return None
    try:
        return os.preadv(fd, [room], position, RWF_NOWAIT)
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
            return None
        raise


def read_whole_now(fd: int, length: int, position: int) -> bytes | None:
    """Up to the end of the file; None: the device would be asked for some of it."""
    buffer = bytearray(length)
    room, filled = memoryview(buffer), 0
    while filled < length:
        count = read_now(fd, room[filled:], position + filled)
        if count is None:
            return None
        if not count:
            break
        filled += count
    return bytes(room[:filled])
