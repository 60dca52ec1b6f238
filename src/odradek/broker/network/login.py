"""Before the name is known: a connection to a listener with TLS or SASL, and how many there may be.

Such a client may ask for ApiVersions, SaslHandshake and SaslAuthenticate, and nothing else, within
a time for TLS and SASL together. What it sends is kept by the bytes that came, whatever it
announces. There may be so many of them in all, and from one address: beyond that the oldest is
closed, and the listener goes on accepting. Each listener has bounds of its own, so that strangers
on one for clients keep no broker from one for brokers. Once the name is known the ordinary
connection receives, with what came too early for it.
"""

import ssl
import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from odradek.broker.network.line_limit import LineLimit
from odradek.broker.timers import Timer, Timers
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import KIB, MIB, SECOND, Bytes, Millis
from odradek.peers.handover import Handover, deliver
from odradek.peers.tls_stream import TlsEnd, TlsStream
from odradek.ports import Address, Clock, Receiver, Stream
from odradek.security.certificates.certificate_names import Rule, principal_name
from odradek.security.certificates.der import MalformedCertificate
from odradek.security.mechanisms.server_exchange import Offer, Outcome, ServerExchange
from odradek.security.principal import ANONYMOUS, Principal, user
from odradek.wire.apis import API_VERSIONS
from odradek.wire.framing import InvalidFrame, Scratch, frame_bytes
from odradek.wire.headers import UnsupportedRequest, read_request, response_frame
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.wire.schema import Request, Response

LOGIN_MS_MAX: Final = Millis(10 * SECOND)
LOGINS_MAX: Final = 2_000
LOGINS_PER_ADDRESS_MAX: Final = 500
PASSES_BYTES: Final = Bytes(4 * KIB)
"""A request of so many bytes is always kept until it is whole."""
BYTES_MAX: Final = Bytes(16 * MIB)
"""Of all larger ones together."""
REQUESTS_MAX: Final = 20  # of one login; the longest conversation has four
LENGTH_BYTES: Final = 4
_START = struct.Struct(">hhi").unpack_from  # key, version, correlation id
EARLY_KEYS: Final = frozenset({API_VERSIONS, SaslHandshakeRequest.KEY, SaslAuthenticateRequest.KEY})
"""What may be asked without a name."""


class ListenerSecurity(NamedTuple):
    """How one listener is secured."""

    context: Callable[[], ssl.SSLContext] | None = None  # None: no TLS
    rules: tuple[Rule, ...] = ()  # from a certificate to a name
    offer: Offer | None = None  # None: no SASL
    frame_bytes_max: int = 512 * KIB


class Named(NamedTuple):
    """A client that may ask for everything: its stream, and who it is."""

    stream: Stream
    principal: Principal
    exchange: ServerExchange | None  # to prove the name again
    software: tuple[str, str]


class LoginHost(Protocol):
    """The socket server, as far as logins use it."""

    scratch: Scratch
    clock: Clock
    lines: LineLimit
    is_open: bool
    failed_delay: Millis
    api_versions: Callable[[ErrorCode], ApiVersionsResponse]
    on_login_refused: Callable[[str, Address, str], None]

    def named(self, listener: str, named: Named) -> Receiver:
        """The ordinary connection of a client whose name is known."""
        ...


class Logins:
    """All that are under way on one listener, the oldest first."""

    def __init__(
        self, host: LoginHost, timers: Timers, listener: str, security: ListenerSecurity
    ) -> None:
        self.host = host
        self.timers = timers
        self.listener = listener
        self.security = security
        self.bytes_held = 0  # of those that hold more than `PASSES_BYTES`
        self._open: dict[Login, None] = {}
        self._by_address: dict[str, dict[Login, None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def accept(self, stream: Stream) -> Receiver:
        """A client has connected."""
        address = stream.peer[0]
        here = self._by_address.setdefault(address, {})
        for logins, most in ((here, LOGINS_PER_ADDRESS_MAX), (self._open, LOGINS_MAX)):
            if len(logins) >= most:
                next(iter(logins)).hang_up("a newer login takes its place")
        login = Login(self, stream)
        self._open[login] = None
        self._by_address.setdefault(address, {})[login] = None
        if not self.host.is_open:
            stream.pause()
        return login.receiver()

    def resume(self) -> None:
        """The broker reads its clients from now on."""
        for login in list(self._open):
            login.accepted.resume()

    def close(self) -> None:
        """The broker ends."""
        for login in list(self._open):
            login.hang_up("the broker is stopping")

    def forget(self, login: "Login", address: str) -> None:
        """Its name is known, or it is over."""
        if self._open.pop(login, self) is None:
            here = self._by_address[address]
            del here[login]
            if not here:
                del self._by_address[address]


class Login:
    """One connection until its name is known; a `Receiver` of frames meanwhile."""

    def __init__(self, logins: Logins, accepted: Stream) -> None:
        self.accepted = accepted  # what the listener gave us, below TLS
        self._logins = logins
        self._host = logins.host
        self._security = logins.security
        self._stream = accepted  # on which requests come
        self._handover = Handover(self)
        self._data = bytearray()  # what came, and is no whole request yet
        self._held = 0  # as it is counted in `Logins.bytes_held`
        self._requests = 0
        self._software = ("", "")
        self._is_over = False  # refused, or named
        self._exchange: ServerExchange | None = None
        if self._security.offer is not None:
            self._exchange = ServerExchange(self._security.offer)
        deadline = Millis(self._host.clock.monotonic() + LOGIN_MS_MAX)
        self._timer: Timer = logins.timers.at(deadline, self._is_late)

    def receiver(self) -> Receiver:
        """Who receives first: TLS, if there is any."""
        if self._security.context is None:
            return self._handover
        return TlsStream(
            self.accepted,
            TlsEnd(self._security.context(), self._host.scratch.view, is_server=True),
            on_secured=self._on_secured,
            on_failed=self._on_tls_failed,
        )

    # TLS

    def _on_secured(self, stream: TlsStream) -> Receiver:
        self._stream = stream
        if self._is_over:
            return self._handover
        if self._exchange is None:
            self._named(self._of_certificate(stream.certificate))
        return self._handover

    def _of_certificate(self, certificate: bytes | None) -> Principal:
        if certificate is None:
            return ANONYMOUS
        try:
            return user(principal_name(certificate, self._security.rules))
        except (BrokerError, MalformedCertificate) as error:
            self._say_refused(str(error))
            raise ssl.SSLError(str(error)) from None

    def _on_tls_failed(self, error: OSError | None) -> None:
        if not self._is_over and error is not None:
            self._say_refused(f"TLS: {error}")
        self.closed(error)

    # Requests

    def buffer(self) -> memoryview:
        """The scratch buffer that all connections share."""
        return self._host.scratch.view

    def received(self, count: int) -> None:
        """Whole requests are answered; after the last one the rest is not ours."""
        if self._is_over:
            return
        self._data += self._host.scratch.view[:count]
        try:
            while (frame := self._next_frame()) is not None:
                self._on_frame(frame)
        except InvalidFrame as error:
            self.hang_up(str(error))
            return
        except (BrokerError, struct.error) as error:
            self.hang_up(f"a request that cannot be read: {error}")
            return
        if not self._is_over:
            self._hold()

    def _next_frame(self) -> bytearray | None:
        data = self._data
        if self._is_over or len(data) < LENGTH_BYTES:
            return None
        end = LENGTH_BYTES + frame_bytes(bytes(data[:4]), self._security.frame_bytes_max)
        if len(data) < end:
            return None
        frame = data[LENGTH_BYTES:end]
        del data[:end]
        return frame

    def _hold(self) -> None:
        """Counts what is kept, if it is much."""
        held = len(self._data) if len(self._data) > PASSES_BYTES else 0
        self._logins.bytes_held += held - self._held
        self._held = held
        if self._logins.bytes_held > BYTES_MAX:
            self.hang_up("requests before authentication hold too much memory")

    def _on_frame(self, frame: bytearray) -> None:
        key, version, number = _START(frame)
        self._requests += 1
        if key not in EARLY_KEYS or self._requests > REQUESTS_MAX:
            self.hang_up(f"request {key} v{version} before authentication")
            return
        try:
            request = read_request(frame)[1]
        except UnsupportedRequest:
            if key != API_VERSIONS:
                raise
            self._send(self._host.api_versions(ErrorCode.UNSUPPORTED_VERSION), 0, number)
            return
        self._answer(request, version, number)

    def _answer(self, request: Request, version: int, number: int) -> None:
        if isinstance(request, ApiVersionsRequest):
            self._software = (request.client_software_name, request.client_software_version)
            self._send(self._host.api_versions(ErrorCode.NONE), version, number)
            return
        assert isinstance(request, SaslHandshakeRequest | SaslAuthenticateRequest), request
        if isinstance(request, SaslHandshakeRequest) and version == 0:
            refusal = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_VERSION)
            self._refuse(refusal, (version, number), "SaslHandshake v0")
            return
        assert self._exchange is not None, "without SASL the name is known by now"
        reply = self._exchange.handle(request)
        if reply.outcome is Outcome.REFUSED:
            why = getattr(reply.response, "error_message", None) or "the mechanism"
            self._refuse(reply.response, (version, number), why)
            return
        self._send(reply.response, version, number)
        if reply.outcome is Outcome.PROVEN:
            assert self._exchange.principal is not None, "it was proven"
            self._named(self._exchange.principal)

    def _send(self, response: Response, version: int, number: int) -> None:
        self._stream.send(response_frame(response, version, number))

    def _refuse(self, response: Response, header: tuple[int, int], why: str) -> None:
        """Answers later, so that guessing is slow; nothing is read meanwhile."""
        self._say_refused(why)
        self._is_over = True
        self._stream.pause()

        def answer() -> None:
            self._send(response, *header)
            self._stream.close()

        now = self._host.clock.monotonic()
        self._logins.timers.at(Millis(now + self._host.failed_delay), answer)

    def _say_refused(self, why: str) -> None:
        listener = self._logins.listener
        peer = self.accepted.peer
        self._host.lines.info("authentication.failed", listener=listener, peer=peer, reason=why)
        self._host.on_login_refused(listener, peer, why)

    def _named(self, principal: Principal) -> None:
        """The ordinary connection goes on."""
        self._over()
        named = Named(self._stream, principal, self._exchange, self._software)
        receiver = self._host.named(self._logins.listener, named)
        self._handover.to(receiver)
        data, self._data = self._data, bytearray()
        deliver(receiver, data)

    # The end

    def _is_late(self) -> None:
        self.hang_up("it did not prove its name in time")

    def hang_up(self, reason: str) -> None:
        """Closes at once."""
        if not self._is_over:
            self._say_refused(reason)
            self._over()
        self.accepted.abort()

    def drained(self) -> None:
        """Answers are small; no reader waits for this."""

    def closed(self, error: OSError | None) -> None:
        """The client is gone."""
        del error
        if not self._is_over and self._exchange is not None and self._exchange.refused:
            self._say_refused(self._exchange.refused)
        self._over()
        self._handover.end()

    def _over(self) -> None:
        self._is_over = True
        self._timer.cancel()
        self._logins.bytes_held -= self._held
        self._held = 0
        self._logins.forget(self, self.accepted.peer[0])


ListenersSecurity = Mapping[str, ListenerSecurity]
"""By listener; one that is not there speaks PLAINTEXT."""
