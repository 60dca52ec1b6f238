"""CreatePartitions (key 37), versions 0 to 3.

Makes topics larger: the new partitions stand behind the old ones, placed by hand or as for a new
topic. v2 flexible. v3 a throttle that is never asked for here.
"""

from collections import Counter
from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.topics import Growth, InvalidRequest
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

THROTTLED_SINCE: Final = 3


async def handle(
    services: Services, pending: PendingRequest, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """One topic after the other; each has its own outcome."""
    named = Counter(topic.name for topic in request.topics)
    results: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        results[topic.name] = result = CreatePartitionsTopicResult(topic.name)
        try:
            if named[topic.name] > 1:
                raise InvalidRequest(f"topic {topic.name!r} is named more than once")
            if pending.charge is not None and not request.validate_only:
                known = services.cluster.image.topics.get(topic.name)
                more = topic.count - (len(known.partitions) if known else 0)
                pending.charge.mutate(max(more, 0), is_strict=pending.version >= THROTTLED_SINCE)
            await _expand(services, request, topic)
        except BrokerError as error:
            result.error_code, result.error_message = error.code, str(error)
    return CreatePartitionsResponse(results=list(results.values()))


async def _expand(
    services: Services, request: CreatePartitionsRequest, topic: CreatePartitionsTopic
) -> None:
    assignments = None
    if topic.assignments is not None:
        assignments = [[BrokerId(it) for it in row.broker_ids] for row in topic.assignments]
    growth = Growth(topic.name, topic.count, assignments)
    await services.topic_admin.expand(
        growth, Millis(request.timeout_ms), validate_only=request.validate_only
    )


def refuse(
    request: CreatePartitionsRequest, version: int, code: ErrorCode, message: str
) -> CreatePartitionsResponse:
    """The code for each topic."""
    del version
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreatePartitionsResponse(
        results=[CreatePartitionsTopicResult(name, code, message) for name in names]
    )


API: Final = Api(
    key=37,
    versions=range(4),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.ALTER, ResourceType.TOPIC, "topics", "name", "results"),),
)
