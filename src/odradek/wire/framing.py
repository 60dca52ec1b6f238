"""Frames: an int32 that says how many bytes follow, and those bytes.

The core of a connection's reading side. A shell asks `buffer` where to put what it reads and tells
`received` how much that was; it gets whole frames. Small ones are cut out of a scratch buffer that
all connections share: one system call and one short copy each. A frame that is not yet complete
gets a bytearray of its own, and the rest of it is read in place.

Nothing is believed before it was checked: a length beyond the limit makes a `fault`, and a frame
gets memory as its bytes come, so that no client can take a hundred megabytes with the four bytes
that promise them: at most 32 times as much as is there, and above `eager` bytes at most twice as
much. A client, which knows whom it called, may set `eager` to its limit and save the copies. Frames
are bytearrays, since a broker writes offsets into the batches in them.

Invariants: nothing of a connection is left in the scratch buffer between two calls of `received`;
`_rest` is shorter than a length, or the beginning of a frame that has no bytearray yet.
"""

import struct
from typing import Final

from odradek.model.errors import MalformedRequest
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import KIB, MIB, Bytes
from odradek.ports import Chunk
from odradek.wire.compiler.primitives import chunk_bytes

SCRATCH_BYTES: Final = Bytes(64 * KIB)
EAGER_BYTES_MAX: Final = Bytes(2 * MIB)  # a request with one full batch is received in one piece
FIRST_BYTES: Final = Bytes(4 * KIB)  # of a frame of which nothing is there but its length
TRUST: Final = 32  # a first read that fills the scratch buffer is good for a full batch
LENGTH_BYTES: Final = 4
FRAME_BYTES_MIN: Final = 4  # a correlation id is the least that a frame has
JOINED_BYTES_MAX: Final = Bytes(64 * KIB)

_LENGTH = struct.Struct(">i")

_FOREIGN: Final = {
    b"SSH-": "SSH",
    b"PROX": "the PROXY protocol",
    b"\r\n\r\n": "the PROXY protocol",
    b"AMQP": "AMQP",
    b"PING": "Redis",
    **dict.fromkeys((b"ruok", b"stat", b"srvr", b"mntr", b"conf", b"isro"), "ZooKeeper's commands"),
    **dict.fromkeys((b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"HTTP"), "HTTP"),
    **dict.fromkeys((b"PATC", b"CONN", b"TRAC", b"PRI "), "HTTP"),
}


class InvalidFrame(MalformedRequest):
    """A length that no frame can have: the connection is of no more use."""


class Scratch:
    """Where small frames land; one for all the connections of a loop."""

    __slots__ = ("data", "view")

    def __init__(self, size: int = SCRATCH_BYTES) -> None:
        self.data = bytearray(size)
        self.view = memoryview(self.data)


class Framer:
    """Cuts one connection's bytes into frames.

    `fault` is why the connection must be closed, once the frames before it were dealt with;
    `announced` is the size of the frame that has begun, 0 if there is none; `held` is the memory
    that it takes, or will with the next call of `buffer`. A shell that is short of memory stops
    reading before it makes that call.
    """

    __slots__ = (
        *("_eager", "_filled", "_frame", "_limit", "_rest", "_scratch", "_view"),
        *("announced", "fault", "held"),
    )

    def __init__(
        self, scratch: Scratch, *, limit: int = FRAME_BYTES_MAX, eager: int = EAGER_BYTES_MAX
    ) -> None:
        assert LENGTH_BYTES < len(scratch.data) < eager, "what is left over is always smaller"
        self.announced = 0
        self.held = 0
        self.fault: InvalidFrame | None = None
        self._scratch = scratch
        self._limit = limit
        self._eager = eager
        self._rest = b""
        self._frame: bytearray | None = None
        self._view: memoryview | None = None  # of the frame; 0 <= filled < len(frame) <= announced
        self._filled = 0

    def buffer(self) -> memoryview:
        """Where the next bytes are to be put; good until the next call of `received`."""
        assert self.fault is None, self.fault
        if self._view is not None:
            if self._filled == len(self._view):
                return self._give(self._view)
            return self._view[self._filled :]
        if self.announced:
            self._filled, rest = len(self._rest), self._rest
            self._rest = b""
            return self._give(rest)
        if not self._rest:
            return self._scratch.view
        kept = len(self._rest)
        self._scratch.data[:kept] = self._rest
        return self._scratch.view[kept:]

    def received(self, count: int) -> list[bytearray]:
        """So many bytes were put there; the frames that are whole now."""
        if self._view is not None:
            return self._grown(count)
        if self._rest:
            count += len(self._rest)
            self._rest = b""
        data, position = self._scratch.data, 0
        frames: list[bytearray] = []
        while count - position >= LENGTH_BYTES:
            (size,) = _LENGTH.unpack_from(data, position)
            if not FRAME_BYTES_MIN <= size <= self._limit:
                self.fault = _fault(size, bytes(data[position : position + 4]), self._limit)
                return frames
            position += LENGTH_BYTES
            end = position + size
            if end > count:
                self.announced = size
                self.held = self._room(count - position)
                break
            if end == count and not frames:
                return [data[position:end]]  # as a rule there is one
            frames.append(data[position:end])
            position = end
        self._rest = bytes(data[position:count])
        return frames

    def _grown(self, count: int) -> list[bytearray]:
        """The frame that has begun has so many bytes more."""
        assert self._frame is not None
        self._filled += count
        if self._filled < len(self._frame):
            return []
        if self._filled < self.announced:
            self.held = self._room(self._filled)
            return []
        frame = self._frame
        self._view = self._frame = None
        self.announced = self.held = 0
        return [frame]

    def drop(self) -> None:
        """The connection is over: what has begun will never be whole."""
        self._view = self._frame = None
        self._rest = b""
        self.announced = self.held = 0

    def feed(self, data: bytes) -> list[bytearray]:
        """All at once, for those who have the bytes already; stops at a fault."""
        frames: list[bytearray] = []
        while data and self.fault is None:
            room = self.buffer()
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            frames += self.received(count)
        return frames

    def _room(self, came: int) -> int:
        """How much memory the frame that has begun gets, when so much of it is there."""
        trusted = min(self._eager, max(FIRST_BYTES, TRUST * came))
        return min(self.announced, max(trusted, 2 * came))

    def _give(self, begun: bytes | memoryview) -> memoryview:
        """Gives the frame that has begun its own memory, or more of it."""
        self._frame = bytearray(self.held)
        self._view = memoryview(self._frame)
        self._view[: len(begun)] = begun
        return self._view[self._filled :]


def frame_bytes(length: bytes, limit: int = FRAME_BYTES_MAX) -> int:
    """How many bytes follow this length, for a shell that reads them itself, as one piece."""
    (size,) = _LENGTH.unpack(length)
    if not FRAME_BYTES_MIN <= size <= limit:
        raise _fault(size, length, limit)
    return int(size)


def framed(header: bytes, body: list[Chunk]) -> list[Chunk]:
    """Header and body with their length before them; small ones in one piece."""
    first = body[0]
    if len(body) == 1 and type(first) is bytes:
        size = len(first)
        if size <= JOINED_BYTES_MAX:
            return [_LENGTH.pack(len(header) + size) + header + first]
    return [_LENGTH.pack(len(header) + chunk_bytes(body)) + header, *body]


def _fault(size: int, start: bytes, limit: int) -> InvalidFrame:
    text = f"a frame of {size} bytes; it has {FRAME_BYTES_MIN} to {limit}"
    protocol = "TLS" if start[:2] == b"\x16\x03" else _FOREIGN.get(start)
    if protocol is None and start.isascii() and start.decode().isprintable():
        protocol = "text"
    if protocol is None:
        return InvalidFrame(text)
    return InvalidFrame(f"{text}. This looks like {protocol}; the port speaks Kafka's protocol")
