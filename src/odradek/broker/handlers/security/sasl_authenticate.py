"""SaslAuthenticate (key 36), versions 0 to 2: the tokens by which a name is proven again (KIP-368).

A wrong token, or another name than before, ends the connection, after the delay that makes guessing
slow. v1 session_lifetime_ms. v2 flexible.
"""

from functools import partial
from typing import Final

from odradek.broker.access.need import NOTHING
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.security.mechanisms.server_exchange import Outcome
from odradek.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

NOT_ASKED: Final = "SaslAuthenticate request received after successful authentication"


def handle(services: Services, pending: PendingRequest, request: SaslAuthenticateRequest) -> None:
    """Where no name is asked for, it fits nowhere."""
    session = pending.connection.session
    if session is None:
        pending.answer(SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, NOT_ASKED))
        return
    is_told = session.refused is not None
    reply = session.handle(request)
    why = session.refused
    if reply.outcome is Outcome.REFUSED:
        why = getattr(reply.response, "error_message", None) or "the mechanism"
    if why is not None and not is_told and services.audit is not None:
        services.audit.renewal_refused(pending.connection, why)
    if reply.outcome is not Outcome.REFUSED:
        pending.answer(reply.response)
        return
    pending.connection.close()
    server = services.socket_server
    answer_at = Millis(server.clock.monotonic() + server.failed_delay)
    services.timers.at(answer_at, partial(pending.answer, reply.response))


def refuse(
    request: SaslAuthenticateRequest, version: int, code: ErrorCode, message: str
) -> SaslAuthenticateResponse:
    """The code and its reason."""
    del request, version
    return SaslAuthenticateResponse(code, message)


API: Final = Api(key=36, versions=range(3), handle=handle, refuse=refuse, needs=NOTHING)
