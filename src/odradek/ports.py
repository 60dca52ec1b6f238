"""The five doors to the world: Clock, Random, Disk, Network, Journal.

Everything that is not the same at every run comes through one of them, and is handed in, never
imported. `runtime` opens them on the real world, `sim` on a false one; nothing else differs.
A fake passes the same contract test as the thing that it replaces.

Errors of the world come as `OSError` with its errno; the caller decides what they
mean. Addresses are (host, port). A `Worker` is how the loop goes through the Disk door without
waiting there.

No device on the loop: a disk that hangs would hold everything up. So once a broker serves, the loop
calls nothing on a `Disk` or a `File` but `name`, `is_cached`, `fileno`, and what says `WouldBlock`
instead of waiting. Worlds end with whatever else it calls there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, final

from odradek.model.units import Bytes, Micros, Millis, Timestamp


class Clock(Protocol):
    """What time it is. A shell holds it; a core is told `now`."""

    def monotonic(self) -> Millis:
        """Measures durations; never goes back."""
        ...

    def micros(self) -> Micros:
        """The same clock, finer: for figures about ourselves, never for decisions."""
        ...

    def worked(self) -> Micros:
        """The processor's time that this thread has had or has waited for: for figures."""
        ...

    def wall(self) -> Timestamp:
        """Stamps records; may jump."""
        ...

    async def sleep_until(self, deadline: Millis) -> None:
        """Returns once `monotonic()` has reached the deadline."""
        ...


class Random(Protocol):
    """Chance: ids, jitter, placement. In the simulator the seed decides it."""

    def below(self, bound: int) -> int:
        """An integer from 0 up to, not including, `bound`."""
        ...

    def bytes(self, count: int) -> bytes:
        """So many random bytes."""
        ...


class WouldBlock(Exception):
    """On the loop: only the device can answer this, so a job of the disk's worker is to ask it."""


class File(Protocol):
    """An open file. All positions are absolute; there is no cursor.

    A file without references closes itself, silently, and not in the thread that lets go of it:
    storage forgets a file while a `FileRange` of it may still be on its way out, and only the last
    holder can know.
    """

    def read(self, length: int, position: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file.

        On the loop WouldBlock, unless the page cache holds all of them.
        """
        ...

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fills the buffer as far as the file goes, and says how far."""
        ...

    def write(self, chunks: Sequence[bytes | bytearray | memoryview], position: int) -> int:
        """Writes all the chunks one behind the other, and says how many bytes they were.

        Or it raises: then any part of them may be there.
        """
        ...

    def truncate(self, size: int) -> None:
        """Cuts the file, or fills it up with zeros, to exactly this size."""
        ...

    def allocate(self, size: int) -> None:
        """Reserves space for this many bytes without changing the size; may do nothing."""
        ...

    def sync(self) -> None:
        """Returns when every byte written is durable. After an error nothing may be assumed."""
        ...

    def write_back(self, position: int, length: int, *, wait: bool = False) -> None:
        """Has the system begin to bring these bytes to the device, or waits until it has.

        Nothing is durable by it; a sync that comes later has less to do. May do nothing.
        """
        ...

    def size(self) -> int:
        """The count of bytes in it now."""
        ...

    def is_cached(self, position: int, length: int) -> bool:
        """Whether the page cache holds all of these bytes."""
        ...

    def fileno(self) -> int | None:
        """Its descriptor; None where there is none, as in the simulator."""
        ...

    def close(self) -> None:
        """Lets go of it, without a sync."""
        ...


class Lock(Protocol):
    """Held until released or until the process dies."""

    def release(self) -> None:
        """Lets another take it."""
        ...


class Disk(Protocol):
    """One log dir. Paths are relative to it, with '/'; '' is the dir itself.

    A name is durable once its directory was synced, a file's bytes once the file was: after a
    crash any subset of what was not synced may be there. A rename is atomic.
    """

    @property
    def name(self) -> str:
        """Where it is, as the operator wrote it: for messages."""
        ...

    def open(self, path: str, *, create: bool = False) -> File:
        """For reading and writing; made where it is missing, if asked. WouldBlock on the loop."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory of this name."""
        ...

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        ...

    def size(self, path: str) -> int:
        """The count of bytes in a file, without opening it. WouldBlock on the loop."""
        ...

    def modified(self, path: str) -> Timestamp:
        """When a file was last written."""
        ...

    def names(self, path: str) -> list[str]:
        """What is in a directory, sorted."""
        ...

    def make_directory(self, path: str) -> None:
        """Makes it and those above it; nothing happens where it is there already."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Puts `old` in the place of `new`: a file over a file, a directory over an empty one."""
        ...

    def link(self, path: str, second: str) -> bool:
        """Gives a file one more name, with the same bytes: they are synced under any of its names.

        False where that cannot be: some file systems have one name for a file, or few.
        """
        ...

    def unlink(self, path: str) -> None:
        """Removes a file; its bytes are there while it has another name."""
        ...

    def remove_directory(self, path: str) -> None:
        """Removes an empty directory."""
        ...

    def sync_directory(self, path: str) -> None:
        """Makes the names in it durable: what was created, renamed or removed."""
        ...

    def sync_all(self, files: Sequence[str], directories: Sequence[str]) -> None:
        """As a sync of each file and `sync_directory` of each directory, in any order, at once.

        The directory in which the latest change was made stands last. Where one cannot be synced
        the others may have been, or not.
        """
        ...

    def lock(self, path: str) -> Lock:
        """Takes the lock on this file for this process; BlockingIOError if another holds it."""
        ...

    def free_bytes(self) -> Bytes:
        """The space that is left."""
        ...

    def total_bytes(self) -> Bytes:
        """The size of the whole volume, whatever uses it."""
        ...

    def boot(self) -> str:
        """Which run of the operating system this is: its page cache has what was not synced.

        Empty where that is not known.
        """
        ...


class Job(Protocol):
    """Something that may block: it runs off the loop, and ends on it."""

    def run(self) -> None:
        """On the worker. What it raises is handed to `done`."""
        ...

    def done(self, error: Exception | None) -> None:
        """On the loop, in a turn of its own, in the order in which jobs were submitted."""
        ...


class Worker(Protocol):
    """Runs what may block, one job behind the other: each log dir has one of its own.

    `runtime` gives it a thread; `sim` none, but the virtual time that its disk takes.
    """

    @property
    def idle(self) -> bool:
        """Whether nothing waits or runs."""
        ...

    @property
    def progress(self) -> int:
        """Grows with each job that ends, and with what a long one gets done.

        A number that stands still while jobs wait tells of a hang.
        """
        ...

    def submit(self, job: Job) -> None:
        """Takes a job; not from within another's `run`."""
        ...

    def abandon(self, error: Exception) -> None:
        """The disk hangs, and is given up: every job ends with this error, now and from now on."""
        ...

    def revive(self) -> bool:
        """Takes jobs again if the disk has let go; whether it has. What was given up is not run."""
        ...

    def close(self) -> None:
        """Takes no more jobs; those that wait are still run and ended."""
        ...


@final
class FileRange(NamedTuple):
    """Bytes that go out from a file when the socket takes them, and are not held in memory."""

    file: File
    position: int
    length: int


Chunk = bytes | bytearray | memoryview | FileRange


def size_of(chunk: Chunk) -> int:
    """The count of bytes that a chunk stands for."""
    return chunk.length if isinstance(chunk, FileRange) else len(chunk)


Address = tuple[str, int]


class Receiver(Protocol):
    """Our end of a connection: the stream calls it, on the loop, and never after `closed`.

    It is called in turns of the loop, never from within a call that it made on the stream.
    """

    def buffer(self) -> memoryview:
        """Where the next bytes are to be put. Asked anew before each read; never empty."""
        ...

    def received(self, count: int) -> None:
        """So many bytes were put there."""
        ...

    def drained(self) -> None:
        """All that had to wait has left; not called where a `send` left at once."""
        ...

    def closed(self, error: OSError | None) -> None:
        """The connection is over: by the peer or by ourselves (None), or by an error. Once."""
        ...


class Stream(Protocol):
    """A connection: bytes in order, both ways, until one end is gone."""

    @property
    def peer(self) -> Address:
        """Who is at the other end."""
        ...

    @property
    def local(self) -> Address:
        """The address by which the peer reached us."""
        ...

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Sends in order, now if it can; what the peer does not take yet waits in memory.

        The chunks may not be changed until they have left. On a connection that is over, or
        being closed, it does nothing: `closed` tells.
        """
        ...

    @property
    def unsent(self) -> int:
        """The count of bytes that wait to leave. Above its bound, stop reading."""
        ...

    def pause(self) -> None:
        """Stops reading: the peer's sends fill up, and it is slowed down."""
        ...

    def resume(self) -> None:
        """Reads again."""
        ...

    def close(self) -> None:
        """Reads no more, sends what waits, then closes; `abort` ends a wait that is too long.

        A peer that ends its own sending has the same effect.
        """
        ...

    def abort(self) -> None:
        """Closes at once; what waits is dropped."""
        ...


class Listener(Protocol):
    """A port that takes connections."""

    @property
    def address(self) -> Address:
        """Where it listens; the port is the real one where 0 was asked for."""
        ...

    def pause(self) -> None:
        """Takes no more connections for now: new ones wait in the kernel's backlog."""
        ...

    def resume(self) -> None:
        """Takes those that wait, and new ones."""
        ...

    def close(self) -> None:
        """Takes no more connections; those that are open stay."""
        ...


class Network(Protocol):
    """Streams to and from others."""

    async def listen(
        self, address: Address, accept: Callable[[Stream], Receiver], *, uses_reserve: bool = False
    ) -> Listener:
        """Takes connections; `accept` gives each its receiver. An empty host is all of ours.

        When descriptors run out, the last ones are for listeners that may use the reserve.
        """
        ...

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """A connection to the address; OSError when it is refused or cannot be had."""
        ...


class Entry(NamedTuple):
    """One transaction of the embedded ZooKeeper, as bytes, under its number."""

    zxid: int
    data: bytes


class Journal(Protocol):
    """The embedded ZooKeeper's durable store: a snapshot, and the transactions behind it."""

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """The newest snapshot's rows, and the entries after it, in order; perhaps some before."""
        ...

    async def append(self, entries: Sequence[Entry]) -> None:
        """Returns when they are durable, all of them; an OSError says that none may be answered."""
        ...

    async def snapshot(self, zxid: int, rows: Iterable[bytes]) -> None:
        """Replaces the snapshot, atomically, and forgets the entries up to and with `zxid`."""
        ...

    def close(self) -> None:
        """Lets go of the store."""
        ...
