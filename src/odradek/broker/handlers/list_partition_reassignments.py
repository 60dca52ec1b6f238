"""ListPartitionReassignments (key 46), version 0: which partitions are being moved (KIP-455)."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import ReassignmentsListed
from odradek.metadata.nouns import Assignment
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


async def handle(
    services: Services, _pending: PendingRequest, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Of those that are named, or of all."""
    wanted = None
    if request.topics is not None:
        wanted = [
            TopicPartition(topic.name, number)
            for topic in request.topics
            for number in topic.partition_indexes
        ]
    found: dict[TopicPartition, Assignment] = await services.controller.ask(
        ReassignmentsListed(wanted)
    )
    topics: dict[str, list[OngoingPartitionReassignment]] = {}
    for partition, assignment in found.items():
        row = OngoingPartitionReassignment(
            partition.partition, assignment.replicas, assignment.adding, assignment.removing
        )
        topics.setdefault(partition.topic, []).append(row)
    return ListPartitionReassignmentsResponse(
        error_message=None,
        topics=[OngoingTopicReassignment(name, rows) for name, rows in topics.items()],
    )


def refuse(
    _request: ListPartitionReassignmentsRequest, _version: int, code: ErrorCode, message: str
) -> ListPartitionReassignmentsResponse:
    """The whole request."""
    return ListPartitionReassignmentsResponse(error_code=code, error_message=message)


API: Final = Api(
    key=46, versions=range(1), handle=handle, refuse=refuse, needs=(Whole(Operation.DESCRIBE),)
)
