"""One connection on a raw non-blocking socket, driven by the loop's readers and writers.

Decides how few system calls move the bytes: one `recv_into` where the receiver wants them, one
`sendmsg` for all that waits, `sendfile` for what lies in a file. Knows nothing of frames.

Measured on uvloop: when data arrive with a reset right behind them, it calls a reader once,
closes its own handle and never calls again. So a reader goes on until a short read, or makes
sure by itself that it is called again, and `SystemNetwork` looks after quiet streams.
"""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from odradek.model.units import KIB
from odradek.ports import Address, Chunk, FileRange, Receiver, size_of

VECTORS_MAX: Final = 1_000  # the kernel's IOV_MAX is 1024
READS_PER_TURN_MAX: Final = 16  # then the others have their turn
COPIED_BYTES_MAX: Final = 32 * KIB
"""Less than that of a file is copied with what is around it: a call for itself costs more."""
TOO_SHORT: Final = "the file is shorter than the range that was to be sent"
MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)  # Linux: header and records in one segment


class SystemStream:
    """Bytes in order, both ways. In `_out` is what the socket has not yet taken."""

    __slots__ = (
        "_closing",
        "_continuing",
        "_forget",
        "_loop",
        "_out",
        "_paused",
        "_receiver",
        "_sock",
        "_unsent",
        "_writing",
        "fd",
        "local",
        "peer",
        "quiet",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        *,
        peer: Address,
        forget: Callable[["SystemStream"], None],
    ) -> None:
        self._loop = loop
        self._sock: socket.socket | None = sock
        self._forget = forget  # told once the descriptor is free for others
        self._receiver: Receiver | None = None  # until `attach`
        self._out: deque[Chunk] = deque()
        self._unsent = 0
        self._writing = False  # the loop tells when the socket takes more
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
        if not self._continuing:
            self._read()

    def _continue(self) -> None:
        self._continuing = False
        self._read()

    def _read(self) -> None:
        if self._sock is None:
            return
        receiver = self._receiver
        assert receiver is not None, "nothing is read before `attach`"
        self.quiet = False
        for _ in range(READS_PER_TURN_MAX):
            if self._paused or self._closing or self._sock is None:
                return
            room = receiver.buffer()
            assert len(room), "no room to read into would look like the end of the stream"
            try:
                count = self._sock.recv_into(room)
            except BlockingIOError:
                return
            except OSError as error:
                self._end(error)
                return
            if not count:
                self.close()
                return
            receiver.received(count)
            if count < len(room):
                return
        self._continuing = True
        self._loop.call_soon(self._continue)

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
        if not self._out and len(chunks) == 1 and type(chunks[0]) is bytes:
            self._send_one(self._sock, chunks[0])
            return
        for chunk in chunks:
            size = size_of(chunk)
            if size:
                self._out.append(chunk)
                self._unsent += size
        if not self._writing:
            self._flush()

    def unsent(self) -> int:
        """The count of bytes that the socket has not taken."""
        return self._unsent

    def _send_one(self, sock: socket.socket, chunk: bytes) -> None:
        try:
            count = sock.send(chunk)
        except BlockingIOError:
            count = 0
        except OSError as error:
            self._end(error)
            return
        if count < len(chunk):
            self._out.append(memoryview(chunk)[count:])
            self._unsent = len(chunk) - count
            self._wait_to_write()

    def _flush(self) -> None:
        """Sends until nothing is left or the socket is full."""
        assert self._sock is not None
        try:
            while self._out:
                first = self._out[0]
                if isinstance(first, FileRange) and first.length > COPIED_BYTES_MAX:
                    self._send_range(first)
                else:
                    self._send_memory(self._sock)
        except BlockingIOError:
            self._wait_to_write()
        except OSError as error:
            self._end(error)

    def _wait_to_write(self) -> None:
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self.fd, self._writable)

    def _writable(self) -> None:
        self._flush()
        if self._out or self._sock is None:
            return
        self._writing = False
        self._loop.remove_writer(self.fd)
        if self._closing:
            self._end(None)
        elif self._receiver is not None:
            self._receiver.drained()

    def _send_range(self, chunk: FileRange) -> None:
        """The descriptor is asked for now: a file that was closed meanwhile is an error."""
        file, position, length = chunk
        count = os.sendfile(self.fd, file.fileno() or -1, position, length)
        if not count:
            raise OSError(TOO_SHORT)
        self._unsent -= count
        if count == length:
            self._out.popleft()
        else:
            self._out[0] = FileRange(file, position + count, length - count)

    def _send_memory(self, sock: socket.socket) -> None:
        """All chunks up to a long range of a file in one call; short ones are read for it."""
        out, room = self._out, COPIED_BYTES_MAX
        vector: list[bytes | bytearray | memoryview] = []
        for chunk in out:
            if len(vector) == VECTORS_MAX:
                break
            if not isinstance(chunk, FileRange):
                vector.append(chunk)
            elif chunk.length <= room:
                vector.append(_read(chunk))
                room -= chunk.length
            else:
                break
        count = sock.sendmsg(vector, (), MSG_MORE if len(vector) < len(out) else 0)
        self._unsent -= count
        for chunk in vector:
            if count < len(chunk):
                out[0] = memoryview(chunk)[count:]
                return
            count -= len(chunk)
            out.popleft()

    # -- the end -------------------------------------------------------------------------------

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

    def _end(self, error: OSError | None) -> None:
        """The receiver hears of it in a turn of its own, not inside a call that it made."""
        if self._sock is None:
            return
        self._loop.remove_reader(self.fd)
        self._loop.remove_writer(self.fd)
        self._sock.close()
        self._sock = None
        self._out.clear()
        self._unsent = 0
        self._closing = True
        self._forget(self)
        self._loop.call_soon(self._tell_closed, error)

    def _tell_closed(self, error: OSError | None) -> None:
        """Stream and receiver know each other: a cycle would keep both until the collector runs."""
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed(error)


def _read(chunk: FileRange) -> bytes:
    """It is in the page cache, or somebody has seen to it that it is."""
    data = chunk.file.read(chunk.length, chunk.position)
    if len(data) < chunk.length:
        raise OSError(TOO_SHORT)
    return data


def plain_address(name: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    """Host and port; an IPv4 peer of an IPv6 socket looks like what it is."""
    return name[0].removeprefix("::ffff:"), name[1]
