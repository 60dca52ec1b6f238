"""AlterClientQuotas (key 49), versions 0 and 1: limits of users, clients and addresses (KIP-546).

Any broker answers, as in Kafka. Each entity has an outcome of its own. v1 flexible.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.quotas.changes import InvalidQuota, Parts, check_parts
from odradek.quotas.changes import Operation as Alteration
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    RequestEntryData,
    ResponseEntryData,
)


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: AlterClientQuotasRequest,
) -> AlterClientQuotasResponse:
    """All operations of an entity are made together, or none of them."""
    rows = []
    for entry in request.entries:
        row = ResponseEntryData(
            entity=[EntityData(it.entity_type, it.entity_name) for it in entry.entity]
        )
        row.error_message = None
        rows.append(row)
        error = await _alter(services, entry, validate_only=request.validate_only)
        if error is not None:
            row.error_code, row.error_message = error.code, str(error)
    return AlterClientQuotasResponse(entries=rows)


async def _alter(
    services: Services, entry: RequestEntryData, *, validate_only: bool
) -> BrokerError | None:
    try:
        check_parts([it.entity_type for it in entry.entity])
    except BrokerError as error:
        return error
    parts: Parts = {it.entity_type: it.entity_name for it in entry.entity}
    if not parts:
        return InvalidQuota("an entity must be named")
    if "" in parts.values():
        return InvalidQuota(f"the name of {' or '.join(parts)} must not be empty")
    operations = [Alteration(it.key, None if it.remove else it.value) for it in entry.ops]
    return await services.quota_admin.alter(parts, operations, validate_only=validate_only)


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
