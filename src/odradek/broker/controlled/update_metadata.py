"""UpdateMetadata becomes the next image of the cluster.

It names all brokers, and the partitions that have changed; a leader of -2 says that a partition is
being deleted. A new controller, and each broker that arrives, makes it send the whole image once.
Then a broker opens to clients (a controller of Kafka's sends everything at first, and does not say
so), and what was deleted or moved away while this broker could not be told is gone: topics that it
does not name, if the tree does not have them either (it may be that the controller cannot read one,
and what groups have committed for it goes with a topic), replicas that are not in their assignment.
Logs of which the controller knows nothing are set aside, as Kafka does with its strays.
"""

from collections.abc import Container, Iterable
from typing import NamedTuple

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import (
    EPOCH_DURING_DELETION,
    StopState,
    is_of_another_topic,
)
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps
from odradek.config.listeners import SecurityProtocol
from odradek.controller.messages import DELETED
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, Broker, Endpoint, PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import (
    NO_LEADER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)

log = structlog.get_logger()


def refuse(
    _request: UpdateMetadataRequest, _version: int, code: ErrorCode, _text: str
) -> UpdateMetadataResponse:
    """The whole request."""
    return UpdateMetadataResponse(error_code=code)


def apply(
    cluster: MetadataCache, request: UpdateMetadataRequest, gone: Container[str] = ()
) -> Steps[bool]:
    """Takes it over, whole and by the last step; whether it was full, and came for the first time.

    Topics that such a one does not name go, if they are `gone` from the tree. Of any other no row
    takes a partition back: it was sent before what is known, on a connection that broke, and
    arrives behind it.
    """
    image = cluster.image
    alive = {it.id for it in request.live_brokers}
    epochs = ControllerEpoch(request.controller_epoch), BrokerEpoch(request.broker_epoch)
    begins = cluster.begins_anew(request.type, *epochs)
    changes = Changes(image)
    changes.controller(BrokerId(request.controller_id))
    rows, is_overtaken = 0, False
    for topic in request.topic_states:
        rows += len(topic.partition_states)
        if rows > ROWS_IN_A_SLICE:
            rows = 0
            yield
        is_overtaken |= yield from _change(changes, image, topic, alive, begins=begins)
    if not is_overtaken:
        changes.brokers(map(_broker, request.live_brokers))
    if begins:
        stay = {it.topic_name for it in request.topic_states if _is_about(image, it)}
        stay |= {it for it in unnamed(image, request) if it not in gone}
        for name in [it for it in image.topics if it not in stay]:
            changes.remove_topic(name)
    assert cluster.image is image, "one request is carried out at a time"
    cluster.note_begun(request.type, *epochs)
    cluster.update(changes.image())
    return begins


def unnamed(image: ClusterImage, request: UpdateMetadataRequest) -> list[str]:
    """Topics that are known, and not to the controller which sends the whole."""
    named = {it.topic_name for it in request.topic_states}
    return [it for it in image.topics if it not in named]


def removed_meanwhile(
    request: UpdateMetadataRequest, replicas: ReplicaManager, me: BrokerId
) -> dict[TopicPartition, StopState]:
    """Replicas that the assignments of a full one do not name any more.

    Those of a topic that is being deleted, too: its deletion waits for the replicas that are
    assigned, and no other is expected. Topics that it does not name are strays.
    """
    found = {}
    logs = dict(replicas.dirs.topic_ids())
    held = {partition.topic for partition in logs}
    for topic in request.topic_states:
        topic_id = TopicId(bytes(topic.topic_id))
        if topic.topic_name not in held or topic_id == NO_TOPIC_ID:
            continue
        for state in topic.partition_states:
            partition = TopicPartition(topic.topic_name, state.partition_index)
            if _has_no_state(state):
                continue
            if logs.get(partition) == topic_id and me not in state.replicas:
                found[partition] = StopState(LeaderEpoch(state.leader_epoch), delete=True)
                log.info("replica.removed_meanwhile", partition=str(partition))
    return found


class Strays(NamedTuple):
    """Logs of this broker that no assignment of a full one names."""

    earlier: tuple[TopicPartition, ...]  # of topics whose names others have now
    unnamed: tuple[TopicPartition, ...]  # of topics that were deleted, or cannot be read


def strays(request: UpdateMetadataRequest, replicas: ReplicaManager, me: BrokerId) -> Strays:
    """Found by topic ids; a log without one is left."""
    topics = {topic.topic_name: topic for topic in request.topic_states}
    earlier, unnamed = [], []
    for found in replicas.dirs:
        partition, topic = found.partition, topics.get(found.partition.topic)
        if found.topic_id == NO_TOPIC_ID:
            continue
        if topic is None:
            unnamed.append(partition)
        elif bytes(topic.topic_id) not in {NO_TOPIC_ID, found.topic_id}:
            rows = topic.partition_states
            if all(
                it.partition_index != partition.partition or me not in it.replicas for it in rows
            ):
                earlier.append(partition)
    return Strays(tuple(earlier), tuple(unnamed))


def set_aside(partitions: Iterable[TopicPartition]) -> dict[TopicPartition, StopState]:
    """What is to be done with strays: a person may still want them."""
    states = {it: StopState(EPOCH_DURING_DELETION, delete=True, aside=True) for it in partitions}
    for partition in states:
        log.warning("log.stray", partition=str(partition))
    return states


def _is_overtaken(known: PartitionImage | None, row: UpdateMetadataPartitionState) -> bool:
    """Whether something newer is known of the partition."""
    if known is None or known.state is None or row.leader == DELETED:
        return False
    epochs = known.state.leader_epoch, known.state.partition_epoch
    return (row.leader_epoch, row.zk_version) < epochs


def _has_no_state(row: UpdateMetadataPartitionState) -> bool:
    """Whether its controller knows no state. A leader that lives, and is known, may lead still."""
    return row.leader == NO_BROKER and row.leader_epoch == NO_LEADER_EPOCH


def _is_about(image: ClusterImage, topic: UpdateMetadataTopicState) -> bool:
    """Whether it is of the topic that has the name, not of another one that is being deleted."""
    known = image.topics.get(topic.topic_name)
    known_id = (None if known is None else known.topic_id) or NO_TOPIC_ID
    if not is_of_another_topic(known_id, TopicId(bytes(topic.topic_id))):
        return True
    return any(row.leader != DELETED for row in topic.partition_states)


def _change(
    changes: Changes,
    image: ClusterImage,
    topic: UpdateMetadataTopicState,
    alive: Container[int],
    *,
    begins: bool,
) -> Steps[bool]:
    """A topic with another id is another topic; nothing of the old one is kept.

    That an earlier one of the name was deleted says nothing of the one that is known.
    Of a topic that is known only what has changed is replaced: most requests name few partitions.
    """
    topic_id = TopicId(bytes(topic.topic_id))
    known = image.topics.get(topic.topic_name)
    known_id = (None if known is None else known.topic_id) or NO_TOPIC_ID
    is_same = known is not None and known_id == topic_id
    known_partitions = known.partitions if known is not None and is_same else {}
    told: dict[int, PartitionImage | None] = {}
    is_overtaken = False
    for count, row in enumerate(topic.partition_states, 1):
        before = known_partitions.get(row.partition_index)
        if _has_no_state(row):
            if before is None or before.leader not in alive:
                told[row.partition_index] = _partition(row)
        elif not begins and _is_overtaken(before, row):
            is_overtaken = True
        else:
            told[row.partition_index] = None if row.leader == DELETED else _partition(row)
        if not count % ROWS_IN_A_SLICE:
            yield
    if is_same and None not in told.values():
        for number, partition in told.items():
            if partition is not None:
                changes.partition(TopicPartition(topic.topic_name, number), partition)
        return is_overtaken
    partitions = {
        it: partition
        for it, partition in {**known_partitions, **told}.items()
        if partition is not None
    }
    if partitions:
        changes.topic(topic.topic_name, None if topic_id == NO_TOPIC_ID else topic_id, partitions)
    elif known is not None and not is_of_another_topic(known_id, topic_id):
        changes.remove_topic(topic.topic_name)
    return is_overtaken


def _partition(state: UpdateMetadataPartitionState) -> PartitionImage:
    assignment = Assignment(tuple(map(BrokerId, state.replicas)))
    if _has_no_state(state):
        return PartitionImage(assignment)
    return PartitionImage(
        assignment,
        PartitionState(
            leader=BrokerId(state.leader) if state.leader >= 0 else None,
            leader_epoch=LeaderEpoch(state.leader_epoch),
            isr=tuple(map(BrokerId, state.isr)),
            partition_epoch=PartitionEpoch(state.zk_version),
            controller_epoch=ControllerEpoch(state.controller_epoch),
            incarnations=tuple(
                (BrokerId(it.broker_id), Incarnation(it.incarnation)) for it in state.incarnations
            ),
        ),
        frozenset(map(BrokerId, state.offline_replicas)),
    )


def _broker(broker: UpdateMetadataBroker) -> Broker:
    return Broker(
        BrokerId(broker.id),
        tuple(
            Endpoint(at.listener, at.host, at.port, SecurityProtocol(at.security_protocol))
            for at in broker.endpoints
        ),
        broker.rack,
    )
