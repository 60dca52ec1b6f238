"""The Disk door of `runtime` with the faults of the simulator's disks before each call.

What the page cache has goes out to sockets past it, as it does when a device fails.
"""

import errno
import os
import weakref
from collections.abc import Sequence
from threading import Event
from typing import Final

from odradek.model.units import SECOND, Bytes, Millis, Timestamp
from odradek.ports import File, Lock
from odradek.runtime.doors.disk import Buffer, SystemDisk, SystemFile, SystemLock
from odradek.sim.doors.disk_faults import DiskFaults, Fault, raise_error

GROWS: Final = frozenset({"create", "write", "allocate", "make_directory", "link"})
"""Calls that need room."""


class FaultyDisk(SystemDisk):
    """One log dir in one life of a broker. `faults` outlive it, as the device does."""

    def __init__(self, directory: str, loop_thread: int, faults: DiskFaults) -> None:
        super().__init__(directory, loop_thread)
        self.faults = faults
        self._over = Event()
        self._files: weakref.WeakSet[SystemFile] = weakref.WeakSet()
        self._locks: list[Lock] = []
        faults.stall = self._stall

    def end(self) -> None:
        """The broker is gone: nothing reaches the files any more, and none stays open."""
        self._over.set()

    def close(self) -> None:
        """Once its workers have ended."""
        self.end()
        super().close()
        for file in list(self._files):
            file.close()
        for lock in self._locks:
            lock.release()

    def _stall(self, delay: Millis) -> None:
        self._over.wait(delay / SECOND)

    def meet(self, call: str, path: str) -> Fault | None:
        """What goes wrong with this call, if anything does."""
        if self._over.is_set():
            return Fault(errno.ENODEV)
        fault = self.faults.meet(call, path)
        return Fault(errno.ENODEV) if self._over.is_set() else fault

    def enter(self, call: str, path: str) -> None:
        """As `meet`, for calls that fail whole."""
        if self._beside.is_on_loop():
            return  # it waits for no device there
        fault = self.meet(call, path)
        if fault is not None:
            raise_error(fault.error, path)

    def open(self, path: str, *, create: bool = False) -> File:
        """Making one is a call of its own."""
        self.enter("open", path)
        if create and not self._beside.is_on_loop() and not os.path.exists(self._at(path)):  # noqa: PTH110
            self.enter("create", path)
        return super().open(path, create=create)

    def _opened(self, fd: int, path: str) -> SystemFile:
        file = FaultyFile(fd, self, path)
        self._files.add(file)
        return file

    def exists(self, path: str) -> bool:
        self.enter("stat", path)
        return super().exists(path)

    def is_directory(self, path: str) -> bool:
        self.enter("stat", path)
        return super().is_directory(path)

    def size(self, path: str) -> int:
        self.enter("stat", path)
        return super().size(path)

    def modified(self, path: str) -> Timestamp:
        self.enter("stat", path)
        return super().modified(path)

    def names(self, path: str) -> list[str]:
        self.enter("list", path)
        return super().names(path)

    def make_directory(self, path: str) -> None:
        self.enter("make_directory", path)
        super().make_directory(path)

    def rename(self, old: str, new: str) -> None:
        self.enter("rename", old)
        super().rename(old, new)

    def link(self, path: str, second: str) -> bool:
        self.enter("link", second)
        return super().link(path, second)

    def unlink(self, path: str) -> None:
        self.enter("unlink", path)
        super().unlink(path)

    def remove_directory(self, path: str) -> None:
        self.enter("remove_directory", path)
        super().remove_directory(path)

    def sync_directory(self, path: str) -> None:
        self.enter("sync_directory", path)
        super().sync_directory(path)

    def sync_all(self, files: Sequence[str], directories: Sequence[str]) -> None:
        for path in files:
            self.enter("sync", path)
        for path in directories:
            self.enter("sync_directory", path)
        super().sync_all(files, directories)

    def lock(self, path: str) -> Lock:
        self.enter("lock", path)
        lock: SystemLock = super().lock(path)  # type: ignore[assignment]
        self._locks.append(lock)
        return lock

    def free_bytes(self) -> Bytes:
        """None, where a fault says that the disk is full."""
        self.enter("free", "")
        full = any(row.error == errno.ENOSPC for row in self.faults.rows)
        return Bytes(0) if full else super().free_bytes()

    def total_bytes(self) -> Bytes:
        self.enter("free", "")
        return super().total_bytes()


class FaultyFile(SystemFile):
    """An open file of such a disk."""

    __slots__ = ("__weakref__", "_disk", "_path")

    def __init__(self, fd: int, disk: FaultyDisk, path: str) -> None:
        super().__init__(fd, disk._beside)  # noqa: SLF001 - of its own base
        self._disk = disk
        self._path = path

    def read(self, length: int, position: int) -> bytes:
        self._disk.enter("read", self._path)
        return super().read(length, position)

    def read_into(self, buffer: memoryview, position: int) -> int:
        self._disk.enter("read", self._path)
        return super().read_into(buffer, position)

    def write(self, chunks: Sequence[Buffer], position: int) -> int:
        """A part of it may arrive before it fails."""
        fault = self._disk.meet("write", self._path)
        if fault is not None:
            if fault.part:
                super().write([b"".join(chunks)[: fault.part]], position)
            raise_error(fault.error, self._path)
        return super().write(chunks, position)

    def truncate(self, size: int) -> None:
        self._disk.enter("truncate", self._path)
        super().truncate(size)

    def allocate(self, size: int) -> None:
        self._disk.enter("allocate", self._path)
        super().allocate(size)

    def sync(self) -> None:
        self._disk.enter("sync", self._path)
        super().sync()
