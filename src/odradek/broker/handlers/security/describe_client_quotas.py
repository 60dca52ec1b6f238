"""DescribeClientQuotas (key 48), versions 0 and 1: limits of users, clients, addresses (KIP-546).

Any broker answers, with what the tree says. v1 flexible.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.quotas.changes import AnyName, InvalidQuota, Name, Wanted, check_parts
from odradek.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: DescribeClientQuotasRequest,
) -> DescribeClientQuotasResponse:
    """Those that fit all components."""
    check_parts([it.entity_type for it in request.components])
    names = {it.entity_type: _name(it) for it in request.components}
    found = await services.quota_admin.describe(Wanted(names, is_strict=request.strict))
    entries = [
        EntryData(
            [EntityData(kind, name) for kind, name in each.parts.items()],
            [ValueData(name, value) for name, value in each.values.items()],
        )
        for each in found
    ]
    return DescribeClientQuotasResponse(error_message=None, entries=entries)


def _name(component: ComponentData) -> Name:
    if component.match_type == EXACT and component.match:
        return component.match
    if component.match_type == DEFAULT and component.match is None:
        return None
    if component.match_type == ANY and component.match is None:
        return AnyName()
    raise InvalidQuota(f"match {component.match_type} of {component.entity_type}: not understood")


def refuse(
    request: DescribeClientQuotasRequest, version: int, code: ErrorCode, message: str
) -> DescribeClientQuotasResponse:
    """The code and its reason."""
    del request, version
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


API: Final = Api(
    key=48,
    versions=range(2),
    handle=handle,
    refuse=refuse,
    needs=(Whole(Operation.DESCRIBE_CONFIGS),),
)
