"""CreateAcls (key 30), versions 0 to 3: SECURITY_DISABLED, as there is no authorizer."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

NO_AUTHORIZER: Final = "no authorizer is configured: every client may do everything"


def handle(services: Services, pending: PendingRequest, request: CreateAclsRequest) -> None:
    """A list that is not checked must not seem to protect anything."""
    del services
    pending.answer(refuse(request, pending.version, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER))


def refuse(
    request: CreateAclsRequest, version: int, code: ErrorCode, message: str
) -> CreateAclsResponse:
    """Each creation with the code."""
    del version
    return CreateAclsResponse(results=[AclCreationResult(code, message) for _ in request.creations])


API: Final = Api(
    key=30, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
