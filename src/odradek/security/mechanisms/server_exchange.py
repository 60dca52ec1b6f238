"""SaslHandshake and SaslAuthenticate on one connection: which may come when, and what they mean.

Once a name is proven the same two requests prove it again (KIP-368), with the mechanism of the
first time: another principal is refused. Anything out of order ends the connection.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Millis
from odradek.security.errors import AuthenticationFailed, IllegalSaslState, UnsupportedMechanism
from odradek.security.mechanisms.mechanism import NewServerMechanism, Proven, ServerMechanism
from odradek.security.principal import Principal
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

SaslRequest = SaslHandshakeRequest | SaslAuthenticateRequest


class Outcome(Enum):
    """What an answer means for the connection."""

    GO_ON = auto()
    PROVEN = auto()
    REFUSED = auto()  # it ends behind the answer


class Reply(NamedTuple):
    """An answer, and what it means."""

    response: SaslHandshakeResponse | SaslAuthenticateResponse
    outcome: Outcome


class Offer(NamedTuple):
    """What a listener offers."""

    mechanisms: Mapping[str, NewServerMechanism]
    session_ms_max: Millis | None = None  # `connections.max.reauth.ms`


class ServerExchange:
    """The listener's side of one connection."""

    def __init__(self, offer: Offer) -> None:
        self.principal: Principal | None = None
        self.session_ms: Millis | None = None  # of the last proof; None: without an end
        self.refused: str | None = None  # why, as long as the client was not told
        self._offer = offer
        self._mechanism: ServerMechanism | None = None  # between handshake and proof
        self._chosen = ""

    @property
    def is_under_way(self) -> bool:
        """Whether a handshake has come, and its proof has not."""
        return self._mechanism is not None

    def handle(self, request: SaslRequest) -> Reply:
        """One of the two requests."""
        if isinstance(request, SaslHandshakeRequest):
            return self._handshake(request)
        try:
            return self._authenticate(request)
        except BrokerError as error:
            self._mechanism = None
            return Reply(
                SaslAuthenticateResponse(error_code=error.code, error_message=str(error)),
                Outcome.REFUSED,
            )

    def _handshake(self, request: SaslHandshakeRequest) -> Reply:
        names = list(self._offer.mechanisms)
        error = self._fault(request.mechanism)
        if error is not None:
            return Reply(SaslHandshakeResponse(error.code, names), Outcome.REFUSED)
        self._chosen = request.mechanism
        self._mechanism = self._offer.mechanisms[request.mechanism]()
        return Reply(SaslHandshakeResponse(ErrorCode.NONE, names), Outcome.GO_ON)

    def _fault(self, mechanism: str) -> BrokerError | None:
        if mechanism not in self._offer.mechanisms:
            return UnsupportedMechanism(mechanism[:40])
        if self._mechanism is not None:
            return IllegalSaslState("a handshake is under way already")
        if self._chosen and mechanism != self._chosen:
            return IllegalSaslState("the mechanism may not change")
        return None

    def _authenticate(self, request: SaslAuthenticateRequest) -> Reply:
        if self._mechanism is None:
            raise IllegalSaslState("SaslAuthenticate came without a SaslHandshake before it")
        found = self._mechanism.evaluate(bytes(request.auth_bytes))
        if isinstance(found, Proven):
            return self._proven(found)
        self.refused = found.refused
        return Reply(SaslAuthenticateResponse(auth_bytes=found.answer), Outcome.GO_ON)

    def _proven(self, proven: Proven) -> Reply:
        if self.principal is not None and proven.principal != self.principal:
            raise AuthenticationFailed("Cannot change principals during re-authentication")
        self._mechanism = None
        self.principal = proven.principal
        bounds = [it for it in (self._offer.session_ms_max, proven.valid_ms) if it is not None]
        self.session_ms = min(bounds, default=None)
        response = SaslAuthenticateResponse(
            error_message=None,
            auth_bytes=proven.answer,
            session_lifetime_ms=self.session_ms or 0,
        )
        return Reply(response, Outcome.PROVEN)
