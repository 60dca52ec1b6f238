"""AlterConfigs (key 33), versions 0 to 2.

All settings of a topic or a broker at once: what is not named is taken back. v2 flexible.
Superseded by IncrementalAlterConfigs, which can change one without the others.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.handlers.config_resources import ALTERS, each_by_itself, entity_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.topics import InvalidRequest
from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(
    services: Services,
    pending: PendingRequest,
    request: AlterConfigsRequest,
) -> AlterConfigsResponse:
    """Each resource by itself."""
    rows = await each_by_itself(
        services,
        pending,
        request.resources,
        lambda one: _alter(services, one, validate_only=request.validate_only),
        row=AlterConfigsResourceResponse,
    )
    return AlterConfigsResponse(responses=rows)


async def _alter(
    services: Services, resource: AlterConfigsResource, *, validate_only: bool
) -> None:
    entity = entity_of(services, resource.resource_type, resource.resource_name)
    after = _wanted(resource)
    await services.config_admin.make(entity, lambda _: after, validate_only=validate_only)


def _wanted(resource: AlterConfigsResource) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for one in resource.configs:
        if one.value is None:
            raise InvalidRequest(f"{one.name}: a value is missing")
        if one.name in found:
            raise InvalidRequest(f"{one.name} is named more than once")
        found[one.name] = one.value
    return found


def refuse(
    request: AlterConfigsRequest, version: int, code: ErrorCode, message: str
) -> AlterConfigsResponse:
    """The code for each resource."""
    del version
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(code, message, one.resource_type, one.resource_name)
            for one in request.resources
        ]
    )


API: Final = Api(
    key=33,
    versions=range(3),
    handle=handle,
    refuse=refuse,
    needs=ALTERS,
)
