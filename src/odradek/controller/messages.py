"""What the controller tells brokers, in Kafka's words: LeaderAndIsr, UpdateMetadata, StopReplica.

The newest versions of Kafka 3.9. Each request names the controller and its epoch; the channel adds
the life of the broker that it goes to, so that one that comes too late has no effect.

A request is built once for all brokers that are told the same, and rows once for each partition.
Tagged fields of ours, which Kafka passes over: in LeaderAndIsr `must_be_whole` (a leader whose log
lacks records shall refuse, because others may have them), `eligible_min_isr` (a smaller ISR commits
nothing, because others are `eligible`) and `incarnations` (as which the members' logs have joined,
in UpdateMetadata, too); in its answer `is_unclean` and `incarnation`; the topic id in StopReplica.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.request_batch import Marked, RequestBatch
from odradek.controller.steps import PAUSE, ROWS_IN_A_TURN, Steps
from odradek.metadata.image import PartitionImage
from odradek.metadata.nouns import Broker
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    MemberIncarnation,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    IncarnationOfMember,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

DELETED: Final = -2
"""As a leader: the partition is being deleted; brokers that hear it forget the partition."""
EPOCH_DURING_DELETION: Final = -2
"""As a leader epoch: whatever leadership a broker knows of, it shall stop."""
INCREMENTAL: Final = 1
"""As the type of UpdateMetadata: what it does not name is as it was. Kafka's never have a type."""
FULL: Final = 2
"""As that type: what it does not name is not there."""


Request = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
Addressed = tuple[tuple[BrokerId, ...], Request]
"""A request, and who receives it."""


def take_requests(context: ControllerContext) -> Steps[tuple[Addressed, ...]]:
    """What was collected, as requests in the order of sending; the batch is empty from now on."""
    batch, context.batch = context.batch, RequestBatch()
    if not batch:
        return ()
    return tuple((yield from _Building(context, batch).requests()))


class _Building:
    """One batch, and the rows that its requests share."""

    def __init__(self, context: ControllerContext, batch: RequestBatch) -> None:
        self._context = context
        self._batch = batch
        self._live = context.image.brokers
        self._rows: dict[tuple[TopicPartition, bool], LeaderAndIsrPartitionState] = {}
        self._brokers = [_broker(broker) for broker in self._live.values()]

    def requests(self) -> Steps[list[Addressed]]:
        """LeaderAndIsr before UpdateMetadata, but the whole metadata first."""
        batch, found = self._batch, list[Addressed]()
        full = tuple(it for it in self._live if it in batch.full)
        others = tuple(it for it in self._live if it not in batch.full)
        if full:
            states = yield from self._metadata(_all(self._context))
            found.append((full, self._update_metadata(states, FULL)))
            found += self._without_states(full, self._unknown_states())
        for brokers, partitions in self._together(batch.lead):
            found.append((brokers, self._leader_and_isr(partitions)))
        if others and (batch.update or batch.has_news):
            states = yield from self._metadata(batch.update)
            found.append((others, self._update_metadata(states)))
            told = [it for it in self._unknown_states() if it in batch.update]
            found += self._without_states(others, told)
        for brokers, partitions in self._together(batch.stop):
            found.append((brokers, self._stop_replica(partitions)))
        return found

    def _together(
        self, told: Mapping[BrokerId, Marked]
    ) -> Iterable[tuple[tuple[BrokerId, ...], Marked]]:
        """Brokers that are told the same, and are alive."""
        same: dict[tuple[tuple[TopicPartition, bool], ...], list[BrokerId]] = {}
        for broker in sorted(told):
            if broker in self._live:
                same.setdefault(tuple(told[broker].items()), []).append(broker)
        for partitions, brokers in same.items():
            yield tuple(brokers), dict(partitions)

    # LeaderAndIsr

    def _leader_and_isr(self, partitions: Marked) -> LeaderAndIsrRequest:
        topics: dict[str, list[LeaderAndIsrPartitionState]] = {}
        leaders: dict[BrokerId, None] = {}
        for partition, is_new in partitions.items():
            row = self._rows.get((partition, is_new)) or self._row(partition, is_new=is_new)
            if row is None:
                continue
            if row.leader != NO_BROKER:
                leaders[BrokerId(row.leader)] = None
            topics.setdefault(partition.topic, []).append(row)
        return LeaderAndIsrRequest(
            controller_id=self._context.me,
            controller_epoch=self._context.lease.epoch,
            topic_states=[
                LeaderAndIsrTopicState(name, self._topic_id(name), rows)
                for name, rows in topics.items()
            ],
            live_leaders=[
                LeaderAndIsrLiveLeader(leader, at.host, at.port)
                for leader in leaders
                if leader in self._live
                for at in [self._context.policy.between_brokers(self._live[leader])]
                if at is not None
            ],
        )

    def _row(self, partition: TopicPartition, *, is_new: bool) -> LeaderAndIsrPartitionState | None:
        found = self._context.image.partition(partition)
        if found is None or found.state is None:
            return None
        state, assigned = found.state, found.assignment
        row = self._rows[partition, is_new] = LeaderAndIsrPartitionState(
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=NO_BROKER if state.leader is None else state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            partition_epoch=state.partition_epoch,
            replicas=assigned.replicas,
            adding_replicas=assigned.adding,
            removing_replicas=assigned.removing,
            is_new=is_new,
            leader_recovery_state=int(state.recovering),
            must_be_whole=not is_new and self._context.must_be_whole(partition, found),
            eligible_min_isr=state.eligible_min_isr,
            incarnations=[MemberIncarnation(*it) for it in state.incarnations],
            eligible=state.eligible,
        )
        return row

    # UpdateMetadata

    def _metadata(
        self, partitions: Iterable[TopicPartition]
    ) -> Steps[list[UpdateMetadataTopicState]]:
        image, deletions = self._context.image, self._context.deletions
        topics: dict[str, list[UpdateMetadataPartitionState]] = {}
        for count, partition in enumerate(partitions, 1):
            if not count % ROWS_IN_A_TURN:
                yield PAUSE
            found = image.partition(partition)
            if found is None:
                continue
            deletion = deletions.get(partition.topic)
            is_deleted = deletion is not None and deletion.has_begun
            if found.state is None:  # perhaps it was lost, and brokers know an earlier one
                if is_deleted:
                    row = _without_state(partition, found, DELETED, EPOCH_DURING_DELETION)
                    topics.setdefault(partition.topic, []).append(row)
                continue
            state, replicas = found.state, found.assignment.replicas
            leader = NO_BROKER if state.leader is None else state.leader
            row = UpdateMetadataPartitionState(
                partition_index=partition.partition,
                controller_epoch=state.controller_epoch,
                leader=DELETED if is_deleted else leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                zk_version=state.partition_epoch,
                replicas=replicas,
                offline_replicas=[
                    it for it in replicas if it not in self._live or it in found.offline
                ],
                incarnations=[IncarnationOfMember(*it) for it in state.incarnations],
            )
            topics.setdefault(partition.topic, []).append(row)
        return [
            UpdateMetadataTopicState(name, self._topic_id(name), rows)
            for name, rows in topics.items()
        ]

    def _update_metadata(
        self, states: list[UpdateMetadataTopicState], kind: int = INCREMENTAL
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            controller_id=self._context.me,
            type=kind,
            controller_epoch=self._context.lease.epoch,
            topic_states=states,
            live_brokers=self._brokers,
        )

    def _unknown_states(self) -> list[TopicPartition]:
        """Partitions that are there, and whose states this controller has never known."""
        context = self._context
        return [
            partition
            for partition in dict.fromkeys((*context.lost, *context.unread))
            for found in [context.image.partition(partition)]
            if found is not None
            and found.state is None
            and not context.is_deleting(partition.topic)
        ]

    def _without_states(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition]
    ) -> list[Addressed]:
        """To brokers of ours: one of Kafka's would forget a leader that leads on."""
        ours = tuple(it for it in brokers if self._live[it].mark is not None)
        topics: dict[str, list[UpdateMetadataPartitionState]] = {}
        for partition in partitions:
            found = self._context.image.partition(partition)
            if found is not None:
                row = _without_state(partition, found, NO_BROKER, NO_LEADER_EPOCH)
                topics.setdefault(partition.topic, []).append(row)
        if not ours or not topics:
            return []
        named = [
            UpdateMetadataTopicState(it, self._topic_id(it), rows) for it, rows in topics.items()
        ]
        return [(ours, self._update_metadata(named))]

    # StopReplica

    def _stop_replica(self, partitions: Marked) -> StopReplicaRequest:
        topics: dict[str, list[StopReplicaPartitionState]] = {}
        for partition, delete in partitions.items():
            row = StopReplicaPartitionState(
                partition.partition, self._stop_epoch(partition), delete_partition=delete
            )
            topics.setdefault(partition.topic, []).append(row)
        return StopReplicaRequest(
            controller_id=self._context.me,
            controller_epoch=self._context.lease.epoch,
            topic_states=[
                StopReplicaTopicState(name, rows, self._topic_id(name))
                for name, rows in topics.items()
            ],
        )

    def _stop_epoch(self, partition: TopicPartition) -> int:
        if partition.topic in self._context.deletions:
            return EPOCH_DURING_DELETION
        found = self._context.image.partition(partition)
        if found is None or found.state is None:
            return NO_LEADER_EPOCH
        return found.state.leader_epoch

    def _topic_id(self, name: str) -> TopicId:
        topic = self._context.image.topics.get(name)
        return NO_TOPIC_ID if topic is None or topic.topic_id is None else topic.topic_id


def _without_state(
    partition: TopicPartition, image: PartitionImage, leader: int, leader_epoch: int
) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=partition.partition,
        controller_epoch=-1,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=[],
        zk_version=-1,
        replicas=image.assignment.replicas,
        offline_replicas=[],
    )


def _all(context: ControllerContext) -> Iterable[TopicPartition]:
    for name, topic in context.image.topics.items():
        for number in topic.partitions:
            yield TopicPartition(name, number)


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
