"""A blocking connection's bytes: frames out and in, on a plain socket or on one with TLS.

A frame is read by one call, into the bytes that the caller gets: to clear eight megabytes before,
or to copy them behind, takes as long as all that is looked at in them. TLS hands out a record at a
time, so there they are gathered.
"""

import socket
import ssl
import struct
from time import monotonic_ns
from typing import Final

from odradek.model.units import SECOND, Millis
from odradek.ports import Chunk
from odradek.wire.framing import LENGTH_BYTES, frame_bytes

NANOS: Final = 1_000_000  # of a millisecond
MICROS: Final = 1_000  # of a millisecond
TIMEVAL: Final = struct.Struct("@ll")


def now() -> Millis:
    """The monotonic clock: the shell's, who tells the cores."""
    return Millis(monotonic_ns() // NANOS)


class Wire:
    """Of a plain socket."""

    def __init__(self, plain: socket.socket) -> None:
        self._socket = plain

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()

    def send(self, chunks: list[Chunk], patience: Millis) -> None:
        """As one call, if the kernel takes it."""
        self._socket.settimeout(patience / SECOND)
        left = [memoryview(chunk) for chunk in chunks]  # type: ignore[arg-type]
        while left:
            sent = self._socket.sendmsg(left)
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if sent:
                left[0] = left[0][sent:]

    def frame(self, deadline: Millis) -> bytes:
        """The next one; BlockingIOError at the deadline, EOFError if no more will come."""
        self._socket.settimeout(None)
        return self._read(frame_bytes(self._read(LENGTH_BYTES, deadline)), deadline)

    def _read(self, size: int, deadline: Millis) -> bytes:
        """So many bytes.

        The kernel waits for all of them. It hands out fewer only before an end or at the deadline.
        """
        data = b""
        while len(data) < size:
            left = max(1, deadline - now())
            wait = TIMEVAL.pack(left // SECOND, left % SECOND * MICROS)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, wait)
            more = self._socket.recv(size - len(data), socket.MSG_WAITALL)
            if not more:
                raise EOFError
            data = data + more if data else more
        return data


class TlsWire(Wire):
    """Of a socket with TLS."""

    def __init__(self, secured: ssl.SSLSocket) -> None:
        super().__init__(secured)
        self._secured = secured

    def send(self, chunks: list[Chunk], patience: Millis) -> None:
        """Small ones together, in one record."""
        self._secured.settimeout(patience / SECOND)
        self._secured.sendall(b"".join(chunks))  # type: ignore[arg-type]

    def frame(self, deadline: Millis) -> bytes:
        """The next one."""
        return self._gather(frame_bytes(self._gather(LENGTH_BYTES, deadline)), deadline)

    def _gather(self, size: int, deadline: Millis) -> bytes:
        data = bytearray(size)
        view, filled = memoryview(data), 0
        while filled < size:
            self._secured.settimeout(max(1, deadline - now()) / SECOND)
            try:
                count = self._secured.recv_into(view[filled:])
            except TimeoutError:
                raise BlockingIOError from None
            if not count:
                raise EOFError
            filled += count
        return bytes(data)
