"""The Disk door on memory: behaves as a file system does, fails and crashes when told to.

`medium` says what survives a crash, `disk_faults` what goes wrong before. A disk object lives as
long as its machine: after a crash or an exit every call on it raises `PowerLost`, and
`after_crash` or `after_exit` is the disk that the machine's next life finds. The old one stays
as it was, so that a test may look at every outcome of one crash.
"""

import errno
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from odradek.model.units import GIB, Bytes, Timestamp
from odradek.ports import File, Lock, Random
from odradek.sim.doors.disk_faults import DiskFaults, raise_error
from odradek.sim.doors.medium import Change, Contents, CrashRules, Directory, Names, Node

FREE_BYTES: Final = 1024 * GIB  # said of a disk without a capacity
CRASH_RULES: Final = CrashRules()


def _beginning() -> Timestamp:
    return Timestamp(0)


class SimulatedDisk:
    """One log dir in memory."""

    def __init__(
        self,
        name: str = "disk",
        *,
        faults: DiskFaults | None = None,
        names: Names | None = None,
        now: Callable[[], Timestamp] = _beginning,
    ) -> None:
        self._name = name
        self.faults = faults or DiskFaults()
        self.medium = names or Names()
        self._now = now
        self.boots = 0  # how often the machine has lost its power
        self.refused: Counter[str] = Counter()  # how often there was no room, by path
        self._locked: set[str] = set()
        self.used = sum({id(it): it.space for _, it in self.medium.files()}.values())

    # -- the machine's end ---------------------------------------------------------------------

    def stop(self) -> None:
        """The machine or its process is gone: a later call meets `PowerLost`."""
        self.faults.dead = True

    def after_crash(self, chance: Random, rules: CrashRules = CRASH_RULES) -> "SimulatedDisk":
        """What is found after the power came back; chance decides about what was not synced."""
        self.stop()
        reborn = self._reborn(self.medium.survivor(chance, rules))
        reborn.boots += 1
        return reborn

    def after_exit(self) -> "SimulatedDisk":
        """What the next process finds when only the process died: all that was written."""
        self.stop()
        for _, contents in self.medium.files():
            contents.opens = 0
        return self._reborn(self.medium)

    def exchange(self) -> None:
        """Somebody has put an empty one in its place, without faults, while the machine runs."""
        self.medium = Names()
        self.faults.rows.clear()
        self.faults.read_only = False
        self._locked.clear()
        self.used = 0

    def _reborn(self, names: Names) -> "SimulatedDisk":
        old = self.faults
        faults = DiskFaults(old.rows, old.read_only, old.capacity, stall=old.stall, crash=old.crash)
        faults.quota = old.quota
        disk = SimulatedDisk(self._name, faults=faults, names=names, now=self._now)
        disk.boots = self.boots
        return disk

    def flip(self, path: str, position: int, bit: int) -> None:
        """Rot: turns one bit of a file, unseen."""
        self._file(path).flip(position, bit)

    # -- the door ------------------------------------------------------------------------------

    def peek(self, path: str) -> bytes | bytearray | None:
        """A file as programs would read it now, past all faults; None: there is none."""
        node = self._find(path)
        return node.current if isinstance(node, Contents) else None

    @property
    def name(self) -> str:
        """As it was given."""
        return self._name

    def open(self, path: str, *, create: bool = False) -> File:
        """A handle on the bytes of this name; they outlive the name."""
        self.faults.may_wait(path)
        self.faults.enter("open", path)
        node = self._find(path)
        if isinstance(node, Directory):
            raise_error(errno.EISDIR, path)
        if node is None and not create:
            raise_error(errno.ENOENT, path)
        return SimulatedFile(self, path, node or self._create(path))

    def _create(self, path: str) -> Contents:
        directory, name = self._parent(path)
        contents = Contents(modified=self._now())
        self.faults.enter("create", path)
        self.medium.change((directory, name, contents))
        self.faults.passed("create")
        return contents

    def exists(self, path: str) -> bool:
        """Whether there is anything of this name."""
        self.faults.must_be_a_job("stat", path)
        self.faults.enter("stat", path)
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        self.faults.must_be_a_job("stat", path)
        self.faults.enter("stat", path)
        return isinstance(self._find(path), Directory)

    def size(self, path: str) -> int:
        """The count of bytes in a file."""
        self.faults.may_wait(path)
        self.faults.enter("stat", path)
        return len(self._file(path).current)

    def modified(self, path: str) -> Timestamp:
        """When a file was last written, on the machine's clock."""
        self.faults.must_be_a_job("stat", path)
        self.faults.enter("stat", path)
        return self._file(path).modified

    def names(self, path: str) -> list[str]:
        """What is in a directory, sorted."""
        self.faults.enter("list", path)
        return sorted(self._directory(path).current)

    def make_directory(self, path: str) -> None:
        """With those above it, each a change of its own."""
        parts = path.split("/") if path else []
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            node = self._find(above)
            if node is None:
                directory, name = self._parent(above)
                self.faults.enter("make_directory", above)
                self.medium.change((directory, name, Directory()))
                self.faults.passed("make_directory")
            elif not isinstance(node, Directory):
                raise_error(errno.EEXIST if depth == len(parts) else errno.ENOTDIR, above)

    def rename(self, old: str, new: str) -> None:
        """Atomic; a file replaces a file, a directory an empty directory."""
        self.faults.enter("rename", old)
        node, replaced = self._existing(old), self._find(new)
        if isinstance(replaced, Directory) and not isinstance(node, Directory):
            raise_error(errno.EISDIR, new)
        if isinstance(replaced, Contents) and isinstance(node, Directory):
            raise_error(errno.ENOTDIR, new)
        if isinstance(replaced, Directory) and replaced.current and replaced is not node:
            raise_error(errno.ENOTEMPTY, new)
        source, target = self._parent(old), self._parent(new)
        if node is not replaced:
            self.medium.change((*source, None), (*target, node))
            self._forget(replaced)
        self.faults.passed("rename")

    def link(self, path: str, second: str) -> bool:
        """Two names of the same bytes."""
        self.faults.enter("link", second)
        contents = self._file(path)
        if self._find(second) is not None:
            raise_error(errno.EEXIST, second)
        self.medium.change((*self._parent(second), contents))
        contents.names += 1
        self.faults.passed("link")
        return True

    def unlink(self, path: str) -> None:
        """The name goes at once, the bytes with the last name, and the last handle on them."""
        self.faults.enter("unlink", path)
        contents = self._file(path)
        self.medium.change((*self._parent(path), None))
        self._forget(contents)
        self.faults.passed("unlink")

    def remove_directory(self, path: str) -> None:
        """Only an empty one."""
        self.faults.enter("remove_directory", path)
        if self._directory(path).current:
            raise_error(errno.ENOTEMPTY, path)
        self.medium.change((*self._parent(path), None))
        self.faults.passed("remove_directory")

    def sync_directory(self, path: str) -> None:
        """A machine that stops at it has perhaps not synced."""
        self.faults.enter("sync_directory", path)
        directory = self._directory(path)
        self.faults.passed("sync_directory")
        self.medium.sync(directory)

    def sync_all(self, files: Sequence[str], directories: Sequence[str]) -> None:
        """One after the other."""
        for path in files:
            self.sync(path, self._file(path))
        for path in directories:
            self.sync_directory(path)

    def lock(self, path: str) -> Lock:
        """For this life of the machine."""
        self.faults.enter("lock", path)
        if self._find(path) is None:
            self._create(path)
        if path in self._locked:
            raise_error(errno.EAGAIN, path)
        return SimulatedLock(self._locked, path)

    def free_bytes(self) -> Bytes:
        """What is left of the capacity."""
        self.faults.enter("free", "")
        capacity = self.faults.capacity
        return Bytes(FREE_BYTES if capacity is None else max(0, capacity - self.used))

    def total_bytes(self) -> Bytes:
        """The capacity."""
        self.faults.enter("free", "")
        capacity = self.faults.capacity
        return Bytes(FREE_BYTES + self.used if capacity is None else capacity)

    def boot(self) -> str:
        """Another after each crash."""
        return f"boot {self.boots}"

    # -- for its files -------------------------------------------------------------------------

    def write(self, path: str, contents: Contents, change: Change) -> None:
        """Whole or with an error, but an error may leave a part of it behind."""
        data = change.data or b""
        fault = self.faults.meet("write", path)
        grows = change.position + len(data) - contents.space
        part = fault.part if fault else len(data)
        if grows > self._free():
            part = min(part, max(0, len(data) - (grows - self._free())))
        if part:
            self._change(contents, Change(change.position, data[:part]))
        if fault:
            raise_error(fault.error, path)
        if part < len(data):
            self._refuse(path)
        self.faults.passed("write")

    def truncate(self, path: str, contents: Contents, size: int) -> None:
        """Space that was reserved behind the end is given back."""
        self.faults.enter("truncate", path)
        self.used -= contents.space
        contents.reserved = 0
        self.used += contents.space
        self._change(contents, Change(size, None))
        self.faults.passed("truncate")

    def allocate(self, path: str, contents: Contents, size: int) -> None:
        """Takes space, changes no bytes."""
        self.faults.enter("allocate", path)
        grows = max(0, size - contents.space)
        if grows > self._free():
            self._refuse(path)
        self.used += grows
        contents.reserved = max(contents.reserved, size)
        self.faults.passed("allocate")

    def sync(self, path: str, contents: Contents) -> None:
        """A machine that stops at it has perhaps not synced; an error has surely not."""
        fault = self.faults.meet("sync", path)
        if fault:
            contents.fail_to_sync()
            self.faults.failed_syncs += 1
            raise_error(fault.error, path)
        self.faults.passed("sync")
        contents.sync()

    def released(self, contents: Contents) -> None:
        """A handle was closed: bytes without a name go with the last one."""
        contents.opens -= 1
        if not contents.names and not contents.opens:
            self.used -= contents.space

    def _change(self, contents: Contents, change: Change) -> None:
        self.used -= contents.space
        contents.change(change)
        contents.modified = self._now()
        self.used += contents.space

    def _refuse(self, path: str) -> NoReturn:
        self.refused[path] += 1
        raise_error(errno.ENOSPC if self.faults.quota is None else errno.EDQUOT, path)

    def _free(self) -> int:
        bounds = (self.faults.capacity, self.faults.quota)
        return min((it - self.used for it in bounds if it is not None), default=FREE_BYTES)

    def _forget(self, node: Node | None) -> None:
        if isinstance(node, Contents):
            node.names -= 1
            if not node.names and not node.opens:
                self.used -= node.space

    # -- paths ---------------------------------------------------------------------------------

    def _find(self, path: str) -> Node | None:
        node: Node = self.medium.root
        for part in path.split("/") if path else ():
            assert part not in {"", ".", ".."}, path
            if not isinstance(node, Directory):
                return None
            child = node.current.get(part)
            if child is None:
                return None
            node = child
        return node

    def _existing(self, path: str) -> Node:
        node = self._find(path)
        if node is None:
            raise_error(errno.ENOENT, path)
        return node

    def _file(self, path: str) -> Contents:
        node = self._existing(path)
        if isinstance(node, Directory):
            raise_error(errno.EISDIR, path)
        return node

    def _directory(self, path: str) -> Directory:
        node = self._existing(path)
        if not isinstance(node, Directory):
            raise_error(errno.ENOTDIR, path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        return self._directory(above), name


class SimulatedFile:
    """A handle: what it does goes through its disk, which may fail or be gone."""

    __slots__ = ("_contents", "_disk", "_open", "_path")

    def __init__(self, disk: SimulatedDisk, path: str, contents: Contents) -> None:
        self._disk, self._path, self._contents = disk, path, contents
        self._open = True
        contents.opens += 1

    def read(self, length: int, position: int) -> bytes:
        """A copy of the bytes."""
        if self._disk.faults.caches_nothing:
            self._disk.faults.may_wait(self._path)
        return self.sent(length, position)

    def sent(self, length: int, position: int) -> bytes:
        """For a stream, which has whatever is not in memory read beside the loop."""
        contents = self._enter("read")
        return bytes(contents.current[position : position + length])

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Copies as far as the file goes."""
        self._disk.faults.must_be_a_job("read_into", self._path)
        data = self._enter("read").current[position : position + len(buffer)]
        buffer[: len(data)] = data
        return len(data)

    def write(self, chunks: Sequence[bytes | bytearray | memoryview], position: int) -> int:
        """Joined: the medium remembers one change for each call."""
        data = b"".join(chunks)
        self._disk.write(self._path, self._still_open(), Change(position, data))
        return len(data)

    def truncate(self, size: int) -> None:
        """Down or up."""
        self._disk.truncate(self._path, self._still_open(), size)

    def allocate(self, size: int) -> None:
        """Reserves space behind the end."""
        self._disk.allocate(self._path, self._still_open(), size)

    def write_back(self, position: int, length: int, *, wait: bool = False) -> None:
        """What is not synced may be lost, before and after."""
        del position, length, wait
        self._enter("write_back")

    def sync(self) -> None:
        """Makes the bytes durable, not the name."""
        self._disk.sync(self._path, self._still_open())

    def size(self) -> int:
        """As programs see it."""
        self._disk.faults.must_be_a_job("stat", self._path)
        return len(self._enter("stat").current)

    def is_cached(self, position: int, length: int) -> bool:
        """All of it is in memory, unless a test says that nothing is."""
        del position, length
        return not self._disk.faults.caches_nothing

    def fileno(self) -> int | None:
        """There is none."""
        return None

    def close(self) -> None:
        """A second call does nothing."""
        if self._open:
            self._disk.faults.must_be_a_job("close", self._path)
            self._let_go()

    def __del__(self) -> None:
        """The last holder has let go of it: it is closed in no thread that anybody waits for."""
        if self._open:
            self._let_go()

    def _let_go(self) -> None:
        self._open = False
        self._disk.released(self._contents)

    def _still_open(self) -> Contents:
        if not self._open:
            raise_error(errno.EBADF, self._path)
        return self._contents

    def _enter(self, call: str) -> Contents:
        contents = self._still_open()
        self._disk.faults.enter(call, self._path)
        return contents


class SimulatedLock:
    """A name in the set of those that are locked."""

    def __init__(self, locked: set[str], path: str) -> None:
        self._locked, self._path = locked, path
        locked.add(path)

    def release(self) -> None:
        """A second call does nothing."""
        self._locked.discard(self._path)
