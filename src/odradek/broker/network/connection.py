"""One client's connection: requests in, answers out, both in their order and within bounds.

A connection is not read while it has too many requests open, while its client does not read its
answers, or while requests of all connections together use the memory that they may. The kernel's
buffers then slow the client down; nothing is dropped.

Invariant: `row` holds the requests that were begun and whose answers were not given to the stream
yet, in the order of their arrival.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from odradek.broker.network.line_limit import LineLimit
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.network.refused_batches import RefusedBatches
from odradek.broker.network.request_memory import RequestMemory
from odradek.broker.network.session import Session
from odradek.model.units import MIB, Bytes, Micros
from odradek.ports import Address, Clock, Stream
from odradek.security.principal import ANONYMOUS
from odradek.wire.framing import Framer, Scratch

OPEN_REQUESTS_MAX: Final = 64
"""Requests of one connection that are open at a time; clients have five as a rule."""
UNSENT_BYTES_MAX: Final = Bytes(MIB)
"""Bytes of answers that may wait for a client; beyond it no further request is read."""

NOT_NOW: Final = Micros(0)


class ConnectionHost(Protocol):
    """The socket server, as far as its connections use it."""

    scratch: Scratch
    clock: Clock
    memory: RequestMemory
    lines: LineLimit
    frame_bytes_max: int

    @property
    def on_frame(self) -> Callable[["Connection", bytearray], None]:
        """Begins a request, or closes the connection if the request cannot be read."""
        ...

    @property
    def on_answer(self) -> Callable[[PendingRequest], None]:
        """An answer was sent: for the metrics."""
        ...

    def forget(self, connection: "Connection") -> None:
        """The connection has ended."""
        ...


class Connection:
    """A client's connection; the `Receiver` of its stream."""

    __slots__ = (
        "_claimed",
        "_closing",
        "_counts",
        "_first_at",
        "_framer",
        "_host",
        "_is_held",
        "_is_reading",
        "_kept",
        "_leaving",
        "_mutes",
        "_paused",
        "arrived_at",
        "at_end",
        "buffer",
        "client_id",
        "client_id_bytes",
        "is_over",
        "listener",
        "principal",
        "refused",
        "row",
        "session",
        "software",
        "stream",
        "taken_at",
    )

    def __init__(self, host: ConnectionHost, stream: Stream, listener: str) -> None:
        self.stream = stream
        self.listener = listener
        self.client_id_bytes = b""  # of the last request, as it came
        self.client_id = ""
        self.software = ("", "")
        self.principal = ANONYMOUS  # who the client is, as it has proven
        self.session: Session | None = None  # in which the name may be proven again
        self.refused = RefusedBatches()
        self.row: deque[PendingRequest] = deque()
        self.is_over = False
        self.at_end: Callable[[], None] | None = None  # is called once it has ended
        self.arrived_at = host.clock.micros()  # when something was last read
        self.taken_at = self.arrived_at  # when the client last took all that waited for it
        self._first_at = NOT_NOW  # the first request of a read begins when it arrives
        self._host = host
        self._counts = host.memory.is_bounded
        self._framer = Framer(host.scratch, limit=host.frame_bytes_max)
        self.buffer = self._framer.buffer  # the shared one, or the rest of a large frame's
        self._claimed = 0  # bytes that were claimed for a request that is arriving
        self._leaving: list[PendingRequest] = []  # whose answers wait for the client to read them
        self._is_held = False  # a request is done in slices: the next ones are not begun
        self._kept: deque[bytearray] = deque()  # these
        self._is_reading = False  # answers wait until all frames of one read were begun
        self._paused = False
        self._mutes = 0  # pauses that a client above its limits has to make
        self._closing = False  # nothing is read any more, what is open is answered

    @property
    def peer(self) -> Address:
        """The client's address."""
        return self.stream.peer

    @property
    def local(self) -> Address:
        """The broker's address to which the client connected."""
        return self.stream.local

    # -- in ------------------------------------------------------------------------------------

    def received(self, count: int) -> None:
        """Begins every request that has arrived completely."""
        host, framer = self._host, self._framer
        self.arrived_at = self._first_at = host.clock.micros()
        frames = framer.received(count)
        if frames:
            self._is_reading = True
            for frame in frames:
                if self._is_held:
                    self._kept.append(frame)
                    continue
                if self._counts:
                    host.memory.take(len(frame))
                host.on_frame(self, frame)
                if self.is_over:
                    return
                if self._closing:
                    break
            self._is_reading = False
            self._first_at = NOT_NOW
            if self.row and self.row[0].chunks is not None:
                self._send_ready(host.clock.micros())
        if framer.fault is not None:
            host.lines.info("connection.refused", peer=self.peer, reason=str(framer.fault))
            self.close()
        elif framer.held != self._claimed:
            self._claim(framer.held, framer.announced)
        if len(self.row) >= OPEN_REQUESTS_MAX:
            self._pause()

    def begin(  # noqa: PLR0917 - called for every request, and keywords cost
        self, key: int, version: int, correlation_id: int, client_id: str, frame: bytearray
    ) -> PendingRequest:
        """Adds a request to the row."""
        now, self._first_at = self._first_at or self._host.clock.micros(), NOT_NOW
        pending = PendingRequest(
            self, key, version, correlation_id, client_id, frame, self.arrived_at, now
        )
        self.row.append(pending)
        return pending

    def rename(self, client_id: bytes) -> str:
        """Another client id than before; as a rule all requests have the same."""
        self.client_id_bytes, self.client_id = client_id, client_id.decode("utf-8", "replace")
        return self.client_id

    def hold(self) -> None:
        """No further request is begun, or read, until `release`."""
        self._is_held = True
        self._pause()

    def release(self) -> None:
        """Begins those that have come meanwhile."""
        self._is_held = False
        while self._kept and not (self._is_held or self._closing or self.is_over):
            frame = self._kept.popleft()
            if self._counts:
                self._host.memory.take(len(frame))
            self._host.on_frame(self, frame)
        if self._paused:
            self.look_at_bounds()

    def _claim(self, size: int, announced: int) -> None:
        """Claims this memory for the request that is arriving; the one before it has arrived."""
        memory = self._host.memory
        if size < self._claimed or not size:
            memory.release(self)
        self._claimed = size
        if size and not memory.claim(self, size, announced, self.arrived_at):
            self._pause()

    # -- out -----------------------------------------------------------------------------------

    def waits(self, pending: PendingRequest) -> None:
        """The request waits for others, or for time, from now on."""
        pending.waits_from = self._host.clock.micros()

    def answered(self, pending: PendingRequest) -> None:
        """Sends the answer if it is the next one; otherwise it waits for those before it."""
        now = pending.ready_at = self._host.clock.micros()
        if not self._is_reading and self.row and self.row[0] is pending:
            self._send_ready(now)
            if self._paused:
                self.look_at_bounds()

    def _send_ready(self, now: Micros) -> None:
        """Sends every answer that is next; the first in the row is ready."""
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
            self._host.memory.give_back(sum(len(pending.frame) for pending in left))
        for pending in left:
            pending.sent_at = now
        if out:
            self.stream.send(out)
        unsent = self.stream.unsent
        if unsent:
            self._leaving += left
            if unsent > UNSENT_BYTES_MAX:
                self._pause()
        else:
            for pending in left:
                self._host.on_answer(pending)
        if self._closing and not row:
            self.stream.close()

    def drained(self) -> None:
        """The client has read all its answers; its requests are read again."""
        self.taken_at = self._host.clock.micros()
        left, self._leaving = self._leaving, []
        for pending in left:
            self._host.on_answer(pending)
        self.look_at_bounds()

    # -- bounds --------------------------------------------------------------------------------

    def look_at_bounds(self) -> None:
        """Stops or resumes reading, as the bounds require."""
        if self.is_over or self._closing:
            return
        full = (
            self._is_held
            or self._mutes
            or len(self.row) >= OPEN_REQUESTS_MAX
            or self.stream.unsent > UNSENT_BYTES_MAX
            or (self._claimed and self._host.memory.waits(self))
        )
        if full:
            self._pause()
        elif self._paused:
            self._paused = False
            self.stream.resume()

    def mute(self) -> None:
        """Reads no more, until `unmute` was called as often."""
        self._mutes += 1
        self._pause()

    def unmute(self) -> None:
        """Reads on; a client that was not heard was not idle."""
        self._mutes -= 1
        self.arrived_at = self._host.clock.micros()
        self.look_at_bounds()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self.stream.pause()

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Reads no more, and begins none that was read; open requests are still answered."""
        if self._closing or self.is_over:
            return
        self._closing = True
        self._pause()
        if not self.row:
            self.stream.close()

    def hang_up(self, reason: str) -> None:
        """Closes at once."""
        if not self.is_over:
            self._host.lines.info("connection.closed", peer=self.peer, reason=reason)
            self._end()
            self.stream.abort()

    def note_bug(self, api: str, error: Exception) -> None:
        """A handler has failed in a way that is no client's fault."""
        self._host.lines.error("request.failed", api=api, exc_info=error)

    def closed(self, error: OSError | None) -> None:
        """The client has disconnected."""
        del error
        if not self.is_over:
            self._end()

    def _end(self) -> None:
        """Requests that wait are given up, and memory is released."""
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
            self._host.memory.release(self)
        if self._counts:
            self._host.memory.give_back(sum(len(pending.frame) for pending in row))
        self._host.forget(self)
        if self.at_end is not None:
            self.at_end()
