"""AlterConfigs (key 33), versions 0 to 2.

All settings of a topic or a broker at once: what is not named is taken back. v2 flexible.
Superseded by IncrementalAlterConfigs, which can change one without the others.
"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from odradek.broker.exchange import Api, Exchange
from odradek.broker.handlers.config_resources import entity_of
from odradek.broker.topics import InvalidRequest
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from odradek.broker.services import Services


async def handle(
    services: "Services",
    exchange: Exchange,  # noqa: ARG001 - the signature of every handler
    request: AlterConfigsRequest,
) -> AlterConfigsResponse:
    """Each resource by itself."""
    named = Counter((one.resource_type, one.resource_name) for one in request.resources)
    responses = []
    for one in request.resources:
        response = AlterConfigsResourceResponse(
            ErrorCode.NONE, None, one.resource_type, one.resource_name
        )
        try:
            if named[one.resource_type, one.resource_name] > 1:
                raise InvalidRequest(f"{one.resource_name!r} is named more than once")
            await _alter(services, one, validate_only=request.validate_only)
        except BrokerError as error:
            response.error_code, response.error_message = error.code, str(error)
        responses.append(response)
    return AlterConfigsResponse(responses=responses)


async def _alter(
    services: "Services", resource: AlterConfigsResource, *, validate_only: bool
) -> None:
    entity = entity_of(services, resource.resource_type, resource.resource_name)
    after = _wanted(resource)
    await services.alterations.make(entity, lambda _: after, validate_only=validate_only)


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


API: Final = Api(key=33, versions=range(3), handle=handle, refuse=refuse)
