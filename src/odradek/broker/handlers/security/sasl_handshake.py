"""SaslHandshake (key 17), version 1: a client proves its name again (KIP-368).

The first time it does so before there is a request that a handler could see (`network.login`).
v0, behind which tokens would follow without frames, is named for the sake of old clients and
refused.
"""

from typing import Final

from odradek.broker.access.need import NOTHING
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.security.mechanisms.server_exchange import Outcome
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(services: Services, pending: PendingRequest, request: SaslHandshakeRequest) -> None:
    """Where no name is asked for, it fits nowhere."""
    session = pending.connection.session
    if session is None:
        pending.answer(SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE))
        return
    reply = session.handle(request)
    if reply.outcome is Outcome.REFUSED:
        if services.audit is not None:
            why = f"SaslHandshake for {request.mechanism}"
            services.audit.renewal_refused(pending.connection, why)
        pending.connection.close()
    pending.answer(reply.response)


def refuse(
    request: SaslHandshakeRequest, version: int, code: ErrorCode, message: str
) -> SaslHandshakeResponse:
    """The code."""
    del request, version, message
    return SaslHandshakeResponse(code)


API: Final = Api(
    key=17, versions=range(1, 2), handle=handle, refuse=refuse, needs=NOTHING, offered_from=0
)
