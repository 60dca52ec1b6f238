"""DescribeConfigs (key 32), versions 0 to 4.

The settings of topics and brokers: values, who set them, and who else said something about them.
v1 sources and synonyms. v3 types and documentation. v4 flexible.
Skipped: levels of loggers; they are not settings here.
"""

from collections.abc import Iterable
from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.handlers.config_resources import DESCRIBES, check_settings, entity_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import Steps, at_once
from odradek.broker.topics.config_admin import UnknownTopic
from odradek.config.describe import (
    Described,
    Source,
    broker_settings,
    cluster_settings,
    topic_settings,
)
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.names import DEFAULT_ENTITY
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

RESOURCES_AT_ONCE_MAX: Final = 20
"""With more the answer is made in slices: each may have all of its settings."""
SOURCES_SINCE: Final = 1  # before, it is only said whether a value is a default


def handle(
    services: Services, pending: PendingRequest, request: DescribeConfigsRequest
) -> Steps[None] | None:
    """Each resource with its settings, or with why not."""
    steps = _steps(services, pending, request)
    return at_once(steps) if len(request.resources) <= RESOURCES_AT_ONCE_MAX else steps


def _steps(
    services: Services, pending: PendingRequest, request: DescribeConfigsRequest
) -> Steps[None]:
    results = []
    for seen, one in enumerate(request.resources, 1):
        if not seen % RESOURCES_AT_ONCE_MAX:
            yield
        results.append(_result(services, pending, one, request))
    pending.answer(DescribeConfigsResponse(results=results))


def _result(
    services: Services,
    pending: PendingRequest,
    resource: DescribeConfigsResource,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResult:
    version = pending.version
    kind, name = resource.resource_type, resource.resource_name
    try:
        check_settings(services, pending, Operation.DESCRIBE_CONFIGS, resource)
        described = _described(services, entity_of(services, kind, name))
    except BrokerError as error:
        return DescribeConfigsResult(error.code, str(error), kind, name)
    wanted = frozenset(resource.configuration_keys or ())
    configs = [
        _line(one, request, version) for one in described if not wanted or one.name in wanted
    ]
    return DescribeConfigsResult(ErrorCode.NONE, None, kind, name, configs)


def _described(services: Services, entity: Entity) -> Iterable[Described]:
    config = services.settings.broker
    if entity.type is EntityType.TOPICS:
        if entity.name not in services.cluster.image.topics:
            raise UnknownTopic(f"topic {entity.name!r} does not exist")
        return topic_settings(config, services.settings.topic(entity.name))
    return cluster_settings(config) if entity.name == DEFAULT_ENTITY else broker_settings(config)


def _line(
    one: Described, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=one.name,
        value=one.text,
        read_only=one.read_only,
        is_default=version < SOURCES_SINCE and one.source is Source.DEFAULT,
        config_source=one.source,
        is_sensitive=one.sensitive,
        synonyms=[
            DescribeConfigsSynonym(synonym.name, synonym.text, synonym.source)
            for synonym in one.synonyms
        ]
        if request.include_synonyms
        else (),
        config_type=one.type,
        documentation=one.doc if request.include_documentation else None,
    )


def refuse(
    request: DescribeConfigsRequest, version: int, code: ErrorCode, message: str
) -> DescribeConfigsResponse:
    """The code for each resource."""
    del version
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(code, message, one.resource_type, one.resource_name)
            for one in request.resources
        ]
    )


API: Final = Api(
    key=32,
    versions=range(5),
    handle=handle,
    refuse=refuse,
    needs=DESCRIBES,
)
