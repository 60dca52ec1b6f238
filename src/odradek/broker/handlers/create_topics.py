"""CreateTopics (key 19), versions 0 to 7.

All topics of a request are written together, and the answer waits until they can be used, or the
client's patience ends. v1 validate only. v4 -1 for the broker's defaults. v5 what was made,
flexible. v7 topic ids.
Skipped: a policy for what topics may be like.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.topics.topic_admin import InvalidRequest, NewTopic, Planned
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

MESSAGE_SINCE: Final = 1
DETAILS_SINCE: Final = 5


async def handle(
    services: Services, pending: PendingRequest, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    """Each topic has its own outcome."""
    named = Counter(topic.name for topic in request.topics)
    planned: dict[str, Planned] = {}
    outcomes: dict[str, BrokerError | None] = {}
    for topic in request.topics:
        try:
            if named[topic.name] > 1:
                raise InvalidRequest(f"topic {topic.name!r} is named more than once")
            planned[topic.name] = services.topic_admin.plan(_wanted(topic))
        except BrokerError as error:
            outcomes[topic.name] = error
    if request.validate_only:
        outcomes |= dict.fromkeys(planned)
    else:
        patience = Millis(request.timeout_ms)
        outcomes |= await services.topic_admin.create(list(planned.values()), patience)
    return CreateTopicsResponse(
        topics=[_result(name, planned.get(name), outcomes[name], pending.version) for name in named]
    )


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


def _result(
    name: str, planned: Planned | None, error: BrokerError | None, version: int
) -> CreatableTopicResult:
    result = CreatableTopicResult(name)
    if error is not None:
        result.error_code = error.code
        if version >= MESSAGE_SINCE:
            result.error_message = str(error)
        result.configs = None if version >= DETAILS_SINCE else ()
        return result
    assert planned is not None, "what was made was planned"
    result.topic_id = planned.topic.topic_id or result.topic_id
    result.num_partitions = len(planned.topic.partitions)
    result.replication_factor = planned.factor
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


API: Final = Api(key=19, versions=range(8), handle=handle, refuse=refuse)
