"""How much room the volume of a log dir has, whatever uses it, and whether it lets us write there.

A file system with quotas says how much is free, and not how much of that is for this process. What
it refuses is known by trying alone.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from odradek.model.units import Bytes
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import DiskFull
from odradek.storage.files.dir_files import delete_if_there
from odradek.storage.files.names import ROOM

TRIED: Final = 1 << 16
"""Bytes that are written where a file system cannot reserve any."""


class Room(NamedTuple):
    """When it was looked at."""

    free: Bytes
    total: Bytes


def measure(log_dir: LogDir) -> Room:
    """As the disk says; the call may block."""
    with log_dir.failures.touching(log_dir.name):
        return Room(log_dir.disk.free_bytes(), log_dir.disk.total_bytes())


def takes(log_dir: LogDir, size: int) -> bool:
    """Whether so many bytes can be written there: they are reserved for a moment, and some written.

    The call may block.
    """
    with log_dir.failures.touching(log_dir.name):
        delete_if_there(log_dir.disk, ROOM)  # of a life that ended just then
        try:
            with suppress(DiskFull), log_dir.failures.touching(log_dir.name):
                file = log_dir.disk.open(ROOM, create=True)
                try:
                    file.allocate(size)
                    file.write([bytes(min(size, TRIED))], 0)
                finally:
                    file.close()
                return True
        finally:
            delete_if_there(log_dir.disk, ROOM)
    return False
