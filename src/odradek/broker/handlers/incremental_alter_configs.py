"""IncrementalAlterConfigs (key 44), versions 0 to 1 (KIP-339).

Single settings of topics and brokers are set, taken back, or, where they are lists, lengthened and
shortened. v1 flexible.
Skipped: levels of loggers, and settings of clients and groups.
"""

from collections import Counter
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from odradek.broker.handlers.api import Api
from odradek.broker.handlers.config_resources import ALTERS, each_by_itself, entity_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.config.kinds import ConfigType
from odradek.config.table import BROKER_SETTINGS, TOPIC_SETTINGS
from odradek.controller.topics import InvalidRequest
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.errors import ErrorCode, InvalidSetting
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class Operation(IntEnum):
    """What is to be done with one setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def handle(
    services: Services,
    pending: PendingRequest,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse:
    """Each resource by itself, all of its settings or none."""
    rows = await each_by_itself(
        services,
        pending,
        request.resources,
        lambda one: _alter(services, one, validate_only=request.validate_only),
        row=AlterConfigsResourceResponse,
    )
    return IncrementalAlterConfigsResponse(responses=rows)


async def _alter(
    services: Services, resource: AlterConfigsResource, *, validate_only: bool
) -> None:
    entity = entity_of(services, resource.resource_type, resource.resource_name)
    _check(resource.configs)

    def change(before: Mapping[str, str]) -> Mapping[str, str]:
        after = dict(before)
        for config in resource.configs:
            _apply(services, entity, config, after)
        return after

    await services.config_admin.make(entity, change, validate_only=validate_only)


def _check(configs: Any) -> None:
    twice = [name for name, times in Counter(one.name for one in configs).items() if times > 1]
    if twice:
        raise InvalidRequest(f"named more than once: {', '.join(twice)}")
    for one in configs:
        if one.config_operation not in set(Operation):
            raise InvalidRequest(f"{one.name}: operation {one.config_operation} is not known")
        if one.value is None and one.config_operation != Operation.DELETE:
            raise InvalidRequest(f"{one.name}: a value is missing")


def _apply(
    services: Services, entity: Entity, config: AlterableConfig, after: dict[str, str]
) -> None:
    name, value = config.name, config.value or ""
    match Operation(config.config_operation):
        case Operation.SET:
            after[name] = value
        case Operation.DELETE:
            after.pop(name, None)
        case Operation.APPEND:
            present = _listed(services, entity, name, after)
            added = [item for item in _items(value) if item not in present]
            after[name] = ",".join((*present, *added))
        case Operation.SUBTRACT:
            present, gone = _listed(services, entity, name, after), _items(value)
            after[name] = ",".join(item for item in present if item not in gone)


def _listed(services: Services, entity: Entity, name: str, after: Mapping[str, str]) -> list[str]:
    """The list as it is, or as it is where nothing is said."""
    of_topic = entity.type is EntityType.TOPICS
    setting: Any = (TOPIC_SETTINGS if of_topic else BROKER_SETTINGS).get(name)
    if setting is None or setting.kind.type is not ConfigType.LIST:
        raise InvalidSetting(f"{name} is no list: nothing can be added to it or taken out")
    if name in after:
        return _items(after[name])
    config: Any = services.settings.broker
    return _items(setting.kind.text((config.topic_defaults if of_topic else config)[setting]))


def _items(text: str) -> list[str]:
    return [item for item in map(str.strip, text.split(",")) if item]


def refuse(
    request: IncrementalAlterConfigsRequest, version: int, code: ErrorCode, message: str
) -> IncrementalAlterConfigsResponse:
    """The code for each resource."""
    del version
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(code, message, one.resource_type, one.resource_name)
            for one in request.resources
        ]
    )


API: Final = Api(
    key=44,
    versions=range(2),
    handle=handle,
    refuse=refuse,
    needs=ALTERS,
)
