"""StopReplica ends roles of the replicas that this broker hosts, and deletes logs."""

from collections.abc import Awaitable, Iterable

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import StopState
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)


def refuse(
    _request: StopReplicaRequest, _version: int, code: ErrorCode, _text: str
) -> StopReplicaResponse:
    """The whole request."""
    return StopReplicaResponse(error_code=code)


def apply(replicas: ReplicaManager, request: StopReplicaRequest) -> Awaitable[StopReplicaResponse]:
    """Ends the roles at once; the answer waits for the logs that are deleted."""
    partitions = {
        TopicPartition(topic.topic_name, state.partition_index): StopState(
            LeaderEpoch(state.leader_epoch), state.delete_partition, TopicId(bytes(topic.topic_id))
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
