"""Requests of controllers, brokers and operators of a cluster, with the codes that answer them.

None of them changes the broker that is asked: the controller's epoch is old, the broker unknown.
"""

from odradek.model.errors import ErrorCode as Code
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.alter_partition import AlterPartitionRequest
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.wire.schema import Request

NO_CLIENT_ASKS = frozenset({4, 5, 6, 7, 56, 67})
"""Client libraries have no classes for these."""
STRANGER = 99
OLD = {Code.STALE_CONTROLLER_EPOCH}
UNKNOWN = {Code.STALE_BROKER_EPOCH}


def asked(key: int, topic: str, *, exists: bool) -> tuple[Request, set[Code]]:
    """One request about a topic, and the codes in its answer."""
    missing = {Code.UNKNOWN_TOPIC_OR_PARTITION}
    requests: dict[int, tuple[Request, set[Code]]] = {
        4: (LeaderAndIsrRequest(), OLD),
        5: (StopReplicaRequest(), OLD),
        6: (UpdateMetadataRequest(), OLD),
        7: (ControlledShutdownRequest(STRANGER), {Code.BROKER_NOT_AVAILABLE}),
        43: (
            ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, [0])]),
            {Code.ELECTION_NOT_NEEDED} if exists else missing,
        ),
        45: (
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(topic, [ReassignablePartition(0, None)])]
            ),
            {Code.NO_REASSIGNMENT_IN_PROGRESS} if exists else missing,
        ),
        46: (
            ListPartitionReassignmentsRequest(topics=[ListPartitionReassignmentsTopics(topic)]),
            set(),
        ),
        56: (AlterPartitionRequest(STRANGER), UNKNOWN),
        67: (AllocateProducerIdsRequest(STRANGER), UNKNOWN),
    }
    return requests[key]
