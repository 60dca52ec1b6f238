"""One connection on a raw non-blocking socket, driven by the loop's readers and writers.

Decides how few system calls move the bytes: one `recv_into` where the receiver wants them, one
`sendmsg` for all that waits. What lies in a file is read when the socket takes it, if it is in
memory: a call that waits for a device holds up every connection, and `sendfile` may be one. What is
not, the thread beside the disk reads. Knows nothing of frames.

Measured on uvloop: when data arrive with a reset right behind them, it calls a reader once,
closes its own handle and never calls again. So a reader goes on until a short read, or makes
sure by itself that it is called again, and `SystemNetwork` looks after quiet streams.
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from odradek.model.units import KIB
from odradek.ports import Address, Chunk, FileRange, Receiver, size_of
from odradek.runtime.doors import page_cache
from odradek.runtime.doors.disk import SystemFile

VECTORS_MAX: Final = 1_000  # the kernel's IOV_MAX is 1024
READS_PER_TURN_MAX: Final = 16  # then the others have their turn
ROOM_BYTES: Final = 256 * KIB
"""Larger it is slower: it must stay in the processor's cache."""


class _Room(threading.local):
    """For what is read of files and sent in the same call, which lets other threads run between."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(ROOM_BYTES))


_ROOM: Final = _Room()
TOO_SHORT: Final = "the file is shorter than the range that was to be sent"
MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)  # Linux: header and records in one segment


class SystemStream:
    """Bytes in order, both ways. In `_out` is what the socket has not yet taken."""

    __slots__ = (
        "_closing",
        "_continuing",
        "_fetching",
        "_forget",
        "_leave",
        "_loop",
        "_out",
        "_paused",
        "_receiver",
        "_sock",
        "_writing",
        "fd",
        "local",
        "peer",
        "quiet",
        "unsent",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        *,
        peer: Address,
        forget: Callable[["SystemStream"], None],
        leave: Callable[["SystemStream", OSError | None], None],
    ) -> None:
        self._loop = loop
        self._sock: socket.socket | None = sock
        self._forget = forget  # told once the descriptor is free for others
        self._leave = leave  # calls `end` when there is time for it
        self._receiver: Receiver | None = None  # until `attach`
        self._out: deque[Chunk] = deque()
        self.unsent = 0  # bytes that the socket has not taken
        self._writing = False  # the loop tells when the socket takes more
        self._fetching = False  # the first chunk is being read beside the loop
        self._paused = False
        self._continuing = False  # there is more to read, and our own turn comes
        self._closing = False  # nothing is read or taken for sending any more
        self.fd = sock.fileno()
        self.local = plain_address(sock.getsockname())
        self.peer = peer
        self.quiet = False  # nothing was read since the last sweep
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def attach(self, receiver: Receiver) -> None:
        """Starts to read."""
        self._receiver = receiver
        if not (self._closing or self._paused):
            self._watch()

    def _watch(self) -> None:
        """Removed first: under this number uvloop may keep the dead handle of an earlier socket."""
        self._loop.remove_reader(self.fd)
        self._loop.add_reader(self.fd, self.read)

    # -- in ------------------------------------------------------------------------------------

    def read(self) -> None:
        """Reads what is there; called by the loop, or by a sweep to make sure."""
        if self._continuing or self._sock is None:
            return
        receiver = self._receiver
        assert receiver is not None, "nothing is read before `attach`"
        self.quiet = False
        for _ in range(READS_PER_TURN_MAX):
            if self._paused or self._closing or self._sock is None:
                return
            room = receiver.buffer()
            size = len(room)
            assert size, "no room to read into would look like the end of the stream"
            try:
                count = self._sock.recv_into(room)
            except BlockingIOError:
                return
            except OSError as error:
                self._is_left(error)
                return
            if not count:
                self._is_left(None)
                return
            receiver.received(count)
            if count < size:
                return
        self._continuing = True
        self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._continuing = False
        self.read()

    def pause(self) -> None:
        """Takes the reader away."""
        if not self._paused:
            self._paused = True
            if not self._closing:
                self._loop.remove_reader(self.fd)

    def resume(self) -> None:
        """Puts the reader back."""
        if self._paused:
            self._paused = False
            if self._receiver is not None and not self._closing:
                self._watch()

    # -- out -----------------------------------------------------------------------------------

    def send(self, chunks: Sequence[Chunk]) -> None:
        """The common case, one small answer and nothing that waits, is one call."""
        if self._closing or self._sock is None:
            return
        if not self._out and len(chunks) == 1 and type(chunk := chunks[0]) is bytes:
            try:
                count = self._sock.send(chunk)
            except BlockingIOError:
                count = 0
            except OSError as error:
                self._end(error)
                return
            if count < len(chunk):
                self._out.append(memoryview(chunk)[count:])
                self.unsent = len(chunk) - count
                self._wait_to_write()
        elif self._out or not self._send_all(self._sock, chunks):
            self._keep(chunks)
            if not self._writing:
                self._flush()

    def _keep(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            size = size_of(chunk)
            if size:
                self._out.append(chunk)
                self.unsent += size

    def _send_all(self, sock: socket.socket, chunks: Sequence[Chunk]) -> bool:
        """In one call, if all of it is in memory; otherwise nothing is sent."""
        try:
            vector, is_all = _gathered(chunks)
            if not is_all or not vector:
                return False
            count = sock.sendmsg(vector)
        except BlockingIOError:
            return False
        except OSError as error:
            self._end(error)
            return True
        if count < sum(map(len, vector)):
            self._keep(chunks)
            self._sent(count)
            self._wait_to_write()
        return True

    def _flush(self) -> None:
        """Sends until nothing is left, or the socket is full, or a file is not in memory."""
        assert self._sock is not None
        try:
            while self._out and not self._fetching:
                self._send_some(self._sock)
        except BlockingIOError:
            self._wait_to_write()
        except OSError as error:
            self._end(error)

    def _wait_to_write(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self.fd, self._writable)

    def _no_longer_wait(self) -> None:
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self.fd)

    def _writable(self) -> None:
        self._flush()
        if self._out or self._sock is None:
            return
        self._no_longer_wait()
        if self._closing:
            self._end(None)
        elif self._receiver is not None:
            self._receiver.drained()

    def _send_some(self, sock: socket.socket) -> None:
        """As much as one call takes."""
        vector, is_all = _gathered(self._out)
        if not vector:
            self._fetch(self._out[0])
            return
        count = sock.sendmsg(vector, (), 0 if is_all else MSG_MORE)
        is_full = count < sum(map(len, vector))
        self._sent(count)
        if is_full:
            raise BlockingIOError

    def _sent(self, count: int) -> None:
        """So many bytes have left; of a file they are read anew, not kept until the rest has."""
        out = self._out
        self.unsent -= count
        while count:
            chunk = out[0]
            size = size_of(chunk)
            if count >= size:
                out.popleft()
            elif isinstance(chunk, FileRange):
                out[0] = FileRange(chunk.file, chunk.position + count, size - count)
            else:
                out[0] = memoryview(chunk)[count:]
            count -= min(count, size)

    def _fetch(self, chunk: Chunk) -> None:
        """The first chunk is of a file, and not in memory: nothing is sent until it has come."""
        assert isinstance(chunk, FileRange), chunk
        assert isinstance(chunk.file, SystemFile), chunk
        self._fetching = True
        self._no_longer_wait()
        length = min(chunk.length, ROOM_BYTES)
        chunk.file.read_beside(length, chunk.position, self._on_read)

    def _on_read(self, data: bytes, error: OSError | None) -> None:
        """On the thread of the disk."""
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._fetched, data, error)

    def _fetched(self, data: bytes, error: OSError | None) -> None:
        if self._sock is None:
            return
        self._fetching = False
        if error is not None or not data:
            self._end(error or OSError(TOO_SHORT))
            return
        chunk = self._out.popleft()
        assert isinstance(chunk, FileRange), chunk
        rest = chunk.length - len(data)
        if rest:
            self._out.appendleft(FileRange(chunk.file, chunk.position + len(data), rest))
        self._out.appendleft(data)
        self._writable()

    # -- the end -------------------------------------------------------------------------------

    def _is_left(self, error: OSError | None) -> None:
        """The peer is gone. What is still to be sent goes out, unless the connection was reset."""
        if self._out and error is None:
            self.close()
            return
        self._loop.remove_reader(self.fd)
        self._closing = True
        self._leave(self, error)

    def close(self) -> None:
        """Reads no more; closes as soon as nothing waits."""
        if self._closing or self._sock is None:
            return
        self._loop.remove_reader(self.fd)
        self._closing = True
        if not self._out:
            self._end(None)

    def abort(self) -> None:
        """The peer sees a reset where bytes of it were not read."""
        self._end(None)

    def end(self, error: OSError | None) -> None:
        """Of a connection whose peer is gone."""
        self._end(error)

    def _end(self, error: OSError | None) -> None:
        """The receiver hears of it in a turn of its own, not inside a call that it made."""
        if self._sock is None:
            return
        self._loop.remove_reader(self.fd)
        self._loop.remove_writer(self.fd)
        self._sock.close()
        self._sock = None
        self._out.clear()
        self.unsent = 0
        self._closing = True
        self._forget(self)
        self._loop.call_soon(self._tell_closed, error)

    def _tell_closed(self, error: OSError | None) -> None:
        """Stream and receiver know each other: a cycle would keep both until the collector runs."""
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed(error)


def _gathered(chunks: Collection[Chunk]) -> tuple[list[bytes | bytearray | memoryview], bool]:
    """As much as one call takes, of files what is in memory; and whether that is all."""
    vector: list[bytes | bytearray | memoryview] = []
    filled = 0
    is_all = len(chunks) <= VECTORS_MAX
    for chunk in chunks if is_all else islice(chunks, VECTORS_MAX):
        if type(chunk) is not FileRange:
            vector.append(chunk)
            continue
        found = _read_now(chunk, _ROOM.view[filled : filled + chunk.length])
        size = len(found)
        filled += size
        if size:
            vector.append(found)
        if size < chunk.length:
            return vector, False
    return vector, is_all


def _read_now(chunk: FileRange, room: memoryview) -> memoryview:
    """What of it is in memory, as far as there is room."""
    fd = chunk.file.fileno()
    assert fd is not None, chunk
    count = page_cache.read_now(fd, room, chunk.position) if len(room) else None
    if count == 0:
        raise OSError(TOO_SHORT)
    return room[: count or 0]


def plain_address(name: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    """Host and port; an IPv4 peer of an IPv6 socket looks like what it is."""
    return name[0].removeprefix("::ffff:"), name[1]
