"""SaslHandshake and SaslAuthenticate from a client's side: requests, or whole frames."""

from typing import Final

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Millis
from odradek.ports import Chunk
from odradek.security.errors import AuthenticationFailed, IllegalSaslState, UnsupportedMechanism
from odradek.security.mechanisms.mechanism import ClientMechanism
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 1
"""Every Kafka since 2.2 has them; nothing is negotiated before."""

DUE: Final = 0.85
"""Of a session, when the name is proven again; as Kafka's clients do at the earliest."""
APART_MIN: Final = Millis(1_100)
"""Between two proofs: Kafka takes none within a second of the one before."""

SaslRequest = SaslHandshakeRequest | SaslAuthenticateRequest
SaslResponse = SaslHandshakeResponse | SaslAuthenticateResponse


def version_of(request: object) -> int:
    """In which it is sent."""
    return HANDSHAKE_VERSION if isinstance(request, SaslHandshakeRequest) else AUTHENTICATE_VERSION


def proven_again_in(session_ms: Millis) -> Millis | None:
    """None: a session without an end, or one that ends sooner than the next proof is taken."""
    pause = Millis(max(int(session_ms * DUE), APART_MIN))
    return pause if session_ms > pause else None


class ClientConversation:
    """One proof of a name; over when there is no request more. A refusal is raised."""

    def __init__(self, name: str, mechanism: ClientMechanism) -> None:
        self.session_ms = Millis(0)  # for how long it is believed; 0: without an end
        self._name = name
        self._mechanism = mechanism

    def begin(self) -> SaslHandshakeRequest:
        """The first request."""
        return SaslHandshakeRequest(self._name)

    def answered(self, response: SaslResponse) -> SaslAuthenticateRequest | None:
        """The next request; None: the name is proven."""
        if isinstance(response, SaslHandshakeResponse):
            self._check_handshake(response)
            return SaslAuthenticateRequest(self._mechanism.first())
        if response.error_code:
            raise _refusal(response.error_code, response.error_message)
        token = self._mechanism.respond(bytes(response.auth_bytes))
        if token is None:
            self.session_ms = Millis(response.session_lifetime_ms)
            return None
        return SaslAuthenticateRequest(token)

    def _check_handshake(self, response: SaslHandshakeResponse) -> None:
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            there = ", ".join(response.mechanisms) or "nothing"
            raise UnsupportedMechanism(f"{self._name} is not offered; the broker offers {there}")
        if response.error_code:
            raise _refusal(response.error_code, None)


class ClientExchange:
    """One conversation in frames, before a connection has requests; over once `is_done`."""

    def __init__(self, name: str, mechanism: ClientMechanism, client_id: str | None) -> None:
        self.is_done = False
        self._conversation = ClientConversation(name, mechanism)
        self._client_id = client_id
        self._sent = 0

    @property
    def session_ms(self) -> Millis:
        """For how long the name is believed that was proven; 0: without an end."""
        return self._conversation.session_ms

    def begin(self) -> list[Chunk]:
        """The first frame."""
        return self._frame(self._conversation.begin())

    def received(self, frame: bytes | bytearray) -> list[Chunk]:
        """The next frame to send; empty when it is done."""
        if int.from_bytes(frame[:4], "big", signed=True) != self._sent - 1:
            raise IllegalSaslState("SASL: an answer to another request")
        request = self._conversation.answered(self._read(frame))
        if request is None:
            self.is_done = True
            return []
        return self._frame(request)

    def _read(self, frame: bytes | bytearray) -> SaslResponse:
        if self._sent == 1:
            return read_response(SaslHandshakeResponse, HANDSHAKE_VERSION, frame)[1]
        return read_response(SaslAuthenticateResponse, AUTHENTICATE_VERSION, frame)[1]

    def _frame(self, request: SaslRequest) -> list[Chunk]:
        self._sent += 1
        return request_frame(request, version_of(request), self._sent - 1, self._client_id)


def _refusal(code: int, message: str | None) -> BrokerError:
    if code == ErrorCode.ILLEGAL_SASL_STATE:
        return IllegalSaslState(message or "the broker did not expect this")
    return AuthenticationFailed(message or f"the broker refuses the handshake with code {code}")
