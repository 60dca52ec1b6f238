"""DescribeUserScramCredentials (key 50), version 0: no user has any."""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

NO_CREDENTIALS: Final = "no SCRAM credentials are kept: SASL is not served"


def handle(
    services: Services, pending: PendingRequest, request: DescribeUserScramCredentialsRequest
) -> None:
    """Of all users nothing, of each that is named that there is none."""
    del services
    code = ErrorCode.RESOURCE_NOT_FOUND
    pending.answer(
        DescribeUserScramCredentialsResponse(
            results=[
                DescribeUserScramCredentialsResult(user.name, code, NO_CREDENTIALS)
                for user in request.users or ()
            ]
        )
    )


def refuse(
    request: DescribeUserScramCredentialsRequest, version: int, code: ErrorCode, message: str
) -> DescribeUserScramCredentialsResponse:
    """The code and its reason."""
    del request, version
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=message)


API: Final = Api(key=50, versions=range(1), handle=handle, refuse=refuse)
