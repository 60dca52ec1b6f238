"""DeleteAcls (key 31), versions 0 to 3: SECURITY_DISABLED, as there is no authorizer."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

NO_AUTHORIZER: Final = "no authorizer is configured: every client may do everything"


def handle(services: Services, pending: PendingRequest, request: DeleteAclsRequest) -> None:
    """There is none to delete."""
    del services
    pending.answer(refuse(request, pending.version, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))


def refuse(
    request: DeleteAclsRequest, version: int, code: ErrorCode, message: str
) -> DeleteAclsResponse:
    """Each filter with the code."""
    del version
    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(code, message) for _ in request.filters]
    )


API: Final = Api(
    key=31, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
