"""AlterPartitionReassignments (key 45), version 0: partitions move to other brokers (KIP-455).

No replicas, as null, cancel a reassignment. Each partition has its own outcome; the answer does not
wait for the move.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import ReassignmentAsked
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    services: Services, _pending: PendingRequest, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """What was begun, or why not."""
    targets = {
        TopicPartition(topic.name, row.partition_index): None
        if row.replicas is None
        else tuple(map(BrokerId, row.replicas))
        for topic in request.topics
        for row in topic.partitions
    }
    outcomes: dict[TopicPartition, BrokerError | None] = await services.controller.ask(
        ReassignmentAsked(targets)
    )
    topics: dict[str, list[ReassignablePartitionResponse]] = {}
    for partition, error in outcomes.items():
        result = ReassignablePartitionResponse(partition.partition, ErrorCode.NONE, None)
        if error is not None:
            result.error_code, result.error_message = error.code, str(error)
        topics.setdefault(partition.topic, []).append(result)
    return AlterPartitionReassignmentsResponse(
        error_message=None,
        responses=[ReassignableTopicResponse(name, rows) for name, rows in topics.items()],
    )


def refuse(
    _request: AlterPartitionReassignmentsRequest, _version: int, code: ErrorCode, message: str
) -> AlterPartitionReassignmentsResponse:
    """The whole request."""
    return AlterPartitionReassignmentsResponse(error_code=code, error_message=message)


API: Final = Api(
    key=45, versions=range(1), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
