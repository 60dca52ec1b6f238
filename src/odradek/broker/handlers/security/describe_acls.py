"""DescribeAcls (key 29), versions 0 to 3: SECURITY_DISABLED, as there is no authorizer."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_acls import (
    DescribeAclsRequest,
    DescribeAclsResponse,
)

NO_AUTHORIZER: Final = "no authorizer is configured: every client may do everything"


def handle(services: Services, pending: PendingRequest, request: DescribeAclsRequest) -> None:
    """None can be described."""
    del services
    pending.answer(refuse(request, pending.version, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))


def refuse(
    request: DescribeAclsRequest, version: int, code: ErrorCode, message: str
) -> DescribeAclsResponse:
    """The code and its reason."""
    del request, version
    return DescribeAclsResponse(error_code=code, error_message=message)


API: Final = Api(
    key=29, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.DESCRIBE),)
)
