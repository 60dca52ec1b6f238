"""LeaderAndIsr (key 4), version 7: the controller says who leads the partitions that we hold.

Version 2 brought broker epochs, 3 the replicas that are added and removed, 5 topic ids, 6 the mark
of a recovery. Not offered to clients; the controller in this process calls it.
Skipped: versions below 5, which name no topic ids.
"""

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.hosted import LeaderAndIsrState
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.replication.leader import Leadership
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    LeaderAndIsrTopicState,
)


async def leader_and_isr(
    cluster: MetadataCache, replicas: ReplicaManager, request: LeaderAndIsrRequest
) -> LeaderAndIsrResponse:
    """Begins and ends leaderships as the controller says."""
    epoch = ControllerEpoch(request.controller_epoch)
    cluster.check(epoch, BrokerEpoch(request.broker_epoch))
    states = [
        _state(topic, state) for topic in request.topic_states for state in topic.partition_states
    ]
    errors = await replicas.apply_leader_and_isr(states)
    return LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrTopicError(topic.topic_id, _outcomes(topic, errors))
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
    )


def _outcomes(
    topic: LeaderAndIsrTopicState, errors: dict[TopicPartition, ErrorCode]
) -> list[LeaderAndIsrPartitionError]:
    return [
        LeaderAndIsrPartitionError(
            partition_index=state.partition_index,
            error_code=errors.get(
                TopicPartition(topic.topic_name, state.partition_index), ErrorCode.NONE
            ),
        )
        for state in topic.partition_states
    ]
