"""AlterUserScramCredentials (key 51), version 0: passwords of users, salted by who sets them.

The controller alone answers, as in Kafka. Each user has an outcome of its own (KIP-554).
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.control.controller_loop import NotController
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.security.scram_changes import Deletion, Upsertion
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: AlterUserScramCredentialsRequest,
) -> AlterUserScramCredentialsResponse:
    """All changes of a user are made together, or none of them."""
    if services.controller.controller is None:
        raise NotController
    outcomes = await services.scram_admin.alter(_changes(request))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user, error.code, str(error))
            if error is not None
            else AlterUserScramCredentialsResult(user, ErrorCode.NONE, None)
            for user, error in outcomes.items()
        ]
    )


def _changes(
    request: AlterUserScramCredentialsRequest,
) -> dict[str, list[Deletion | Upsertion]]:
    found: dict[str, list[Deletion | Upsertion]] = {}
    for gone in request.deletions:
        found.setdefault(gone.name, []).append(Deletion(gone.mechanism))
    for it in request.upsertions:
        salt, salted = bytes(it.salt), bytes(it.salted_password)
        upsertion = Upsertion(it.mechanism, it.iterations, salt, salted)
        found.setdefault(it.name, []).append(upsertion)
    return found


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


API: Final = Api(
    key=51, versions=range(1), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
