"""One client's connection: frames in, answers out, each in its order, and no more than is bounded.

A connection that is ahead of us is not read: when it has too many requests open, when it does not
take its answers, or when the requests of all connections together fill the memory they may have.
What the kernel's buffers hold then slows the client down; nothing is dropped.

Invariant: `row` holds the requests that were begun and whose answers have not been handed to the
stream, in the order in which they came.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from odradek.broker.network.line_limit import LineLimit
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.request_memory import RequestMemory
from odradek.model.units import MIB, Bytes
from odradek.ports import Address, Clock, Stream
from odradek.wire.framing import Framer, Scratch

EXCHANGES_MAX: Final = 64
"""Requests of one connection that are open at a time; clients have five, or one for each partition
leader they ask."""
UNSENT_BYTES_MAX: Final = Bytes(MIB)
"""What may wait for a client to read it, before its next request is read."""


class ConnectionHost(Protocol):
    """What all the connections of a broker have in common."""

    scratch: Scratch
    clock: Clock
    memory: RequestMemory
    lines: LineLimit
    frame_bytes_max: int

    @property
    def on_frame(self) -> Callable[["Connection", bytearray], None]:
        """Begins a request: it is put in the row, unless the connection is hung up for it."""
        ...

    @property
    def on_answer(self) -> Callable[[PendingRequest], None]:
        """An answer has left: for the figures."""
        ...

    def forget(self, connection: "Connection") -> None:
        """It is over."""
        ...


class Connection:
    """A client's end of things; the `Receiver` of its stream."""

    __slots__ = (
        "_claimed",
        "_closing",
        "_counts",
        "_framer",
        "_house",
        "_is_held",
        "_is_reading",
        "_kept",
        "_leaving",
        "_paused",
        "arrived_at",
        "is_over",
        "listener",
        "row",
        "software",
        "stream",
        "taken_at",
    )

    def __init__(self, house: ConnectionHost, stream: Stream, listener: str) -> None:
        self.stream = stream
        self.listener = listener
        self.software = ("", "")
        self.row: deque[PendingRequest] = deque()
        self.is_over = False
        self.arrived_at = house.clock.micros()  # when something was last read
        self.taken_at = self.arrived_at  # when the client last took all that waited for it
        self._house = house
        self._counts = house.memory.is_bounded
        self._framer = Framer(house.scratch, limit=house.frame_bytes_max)
        self._claimed = 0  # bytes that were claimed for a request that is arriving
        self._leaving: list[PendingRequest] = []  # whose answers wait for the client to read them
        self._is_held = False  # a request is done in slices: the next ones are not begun
        self._kept: deque[bytearray] = deque()  # these
        self._is_reading = False  # answers wait until all frames of one read were begun
        self._paused = False
        self._closing = False  # nothing is read any more, what is open is answered

    @property
    def peer(self) -> Address:
        """Who it is."""
        return self.stream.peer

    @property
    def local(self) -> Address:
        """The address by which it reached us."""
        return self.stream.local

    # -- in ------------------------------------------------------------------------------------

    def buffer(self) -> memoryview:
        """The shared scratch buffer, or the place of the rest of a large frame."""
        return self._framer.buffer()

    def received(self, count: int) -> None:
        """Begins every request that is whole now."""
        house, framer = self._house, self._framer
        self.arrived_at = house.clock.micros()
        frames = framer.received(count)
        if frames:
            self._is_reading = True
            for frame in frames:
                if self._is_held:
                    self._kept.append(frame)
                    continue
                if self._counts:
                    house.memory.take(len(frame))
                house.on_frame(self, frame)
                if self.is_over:
                    return
            self._is_reading = False
            if self.row and self.row[0].chunks is not None:
                self._send_ready()
        if framer.fault is not None:
            house.lines.info("connection.refused", peer=self.peer, reason=str(framer.fault))
            self.close()
        elif framer.held != self._claimed:
            self._claim(framer.held, framer.announced)
        if len(self.row) >= EXCHANGES_MAX:
            self._pause()

    def begin(  # noqa: PLR0917 - called for every request, and keywords cost
        self, key: int, version: int, correlation_id: int, client_id: str, frame: bytearray
    ) -> PendingRequest:
        """A request, as the last in the row."""
        now = self._house.clock.micros()
        pending = PendingRequest(
            self, key, version, correlation_id, client_id, frame, self.arrived_at, now
        )
        self.row.append(pending)
        return pending

    def hold(self) -> None:
        """No further request is begun, or read, until `release`."""
        self._is_held = True
        self._pause()

    def release(self) -> None:
        """Begins those that have come meanwhile."""
        self._is_held = False
        while self._kept and not self._is_held and not self.is_over:
            frame = self._kept.popleft()
            if self._counts:
                self._house.memory.take(len(frame))
            self._house.on_frame(self, frame)
        if self._paused:
            self.look_at_bounds()

    def _claim(self, size: int, announced: int) -> None:
        """Claims this memory for the request that is arriving; the one before it has arrived."""
        memory = self._house.memory
        if size < self._claimed or not size:
            memory.release(self)
        self._claimed = size
        if size and not memory.claim(self, size, announced, self.arrived_at):
            self._pause()

    # -- out -----------------------------------------------------------------------------------

    def waits(self, pending: PendingRequest) -> None:
        """From now on."""
        pending.waits_from = self._house.clock.micros()

    def answered(self, pending: PendingRequest) -> None:
        """It leaves at once if it is the first in the row, or takes its place in it."""
        pending.ready_at = self._house.clock.micros()
        if not self._is_reading and self.row and self.row[0] is pending:
            self._send_ready()
            if self._paused:
                self.look_at_bounds()

    def _send_ready(self) -> None:
        """Hands over every answer whose turn has come; the first one has."""
        row = self.row
        left = [row.popleft()]
        out = left[0].chunks
        assert out is not None, "it was looked at"
        while row and row[0].chunks is not None:
            pending = row.popleft()
            assert pending.chunks is not None, "it was looked at"
            out = [*out, *pending.chunks]
            left.append(pending)
        if self._counts:
            self._house.memory.give_back(sum(len(pending.frame) for pending in left))
        now = self._house.clock.micros()
        for pending in left:
            pending.sent_at = now
        if out:
            self.stream.send(out)
        unsent = self.stream.unsent()
        if unsent:
            self._leaving += left
            if unsent > UNSENT_BYTES_MAX:
                self._pause()
        else:
            for pending in left:
                self._house.on_answer(pending)
        if self._closing and not row:
            self.stream.close()

    def drained(self) -> None:
        """The client has taken all; it is read again."""
        self.taken_at = self._house.clock.micros()
        left, self._leaving = self._leaving, []
        for pending in left:
            self._house.on_answer(pending)
        self.look_at_bounds()

    # -- bounds --------------------------------------------------------------------------------

    def look_at_bounds(self) -> None:
        """Pauses and resumes as the bounds say."""
        if self.is_over or self._closing:
            return
        full = (
            self._is_held
            or len(self.row) >= EXCHANGES_MAX
            or self.stream.unsent() > UNSENT_BYTES_MAX
            or (self._claimed and self._house.memory.waits(self))
        )
        if full:
            self._pause()
        elif self._paused:
            self._paused = False
            self.stream.resume()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self.stream.pause()

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Reads no more; what is open is still answered."""
        if self._closing or self.is_over:
            return
        self._closing = True
        self._pause()
        if not self.row:
            self.stream.close()

    def hang_up(self, reason: str) -> None:
        """Closes at once."""
        if not self.is_over:
            self._house.lines.info("connection.closed", peer=self.peer, reason=reason)
            self._end()
            self.stream.abort()

    def note_bug(self, api: str, error: Exception) -> None:
        """A handler has failed in a way that is no client's fault."""
        self._house.lines.error("request.failed", api=api, exc_info=error)

    def closed(self, error: OSError | None) -> None:
        """The client is gone; how does not matter."""
        del error
        if not self.is_over:
            self._end()

    def _end(self) -> None:
        """Whoever works for this client may stop, and its memory is free."""
        self.is_over = True
        self._framer.drop()
        self._leaving.clear()
        self._kept.clear()
        row, self.row = self.row, deque()
        for pending in row:
            gone, pending.on_gone = pending.on_gone, None
            if gone is not None:
                gone()
        if self._claimed:
            self._claimed = 0
            self._house.memory.release(self)
        if self._counts:
            self._house.memory.give_back(sum(len(pending.frame) for pending in row))
        self._house.forget(self)
