"""SaslHandshake and SaslAuthenticate from a client's side: frames in, frames out."""

from typing import Final

from odradek.model.errors import BrokerError, ErrorCode
from odradek.ports import Chunk
from odradek.security.errors import AuthenticationFailed, IllegalSaslState, UnsupportedMechanism
from odradek.security.mechanism import ClientMechanism
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from odradek.wire.schema import Request

HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 1
"""Every Kafka since 2.2 has them; nothing is negotiated before."""


class ClientExchange:
    """One conversation; over once `is_done`. A refusal is raised."""

    def __init__(self, name: str, mechanism: ClientMechanism, client_id: str | None) -> None:
        self.is_done = False
        self._name = name
        self._mechanism = mechanism
        self._client_id = client_id
        self._sent = 0

    def begin(self) -> list[Chunk]:
        """The first frame."""
        return self._frame(SaslHandshakeRequest(self._name), HANDSHAKE_VERSION)

    def received(self, frame: bytes | bytearray) -> list[Chunk]:
        """The next frame to send; empty when it is done."""
        if int.from_bytes(frame[:4], "big", signed=True) != self._sent - 1:
            raise IllegalSaslState("SASL: an answer to another request")
        if self._sent == 1:
            self._check_handshake(frame)
            return self._token(self._mechanism.first())
        response = read_response(SaslAuthenticateResponse, AUTHENTICATE_VERSION, frame)[1]
        if response.error_code:
            raise _refusal(response.error_code, response.error_message)
        token = self._mechanism.respond(bytes(response.auth_bytes))
        if token is None:
            self.is_done = True
            return []
        return self._token(token)

    def _check_handshake(self, frame: bytes | bytearray) -> None:
        response = read_response(SaslHandshakeResponse, HANDSHAKE_VERSION, frame)[1]
        if response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            there = ", ".join(response.mechanisms) or "nothing"
            raise UnsupportedMechanism(f"{self._name} is not offered; the broker offers {there}")
        if response.error_code:
            raise _refusal(response.error_code, None)

    def _token(self, token: bytes) -> list[Chunk]:
        return self._frame(SaslAuthenticateRequest(token), AUTHENTICATE_VERSION)

    def _frame(self, request: Request, version: int) -> list[Chunk]:
        self._sent += 1
        return request_frame(request, version, self._sent - 1, self._client_id)


def _refusal(code: int, message: str | None) -> BrokerError:
    if code == ErrorCode.ILLEGAL_SASL_STATE:
        return IllegalSaslState(message or "the broker did not expect this")
    return AuthenticationFailed(message or f"the broker refuses the handshake with code {code}")
