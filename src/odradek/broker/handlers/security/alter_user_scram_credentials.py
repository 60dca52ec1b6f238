"""AlterUserScramCredentials (key 51), version 0: refused, because SASL is not served."""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

NO_SASL: Final = "SASL is not served: a credential would protect nothing"


def handle(
    services: Services, pending: PendingRequest, request: AlterUserScramCredentialsRequest
) -> None:
    """A password that is not asked for must not seem to be set."""
    del services
    pending.answer(refuse(request, pending.version, ErrorCode.SECURITY_DISABLED, NO_SASL))


def refuse(
    request: AlterUserScramCredentialsRequest, version: int, code: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    """Each user once, with the code."""
    del version
    users = dict.fromkeys(it.name for it in request.deletions)
    users |= dict.fromkeys(it.name for it in request.upsertions)
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, code, message) for user in users]
    )


API: Final = Api(key=51, versions=range(1), handle=handle, refuse=refuse)
