"""A connection on the loop: asks, delivers answers in their order, and reports its end at once.

The shell of `requests` on the Network and Clock doors, the same in `runtime` and in `sim`. One
timer serves all requests in flight. A request that is overdue ends the connection: answers come in
order, so nothing behind it can come first.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from odradek.model.units import SECOND, Millis
from odradek.peers.errors import (
    ClosedByUs,
    ConnectionGone,
    TimedOut,
    connecting_failed,
    connection_ended,
)
from odradek.peers.login import Login
from odradek.peers.reauthentication import Reauthentication
from odradek.peers.requests import EncodedRequest, RequestsInFlight, encode_request
from odradek.ports import Address, Clock, Network, Stream
from odradek.wire.schema import Request

CONNECT_MS: Final = Millis(10 * SECOND)
ANSWER_MS: Final = Millis(30 * SECOND)

OnEnd = Callable[[ConnectionGone], None]
OnAnswer = Callable[[Any, ConnectionGone | None], None]
"""Told of the answer in the turn in which it comes, or of why there will be none."""


class _Held(NamedTuple):
    """A request that waits until the name was proven again."""

    request: EncodedRequest
    on_answer: OnAnswer | None  # None: it gets none
    timeout_ms: Millis


class Connection:
    """One connection to one process; the receiver of its stream. It is not opened again.

    `on_end` is called once, in a turn of the loop, with the reason, when every request in flight
    has failed with the same.
    """

    def __init__(
        self, clock: Clock, address: Address, client_id: str | None, on_end: OnEnd | None = None
    ) -> None:
        self.address = address
        self._clock = clock
        self._on_end = on_end
        self._flight: RequestsInFlight[OnAnswer] = RequestsInFlight(client_id)
        self._stream: Stream | None = None
        self._reason: ConnectionGone | None = None  # why we ended it; or None, and the peer did
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = Millis(0)
        self.buffer = self._flight.buffer
        """Where the next bytes go."""
        self.is_open = False  # it may be asked
        self._again: Reauthentication | None = None  # where the name is believed for a time
        self._held: deque[_Held] | None = None  # while it is proven again

    async def open(self, network: Network, connect_ms: Millis = CONNECT_MS) -> "Connection":
        """Connects; the errors of `peers.errors` say why not."""
        try:
            async with asyncio.timeout(connect_ms / SECOND):
                await network.connect(self.address, self._attach)
        except TimeoutError as error:  # ours, or the kernel's own
            host, port = self.address
            raise TimedOut(f"{host}:{port}: no connection in {connect_ms} ms") from error
        except OSError as error:
            raise connecting_failed(self.address, error) from error
        return self

    @property
    def in_flight(self) -> int:
        """The count of requests that wait for their answers."""
        return len(self._flight) + len(self._held or ())

    async def ask(self, request: Request, version: int, *, timeout_ms: Millis = ANSWER_MS) -> Any:
        """The answer to a request."""
        return await self.send(encode_request(request, version), timeout_ms=timeout_ms)

    def send(
        self, request: EncodedRequest, *, timeout_ms: Millis = ANSWER_MS
    ) -> asyncio.Future[Any]:
        """Sends now; the future gets the answer."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send_then(request, partial(_settle, future), timeout_ms=timeout_ms)
        return future

    def send_then(
        self, request: EncodedRequest, on_answer: OnAnswer, *, timeout_ms: Millis = ANSWER_MS
    ) -> None:
        """Sends now; `on_answer` gets the answer, in fewer turns of the loop than a future."""
        stream = self._stream
        if stream is None or not self.is_open:
            raise self._gone()
        if self._held is not None:
            self._held.append(_Held(request, on_answer, timeout_ms))
            return
        deadline = Millis(self._clock.monotonic() + timeout_ms)
        stream.send(self._flight.send(request, deadline, on_answer))
        if self._timer is None or deadline < self._rings_at:
            self._arm(deadline)

    def post(self, request: EncodedRequest) -> None:
        """Sends a request that gets no answer."""
        if self._stream is None or not self.is_open:
            raise self._gone()
        if self._held is not None:
            self._held.append(_Held(request, None, ANSWER_MS))
            return
        self._stream.send(self._flight.post(request))

    def close(self) -> None:
        """Ends it; requests in flight fail."""
        self.end(ClosedByUs("the connection was closed by this process"))

    def _gone(self) -> ConnectionGone:
        return self._reason or ClosedByUs("the connection is closed")

    # The name, proven again

    def is_believed(self, login: Login, session_ms: Millis) -> None:
        """A name was proven on it, for so long; 0 is without an end."""
        if session_ms:
            self._again = Reauthentication(self, login, session_ms)

    def hold(self) -> None:
        """What is asked from now on waits, in its order."""
        self._held = deque()

    def ask_now(
        self, request: Request, version: int, on_answer: OnAnswer, timeout_ms: Millis
    ) -> None:
        """Asks before all that is held."""
        held, self._held = self._held, None
        self.send_then(encode_request(request, version), on_answer, timeout_ms=timeout_ms)
        self._held = held

    def release(self) -> None:
        """Sends what was held."""
        held, self._held = self._held, None
        for request, on_answer, timeout_ms in held or ():
            if on_answer is None:
                self.post(request)
            else:
                self.send_then(request, on_answer, timeout_ms=timeout_ms)

    # Time

    def _arm(self, deadline: Millis) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = deadline
        seconds = max(0, deadline - self._clock.monotonic()) / SECOND
        self._timer = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        """Most requests were answered long ago: the timer moves on to those that were not."""
        self._timer = None
        late = self._flight.overdue(self._clock.monotonic())
        if late is not None:
            self.end(late)
            return
        deadline = self._flight.deadline()
        if deadline is not None:
            self._arm(deadline)

    # The end

    def end(self, reason: ConnectionGone) -> None:
        """By our own doing; the stream tells `closed` in a turn of its own."""
        if self._stream is not None and self._reason is None:
            self._reason = reason
            self.is_open = False
            self._stream.abort()
            self._fail(reason)

    def _fail(self, reason: ConnectionGone) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._again is not None:
            self._again.stop()
        held, self._held = self._held, None
        for on_answer in self._flight.abandon():
            on_answer(None, reason)
        for each in held or ():
            if each.on_answer is not None:
                each.on_answer(None, reason)

    # The receiver

    def _attach(self, stream: Stream) -> "Connection":
        self._stream = stream
        self.is_open = True
        return self

    def received(self, count: int) -> None:
        """Whole answers go to those who wait for them."""
        for on_answer, response in self._flight.received(count):
            on_answer(response, None)
        if self._flight.fault is not None:
            self.end(self._flight.fault)

    def drained(self) -> None:
        """No caller waits for this."""

    def closed(self, error: OSError | None) -> None:
        """Requests that wait for an answer fail, with the reason."""
        self._stream = None
        self.is_open = False
        reason = self._reason = self._reason or connection_ended(self.address, error)
        self._fail(reason)
        if self._on_end is not None:
            self._on_end(reason)


def _settle(future: "asyncio.Future[Any]", response: Any, error: ConnectionGone | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(response)
    else:
        future.set_exception(error)
