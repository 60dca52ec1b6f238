"""StopReplica (key 5), version 4: the controller says which replicas to give up, and to delete.

Version 3 brought a leader epoch for each partition; -2 stands for a topic that is being deleted,
which ends every leadership. Not offered to clients; the controller in this process calls it.
Skipped: versions below 3.
"""

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.replica_manager import ReplicaManager, StopState
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)


async def stop_replica(
    cluster: MetadataCache, replicas: ReplicaManager, request: StopReplicaRequest
) -> StopReplicaResponse:
    """Gives them up, and says of each whether that was done."""
    epoch = ControllerEpoch(request.controller_epoch)
    cluster.check(epoch, BrokerEpoch(request.broker_epoch))
    partitions = {
        TopicPartition(topic.topic_name, state.partition_index): StopState(
            LeaderEpoch(state.leader_epoch), state.delete_partition
        )
        for topic in request.topic_states
        for state in topic.partition_states
    }
    errors = await replicas.stop(partitions)
    return StopReplicaResponse(
        partition_errors=[
            StopReplicaPartitionError(
                partition.topic, partition.partition, errors.get(partition, ErrorCode.NONE)
            )
            for partition in partitions
        ]
    )
