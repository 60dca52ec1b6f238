"""What the controller tells brokers, in Kafka's words: LeaderAndIsr, UpdateMetadata, StopReplica.

The newest versions of Kafka 3.9. Each message names the controller, its epoch, and the life of the
broker it is for, so that one that comes too late, or from a controller of the past, has no effect.
"""

from collections.abc import Iterable
from typing import Final

from odradek.controller.controller import (
    Controller,
    Message,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from odradek.metadata.nouns import Broker
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH
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
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from odradek.wire.schema import Request

DELETED: Final = -2
"""As a leader: the partition is being deleted; whoever hears it forgets it."""
EPOCH_DURING_DELETION: Final = -2
"""As a leader epoch: whatever leadership a broker knows of, it shall stop."""


def message(me: BrokerId, controller: Controller, effect: Message) -> Request:
    """The wire's word for one effect."""
    match effect:
        case SendLeaderAndIsr():
            return _leader_and_isr(me, controller, effect)
        case SendUpdateMetadata():
            return _update_metadata(me, controller, effect)
        case SendStopReplica():
            return _stop_replica(me, controller, effect)


def _leader_and_isr(
    me: BrokerId, controller: Controller, lead: SendLeaderAndIsr
) -> LeaderAndIsrRequest:
    image, topics = controller.image, dict[str, list[LeaderAndIsrPartitionState]]()
    leaders: dict[BrokerId, None] = {}
    for partition in lead.partitions:
        found = image.partition(partition)
        if found is None or found.state is None:
            continue
        state, assigned = found.state, found.assignment
        if state.leader is not None:
            leaders[state.leader] = None
        row = LeaderAndIsrPartitionState(
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=NO_BROKER if state.leader is None else state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            partition_epoch=state.partition_epoch,
            replicas=assigned.replicas,
            adding_replicas=assigned.adding,
            removing_replicas=assigned.removing,
            is_new=partition in lead.new,
            leader_recovery_state=int(state.recovering),
        )
        topics.setdefault(partition.topic, []).append(row)
    return LeaderAndIsrRequest(
        controller_id=me,
        controller_epoch=controller.mandate.epoch,
        broker_epoch=image.brokers[lead.broker].epoch,
        topic_states=[
            LeaderAndIsrTopicState(name, _topic_id(controller, name), rows)
            for name, rows in topics.items()
        ],
        live_leaders=[
            LeaderAndIsrLiveLeader(broker, at.host, at.port)
            for broker in leaders
            if broker in image.brokers
            for at in image.brokers[broker].endpoints[:1]
        ],
    )


def _update_metadata(
    me: BrokerId, controller: Controller, inform: SendUpdateMetadata
) -> UpdateMetadataRequest:
    image, topics = controller.image, dict[str, list[UpdateMetadataPartitionState]]()
    about = _all(controller) if inform.partitions is None else inform.partitions
    for partition in about:
        found = image.partition(partition)
        if found is None or found.state is None:
            continue
        state = found.state
        leader = NO_BROKER if state.leader is None else state.leader
        replicas = found.assignment.replicas
        row = UpdateMetadataPartitionState(
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=DELETED if partition.topic in controller.deleting else leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            zk_version=state.partition_epoch,
            replicas=replicas,
            offline_replicas=[it for it in replicas if not image.is_online(partition, it)],
        )
        topics.setdefault(partition.topic, []).append(row)
    return UpdateMetadataRequest(
        controller_id=me,
        controller_epoch=controller.mandate.epoch,
        broker_epoch=image.brokers[inform.broker].epoch,
        topic_states=[
            UpdateMetadataTopicState(name, _topic_id(controller, name), rows)
            for name, rows in topics.items()
        ],
        live_brokers=[_broker(broker) for broker in image.brokers.values()],
    )


def _stop_replica(
    me: BrokerId, controller: Controller, stop: SendStopReplica
) -> StopReplicaRequest:
    topics: dict[str, list[StopReplicaPartitionState]] = {}
    for partition in stop.partitions:
        row = StopReplicaPartitionState(
            partition.partition, EPOCH_DURING_DELETION, delete_partition=True
        )
        topics.setdefault(partition.topic, []).append(row)
    return StopReplicaRequest(
        controller_id=me,
        controller_epoch=controller.mandate.epoch,
        broker_epoch=controller.image.brokers[stop.broker].epoch,
        topic_states=[StopReplicaTopicState(name, rows) for name, rows in topics.items()],
    )


def _all(controller: Controller) -> Iterable[TopicPartition]:
    for name, topic in controller.image.topics.items():
        for number in topic.partitions:
            yield TopicPartition(name, number)


def _topic_id(controller: Controller, name: str) -> TopicId:
    topic = controller.image.topics.get(name)
    return NO_TOPIC_ID if topic is None or topic.topic_id is None else topic.topic_id


def _broker(broker: Broker) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=broker.id,
        endpoints=[
            UpdateMetadataEndpoint(at.port, at.host, at.listener, at.protocol)
            for at in broker.endpoints
        ],
        rack=broker.rack,
    )


assert NO_LEADER_EPOCH != EPOCH_DURING_DELETION, "one says nothing, the other stops everything"
