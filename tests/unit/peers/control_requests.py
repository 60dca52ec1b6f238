"""Control requests in short, as tests of queue and channels need them."""

from odradek.peers.control_message import ControlMessage, ControlRequest
from odradek.peers.control_queue import ControlQueue, Sender
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

SENDER = Sender(1, 7)
FIRST_ID, SECOND_ID = bytes(15) + b"\x01", bytes(15) + b"\x02"
DURING_DELETION = -2


def lead(
    *partitions: int, epoch: int = 0, leader: int = 1, new: bool = False, topic_id: bytes = FIRST_ID
) -> LeaderAndIsrRequest:
    """Of topic `orders`."""
    rows = [
        LeaderAndIsrPartitionState(
            partition_index=it,
            controller_epoch=7,
            leader=leader,
            leader_epoch=epoch,
            isr=[1, 2],
            replicas=[1, 2],
            is_new=new,
        )
        for it in partitions
    ]
    return LeaderAndIsrRequest(
        controller_id=1,
        controller_epoch=7,
        topic_states=[LeaderAndIsrTopicState("orders", topic_id, rows)],
        live_leaders=[LeaderAndIsrLiveLeader(leader, f"b{leader}", 9092)],
    )


def metadata(
    *partitions: int,
    leader: int = 1,
    live: tuple[int, ...] = (1, 2),
    topic_id: bytes = FIRST_ID,
    kind: int = 0,
    epoch: int = 0,
    isr: tuple[int, ...] = (1,),
    version: int = 0,
) -> UpdateMetadataRequest:
    """Likewise, and these brokers live."""
    rows = [
        UpdateMetadataPartitionState(
            partition_index=it,
            leader=leader,
            leader_epoch=epoch,
            isr=[*isr],
            zk_version=version,
            replicas=[1, 2],
        )
        for it in partitions
    ]
    return UpdateMetadataRequest(
        controller_id=1,
        type=kind,
        controller_epoch=7,
        topic_states=[UpdateMetadataTopicState("orders", topic_id, rows)] if rows else [],
        live_brokers=[UpdateMetadataBroker(id=it) for it in live],
    )


def stop(
    *partitions: int, delete: bool = False, epoch: int = 5, topic_id: bytes = FIRST_ID
) -> StopReplicaRequest:
    """Likewise."""
    rows = [StopReplicaPartitionState(it, epoch, delete) for it in partitions]
    return StopReplicaRequest(
        controller_id=1,
        controller_epoch=7,
        topic_states=[StopReplicaTopicState("orders", rows, topic_id)],
    )


def queue_of(*requests: ControlRequest) -> ControlQueue:
    """What waits, first come first."""
    queue = ControlQueue(SENDER)
    for request in requests:
        queue.add(ControlMessage(request))
    return queue


def take_all(queue: ControlQueue) -> list[ControlRequest]:
    """In the order in which it goes out."""
    taken = []
    while (message := queue.take()) is not None:
        taken.append(message.request)
    assert not queue
    assert len(queue) == 0
    return taken


def said(request: ControlRequest) -> tuple[str, list[tuple[int, int, bool]]]:
    """The kind, and of each partition its number, its epoch or leader, and what sticks."""
    rows: list[tuple[int, int, bool]] = []
    match request:
        case LeaderAndIsrRequest():
            kind = "lead"
            states = [row for topic in request.topic_states for row in topic.partition_states]
            rows = [(it.partition_index, it.leader_epoch, it.is_new) for it in states]
        case UpdateMetadataRequest():
            kind = "metadata"
            for about in request.topic_states:
                rows += [(it.partition_index, it.leader, False) for it in about.partition_states]
        case StopReplicaRequest():
            kind = "stop"
            for stopped in request.topic_states:
                rows += [
                    (it.partition_index, it.leader_epoch, it.delete_partition)
                    for it in stopped.partition_states
                ]
    return kind, rows
