"""A client's connection on a plain socket, without a loop: the blocking shell of `peers.requests`.

For processes that have no loop and want none, such as Spark's workers. Requests may be pipelined:
`send` returns at once what will hold the answer, and `PendingAnswer.wait` reads until it is there;
answers to others that come before it are kept for them. One thread at a time. A name whose time is
nearly over is proven again before the next request.
"""

import socket
from typing import Any, Final

from odradek.client.blocking.security import BlockingSecurity
from odradek.client.blocking.wire import Wire, now
from odradek.client.connection_limits import ANSWER_MS, VERSIONS_MAX, patience
from odradek.client.errors import check
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import (
    ClosedByUs,
    ConnectionGone,
    MalformedAnswer,
    NotAuthenticated,
    TimedOut,
    connecting_failed,
    connection_ended,
)
from odradek.peers.requests import RequestsInFlight, encode_request
from odradek.peers.versions import NegotiatedVersions
from odradek.ports import Address
from odradek.security.mechanisms.client_exchange import SaslRequest, proven_again_in, version_of
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
        self,
        address: Address,
        client_id: str,
        security: BlockingSecurity | None = None,
        *,
        opening_ms: Millis = ANSWER_MS,
        answer_ms_max: Millis | None = None,
    ) -> None:
        """A broker may take so long to take a connection; and so long for an answer, at most."""
        self.address = address
        self._answer_ms_max: Millis | None = opening_ms
        self._flight: RequestsInFlight[PendingAnswer] = RequestsInFlight(client_id)
        self._reason: ConnectionGone | None = None
        self._security = security
        self._proven_again_at: Millis | None = None  # None: the name holds as long as all this
        make = None if security is None else security.ready(address)
        try:
            plain = socket.create_connection(address, min(CONNECT_MS, opening_ms) / SECOND)
        except OSError as error:
            raise connecting_failed(address, error) from error
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wire: Wire = Wire(plain)
        try:
            if security is not None:
                self._wire, session_ms = security.secured(plain, address, client_id, make)
                self._proven_for(session_ms)
            answer = self._post(ApiVersionsRequest(), 0).wait()
            check(answer.error_code)
        except BaseException:
            self.close()
            raise
        self.versions = NegotiatedVersions.of(answer, VERSIONS_MAX)
        self._answer_ms_max = answer_ms_max

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
        if self._proven_again_at is not None and now() >= self._proven_again_at:
            self._prove_again()
        if version is None:
            version = self.versions.newest(request.KEY)
        return self._post(request, version)

    def ask(self, request: Request, version: int | None = None) -> Any:
        """The answer to a request."""
        return self.send(request, version).wait()

    def _proven_for(self, session_ms: Millis) -> None:
        pause = proven_again_in(session_ms)
        self._proven_again_at = None if pause is None else Millis(now() + pause)

    def _prove_again(self) -> None:
        """Before its time is over (KIP-368). Answers that come before are kept for who waits."""
        assert self._security is not None, "it was proven before"
        try:
            conversation = self._security.conversation(self.address)
            request: SaslRequest | None = conversation.begin()
            while request is not None:
                request = conversation.answered(self._post(request, version_of(request)).wait())
        except ConnectionGone as error:
            self._end(error)
            raise
        except BrokerError as error:
            refused = NotAuthenticated(f"{self.address[0]}:{self.address[1]}: {error}")
            self._end(refused)
            raise refused from error
        self._proven_for(conversation.session_ms)

    def _post(self, request: Request, version: int) -> PendingAnswer:
        if self._reason is not None:
            raise self._reason
        pending = PendingAnswer(self)
        kept = min(patience(request), self._answer_ms_max or patience(request))
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
