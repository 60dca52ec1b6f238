"""LeaderAndIsr becomes roles of the replicas that this broker hosts."""

from collections.abc import Awaitable

from odradek.broker.partitions.hosted import LeaderAndIsrState
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, PartitionEpoch
from odradek.replication.leader import Leadership
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)


def refuse(
    _request: LeaderAndIsrRequest, _version: int, code: ErrorCode, _text: str
) -> LeaderAndIsrResponse:
    """The whole request."""
    return LeaderAndIsrResponse(error_code=code)


def apply(
    replicas: ReplicaManager, request: LeaderAndIsrRequest
) -> Awaitable[LeaderAndIsrResponse]:
    """Begins and ends leaderships at once; the answer waits for the disks."""
    states = [
        _state(topic, state) for topic in request.topic_states for state in topic.partition_states
    ]
    return _answer(request, replicas, replicas.apply_leader_and_isr(states))


async def _answer(
    request: LeaderAndIsrRequest,
    replicas: ReplicaManager,
    applied: Awaitable[dict[TopicPartition, ErrorCode]],
) -> LeaderAndIsrResponse:
    errors = await applied
    return LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrTopicError(topic.topic_id, _outcomes(topic, replicas, errors))
            for topic in request.topic_states
        ]
    )


def _state(topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState) -> LeaderAndIsrState:
    leadership = Leadership(
        LeaderEpoch(state.leader_epoch),
        PartitionEpoch(state.partition_epoch),
        tuple(map(BrokerId, state.replicas)),
        tuple(map(BrokerId, state.isr)),
    )
    return LeaderAndIsrState(
        TopicPartition(topic.topic_name, state.partition_index),
        TopicId(bytes(topic.topic_id)),
        BrokerId(state.leader) if state.leader >= 0 else None,
        leadership,
        is_new=state.is_new,
        must_be_whole=state.must_be_whole,
    )


def _outcomes(
    topic: LeaderAndIsrTopicState,
    replicas: ReplicaManager,
    errors: dict[TopicPartition, ErrorCode],
) -> list[LeaderAndIsrPartitionError]:
    rows = []
    for state in topic.partition_states:
        partition = TopicPartition(topic.topic_name, state.partition_index)
        rows.append(
            LeaderAndIsrPartitionError(
                partition_index=state.partition_index,
                error_code=errors.get(partition, ErrorCode.NONE),
                is_unclean=replicas.is_unclean(partition),
            )
        )
    return rows
