"""Files of one log dir: how they are replaced whole, and how few of them stay open.

A small file is never changed in place: its successor is written beside it, made durable, and put
in its place by a rename, so a reader after a crash sees the old one or the new one.

Segments are opened when they are first touched and forgotten when others were touched more
recently. Forgetting drops our reference only: a file closes itself when the last range of it has
been sent. A file is forgotten here before it is deleted or renamed.
"""

from collections import OrderedDict
from contextlib import suppress
from typing import Final, Protocol

from odradek.ports import Disk, File
from odradek.storage.errors import CorruptFile

OPEN_FILES_MAX: Final = 512
SMALL_FILE_BYTES_MAX: Final = 256 << 20  # a checkpoint of a million partitions is 100 MB at most
TEMPORARY: Final = ".tmp"


class Holder(Protocol):
    """Who keeps an open file while the cache lets it."""

    def forget_file(self) -> None:
        """Drops the reference to the file."""
        ...


class OpenFiles:
    """The files of one disk that are open now, the least recently opened first.

    The loop forgets and the disk's thread opens through the same cache. Each step below is one
    operation of the dictionary, so neither sees it half changed; the worst that a race does is
    to open a file twice, and to close one of the two when it is let go of.
    """

    def __init__(self, disk: Disk, count_max: int = OPEN_FILES_MAX) -> None:
        assert count_max > 0, count_max
        self.disk = disk
        self.is_given_up = False
        self._count_max = count_max
        self._holders: OrderedDict[Holder, None] = OrderedDict()

    def __len__(self) -> int:
        """How many holders have an open file."""
        return len(self._holders)

    def open(self, path: str, holder: Holder, *, create: bool = False) -> File:
        """Opens it on behalf of the holder."""
        file = self.disk.open(path, create=create)
        self.adopt(holder)
        return file

    def adopt(self, holder: Holder) -> None:
        """The holder has an open file, and makes room by forgetting the oldest.

        Nothing is kept of a disk that is given up, though a job may still have been under way.
        """
        if self.is_given_up:
            holder.forget_file()
            return
        self._holders[holder] = None
        while len(self._holders) > self._count_max:
            oldest, _ = self._holders.popitem(last=False)
            oldest.forget_file()

    def touch(self, holder: Holder) -> None:
        """Makes it the last to be forgotten."""
        with suppress(KeyError):
            self._holders.move_to_end(holder)

    def forget(self, holder: Holder) -> None:
        """Drops the holder's file now: it is about to be deleted, renamed, or left alone."""
        self._holders.pop(holder, None)
        holder.forget_file()

    def forget_all(self) -> None:
        """Drops every file, and keeps none from now on: the disk is given up."""
        self.is_given_up = True
        while self._holders:
            oldest, _ = self._holders.popitem(last=False)
            oldest.forget_file()


def read_small(disk: Disk, path: str) -> bytes:
    """The whole of a small file; FileNotFoundError where there is none."""
    file = disk.open(path)
    try:
        size = file.size()
        if size > SMALL_FILE_BYTES_MAX:
            raise CorruptFile(path, 0, f"{size} bytes are more than such a file can have")
        return file.read(size, 0)
    finally:
        file.close()


def write_small(disk: Disk, path: str, data: bytes) -> None:
    """Replaces the file by these bytes, durably and at once: afterwards it is old or new whole."""
    put_small(disk, path, data)
    disk.sync_directory(parent(path))


def put_small(disk: Disk, path: str, data: bytes) -> None:
    """As `write_small`, for who syncs the directory when all of its files are there."""
    temporary = path + TEMPORARY
    write_synced(disk, temporary, data)
    disk.rename(temporary, path)


def write_synced(disk: Disk, path: str, data: bytes) -> None:
    """A whole file. Its bytes are durable; its name is for the caller, by a rename or a sync."""
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.write([data], 0)
        file.sync()
    finally:
        file.close()


def write_new(disk: Disk, path: str, data: bytes) -> None:
    """The first bytes of a file of which nothing is believed before its directory has its name."""
    file = disk.open(path, create=True)
    try:
        file.write([data], 0)
    finally:
        file.close()


def delete_if_there(disk: Disk, path: str) -> bool:
    """Removes a file that may be missing; whether it was there."""
    try:
        disk.unlink(path)
    except FileNotFoundError:
        return False
    return True


def parent(path: str) -> str:
    """The directory of a path; '' is the log dir itself."""
    return path.rpartition("/")[0]
