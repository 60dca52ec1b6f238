"""DescribeUserScramCredentials (key 50), version 0: who has a password, and with how many rounds.

Any broker answers, from ZooKeeper. No salt and no key is told.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.topics.scram_admin import UserCredentials
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: DescribeUserScramCredentialsRequest,
) -> DescribeUserScramCredentialsResponse:
    """None or no user named: all."""
    users = [user.name for user in request.users or ()]
    found = await services.scram_admin.describe(users or None)
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_result(it) for it in found]
    )


def _result(found: UserCredentials) -> DescribeUserScramCredentialsResult:
    if found.error is not None:
        return DescribeUserScramCredentialsResult(found.user, found.error.code, str(found.error))
    infos = [CredentialInfo(*it) for it in found.credentials]
    return DescribeUserScramCredentialsResult(found.user, ErrorCode.NONE, None, infos)


def refuse(
    request: DescribeUserScramCredentialsRequest, version: int, code: ErrorCode, message: str
) -> DescribeUserScramCredentialsResponse:
    """The code and its reason."""
    del request, version
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=message)


API: Final = Api(
    key=50, versions=range(1), handle=handle, refuse=refuse, needs=(Whole(Operation.DESCRIBE),)
)
