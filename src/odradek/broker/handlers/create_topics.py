"""CreateTopics (key 19), versions 0 to 7.

The controller makes all topics of a request together; the answer waits until they can be used, or
the client's patience ends. Other brokers answer NOT_CONTROLLER. v1 validate only. v4 -1 for the
broker's defaults. v5 what was made, flexible. v7 topic ids.
Skipped: a policy for what topics may be like.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from odradek.broker.access.authorizer import Authorizer
from odradek.broker.access.need import REFUSALS, Each, Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import Charge, PendingRequest
from odradek.broker.services import Services
from odradek.broker.topics.topic_admin import TopicAdmin
from odradek.controller.topics import InvalidRequest, NewTopic, Planned
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

THROTTLED_SINCE: Final = 6
MESSAGE_SINCE: Final = 1
DETAILS_SINCE: Final = 5


async def handle(
    services: Services, pending: PendingRequest, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Each topic has its own outcome."""
    response = await create(services.topic_admin, request, pending.version, pending.charge)
    if services.access is not None:
        for topic in response.topics:
            if not topic.error_code:
                _hide_details(services.access, pending, topic)
    return response


def _hide_details(access: Authorizer, pending: PendingRequest, topic: CreatableTopicResult) -> None:
    """From who may create a topic and not see its settings."""
    kind, operation = ResourceType.TOPIC, Operation.DESCRIBE_CONFIGS
    if not access.may(pending.connection, operation, kind, topic.name):
        topic.topic_config_error_code = REFUSALS[kind]
        topic.num_partitions = topic.replication_factor = -1


async def create(
    topic_admin: TopicAdmin,
    request: CreateTopicsRequest,
    version: int,
    charge: Charge | None = None,
) -> CreateTopicsResponse:
    """The controller's answer, whether a client asks or another broker."""
    named = Counter(topic.name for topic in request.topics)
    outcomes: dict[str, Planned | BrokerError] = {
        name: InvalidRequest(f"topic {name!r} is named more than once")
        for name, times in named.items()
        if times > 1
    }
    wanted = [_wanted(topic) for topic in request.topics if named[topic.name] == 1]
    if charge is not None and not request.validate_only:
        refused = _beyond_quota(charge, wanted, topic_admin.partitions_by_default, version)
        wanted = [it for it in wanted if it.name not in refused]
        outcomes |= refused
    outcomes |= await topic_admin.create(
        wanted, Millis(request.timeout_ms), validate_only=request.validate_only
    )
    return CreateTopicsResponse(topics=[_result(name, outcomes[name], version) for name in named])


def _beyond_quota(
    charge: Charge, wanted: list[NewTopic], by_default: int, version: int
) -> dict[str, BrokerError]:
    """Which the client may not make now, after what it has made, and why."""
    refused = {}
    for topic in wanted:
        asked = len(topic.assignment) if topic.assignment else topic.partitions
        try:
            charge.mutate(asked if asked > 0 else by_default, is_strict=version >= THROTTLED_SINCE)
        except BrokerError as error:
            refused[topic.name] = error
    return refused


def _wanted(topic: CreatableTopic) -> NewTopic:
    assignment: Mapping[int, list[BrokerId]] | None = None
    if topic.assignments:
        assignment = {
            it.partition_index: [BrokerId(broker) for broker in it.broker_ids]
            for it in topic.assignments
        }
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        assignment,
        {config.name: config.value for config in topic.configs if config.value is not None},
    )


def _result(name: str, outcome: Planned | BrokerError, version: int) -> CreatableTopicResult:
    result = CreatableTopicResult(name)
    if isinstance(outcome, BrokerError):
        result.error_code = outcome.code
        if version >= MESSAGE_SINCE:
            result.error_message = str(outcome)
        result.configs = None if version >= DETAILS_SINCE else ()
        return result
    if version >= MESSAGE_SINCE:
        result.error_message = None
    result.topic_id = outcome.topic.topic_id or result.topic_id
    result.num_partitions = len(outcome.topic.partitions)
    result.replication_factor = outcome.factor
    return result


def refuse(
    request: CreateTopicsRequest, version: int, code: ErrorCode, message: str
) -> CreateTopicsResponse:
    """The code for each topic."""
    names: Iterable[str] = dict.fromkeys(topic.name for topic in request.topics)
    text = message if version >= MESSAGE_SINCE else None
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name, error_code=code, error_message=text) for name in names]
    )


API: Final = Api(
    key=19,
    versions=range(8),
    handle=handle,
    refuse=refuse,
    needs=(
        Each(Operation.CREATE, ResourceType.TOPIC, "topics", "name", "topics", Operation.CREATE),
        Served(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "the answer has no settings"),
    ),
)
