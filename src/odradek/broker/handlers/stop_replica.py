"""StopReplica (key 5), version 4: the controller says which replicas to give up, and to delete.

Version 3 brought a leader epoch for each partition; -2 stands for a topic that is being deleted,
which ends every leadership. Skipped: versions below 3.
"""

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING

from odradek.broker.network.pending_request import Api, PendingRequest
from odradek.broker.partitions.replica_manager import ReplicaManager, StopState
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from odradek.wire.schema import Response

if TYPE_CHECKING:
    from odradek.broker.services import Services


async def stop_replica(
    services: "Services", _pending: PendingRequest, request: StopReplicaRequest
) -> Response:
    """In the order of the controller's requests."""
    return await services.control.serve(request)


def refuse(
    _request: StopReplicaRequest, _version: int, code: ErrorCode, _text: str
) -> StopReplicaResponse:
    """The whole request."""
    return StopReplicaResponse(error_code=code)


API = Api(5, range(3, 5), stop_replica, refuse)


def apply(replicas: ReplicaManager, request: StopReplicaRequest) -> Awaitable[StopReplicaResponse]:
    """Ends the roles at once; the answer waits for the logs that are deleted."""
    partitions = {
        TopicPartition(topic.topic_name, state.partition_index): StopState(
            LeaderEpoch(state.leader_epoch), state.delete_partition
        )
        for topic in request.topic_states
        for state in topic.partition_states
    }
    return _answer(partitions, replicas.stop(partitions))


async def _answer(
    partitions: Iterable[TopicPartition], stopped: Awaitable[dict[TopicPartition, ErrorCode]]
) -> StopReplicaResponse:
    errors = await stopped
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                partition.topic, partition.partition, errors.get(partition, ErrorCode.NONE)
            )
            for partition in partitions
        ]
    )
