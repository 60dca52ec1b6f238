"""DeleteTopics (key 20), versions 0 to 6.

Marks the topics, and waits until they are gone or the client's patience ends. v4 flexible. v5 error
messages. v6 topics by their ids.
"""

from typing import Final

from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import pause_after
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicId
from odradek.model.units import Millis
from odradek.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

STATES_SINCE: Final = 6
THROTTLED_SINCE: Final = 5
MESSAGE_SINCE: Final = 5


async def handle(
    services: Services, pending: PendingRequest, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    """Each topic has its own outcome."""
    states, results = _states(request, pending.version), []
    names: dict[str, TopicId] = {}
    for seen, state in enumerate(states, 1):
        await pause_after(seen)
        topic_id = TopicId(bytes(state.topic_id))
        name = state.name if state.name is not None else services.topic_admin.name_of(topic_id)
        refused = name is not None and _refused(services, pending, name, topic_id)
        if refused:
            results.append(refused)
            continue
        if name is None:
            results.append(
                DeletableTopicResult(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "no such topic id")
            )
            continue
        topic = services.cluster.image.topics.get(name)
        if pending.charge is not None and topic is not None:
            is_strict = pending.version >= THROTTLED_SINCE
            try:
                pending.charge.mutate(len(topic.partitions), is_strict=is_strict)
            except BrokerError as error:
                results.append(_result(name, topic_id, error, pending.version))
                continue
        names[name] = topic.topic_id if topic and topic.topic_id else NO_TOPIC_ID
    outcomes = await services.topic_admin.delete(list(names), Millis(request.timeout_ms))
    results += [_result(name, names[name], outcomes[name], pending.version) for name in names]
    return DeleteTopicsResponse(responses=results)


def _refused(
    services: Services, pending: PendingRequest, name: str, topic_id: TopicId
) -> DeletableTopicResult | None:
    """Who may not describe a topic is not told the name behind an id."""
    access, client, kind = services.access, pending.connection, ResourceType.TOPIC
    if access is None:
        return None
    by_id = topic_id != NO_TOPIC_ID
    may_name = not by_id or access.may(client, Operation.DESCRIBE, kind, name)
    if may_name and access.may(client, Operation.DELETE, kind, name):
        return None
    code, version = REFUSALS[kind], pending.version
    text = code.sentence if version >= MESSAGE_SINCE else None
    return DeletableTopicResult(name if may_name else None, topic_id, code, text)


def _states(request: DeleteTopicsRequest, version: int) -> list[DeleteTopicState]:
    if version >= STATES_SINCE:
        return list(request.topics)
    return [DeleteTopicState(name) for name in request.topic_names]


def _result(
    name: str, topic_id: TopicId, error: BrokerError | None, version: int
) -> DeletableTopicResult:
    result = DeletableTopicResult(name, topic_id if version >= STATES_SINCE else NO_TOPIC_ID)
    if error is not None:
        result.error_code = error.code
        if version >= MESSAGE_SINCE:
            result.error_message = str(error)
    return result


def refuse(
    request: DeleteTopicsRequest, version: int, code: ErrorCode, message: str
) -> DeleteTopicsResponse:
    """The code for each topic."""
    text = message if version >= MESSAGE_SINCE else None
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(state.name or "", error_code=code, error_message=text)
            for state in _states(request, version)
        ]
    )


API: Final = Api(
    key=20,
    versions=range(7),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            "that topic is refused, and not named if it was asked for by its id",
        ),
        Served(Operation.DELETE, ResourceType.TOPIC, "that topic is refused"),
    ),
)
