"""AlterClientQuotas (key 49), versions 0 and 1: refused, because quotas are not enforced."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    ResponseEntryData,
)

NO_QUOTAS: Final = "client quotas are not enforced by this broker"


def handle(services: Services, pending: PendingRequest, request: AlterClientQuotasRequest) -> None:
    """A quota that is not enforced must not seem to be set."""
    del services
    pending.answer(refuse(request, pending.version, ErrorCode.UNSUPPORTED_VERSION, NO_QUOTAS))


def refuse(
    request: AlterClientQuotasRequest, version: int, code: ErrorCode, message: str
) -> AlterClientQuotasResponse:
    """Each entity with the code."""
    del version
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                code, message, [EntityData(it.entity_type, it.entity_name) for it in entry.entity]
            )
            for entry in request.entries
        ]
    )


API: Final = Api(
    key=49, versions=range(2), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER_CONFIGS),)
)
