"""A client's connection on a plain socket, without a loop: the blocking shell of `peers.requests`.

For processes that have no loop and want none, such as Spark's workers. Requests may be pipelined:
`send` returns at once what will hold the answer, and `PendingAnswer.wait` reads until it is there;
answers to others that come before it are kept for them. One thread at a time.
"""

import socket
from typing import Any, Final

from odradek.client.blocking_security import BlockingSecurity
from odradek.client.blocking_wire import Wire, now
from odradek.client.connection_limits import VERSIONS_MAX, patience
from odradek.client.errors import check
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import (
    ClosedByUs,
    ConnectionGone,
    MalformedAnswer,
    TimedOut,
    connecting_failed,
    connection_ended,
)
from odradek.peers.requests import RequestsInFlight, encode_request
from odradek.peers.versions import NegotiatedVersions
from odradek.ports import Address
from odradek.wire.framing import InvalidFrame
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.schema import Request

CONNECT_MS: Final = Millis(10 * SECOND)


class PendingAnswer:
    """An answer that will come, or why it will not."""

    __slots__ = ("_connection", "_response", "error")

    def __init__(self, connection: "BlockingConnection") -> None:
        self._connection = connection
        self._response: Any = None
        self.error: ConnectionGone | None = None

    @property
    def is_done(self) -> bool:
        """Whether `wait` returns at once."""
        return self._response is not None or self.error is not None

    def resolve(self, response: Any) -> None:
        """It is there."""
        self._response = response

    def wait(self) -> Any:
        """Reads until it is there."""
        while not self.is_done:
            self._connection.receive()
        if self.error is not None:
            raise self.error
        return self._response


class BlockingConnection:
    """Asks one broker; not opened again."""

    def __init__(
        self, address: Address, client_id: str, security: BlockingSecurity | None = None
    ) -> None:
        self.address = address
        self._flight: RequestsInFlight[PendingAnswer] = RequestsInFlight(client_id)
        self._reason: ConnectionGone | None = None
        try:
            plain = socket.create_connection(address, CONNECT_MS / SECOND)
        except OSError as error:
            raise connecting_failed(address, error) from error
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire: Wire = Wire(plain)
        try:
            if security is not None:
                self._wire = security.secured(plain, address, client_id)
            answer = self._post(ApiVersionsRequest(), 0).wait()
            check(answer.error_code)
        except BaseException:
            self.close()
            raise
        self.versions = NegotiatedVersions.of(answer, VERSIONS_MAX)

    @property
    def is_open(self) -> bool:
        """Whether it may be asked."""
        return self._reason is None

    @property
    def in_flight(self) -> int:
        """The count of requests whose answers were not received yet."""
        return len(self._flight)

    def close(self) -> None:
        """Ends it; requests in flight fail."""
        self._end(ClosedByUs("the connection was closed by this process"))

    def send(self, request: Request, version: int | None = None) -> PendingAnswer:
        """Sends a request, in the newest version if none is named."""
        if version is None:
            version = self.versions.newest(request.KEY)
        return self._post(request, version)

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The answer to a request."""
        return self.send(request, version).wait()

    def _post(self, request: Request, version: int) -> PendingAnswer:
        if self._reason is not None:
            raise self._reason
        pending = PendingAnswer(self)
        kept = patience(request)
        deadline = Millis(now() + kept)
        frame = self._flight.send(encode_request(request, version), deadline, pending)
        try:
            self._wire.send(frame, Millis(kept))
        except OSError as error:
            self._end(connection_ended(self.address, error))
        return pending

    def receive(self) -> None:
        """Reads one answer, and hands it out; the end of the connection goes to everybody."""
        if self._reason is not None:
            return
        deadline = self._flight.deadline()
        assert deadline is not None, "no request waits"
        try:
            frame = self._wire.frame(deadline)
        except BlockingIOError:
            late = self._flight.overdue(now())
            self._end(late or TimedOut(f"{self.address[0]}:{self.address[1]}: no answer in time"))
            return
        except InvalidFrame as error:
            self._end(MalformedAnswer(str(error)))
            return
        except OSError as error:
            self._end(connection_ended(self.address, error))
            return
        except EOFError:
            self._end(connection_ended(self.address, None))
            return
        for pending, response in self._flight.read(frame):
            pending.resolve(response)
        if self._flight.fault is not None:
            self._end(self._flight.fault)

    def _end(self, reason: ConnectionGone) -> None:
        if self._reason is None:
            self._reason = reason
            self._wire.close()
            for pending in self._flight.abandon():
                pending.error = reason
