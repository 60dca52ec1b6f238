"""A leader gives way: how long its replica is offline, by what the metadata says of it."""

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.metadata.image import Changes, PartitionImage
from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.replication.leadership import Leadership
from tests.unit.broker.ground import ME, ORDERS, TOPIC_ID, Ground

OTHER = BrokerId(2)


def asked(epoch: int, leader: BrokerId) -> LeaderAndIsrState:
    """What the controller asks for."""
    leadership = Leadership(LeaderEpoch(epoch), PartitionEpoch(epoch), (ME, OTHER), (ME, OTHER))
    return LeaderAndIsrState(ORDERS, TOPIC_ID, leader, leadership, is_new=not epoch)


def told(ground: Ground, partition: TopicPartition, epoch: int, leader: BrokerId | None) -> None:
    """What the controller says of a partition to everybody."""
    state = PartitionState(
        leader=leader,
        leader_epoch=LeaderEpoch(epoch),
        isr=(ME, OTHER),
        partition_epoch=PartitionEpoch(epoch),
        controller_epoch=ControllerEpoch(1),
    )
    image = PartitionImage(Assignment((ME, OTHER)), state)
    changes = Changes(ground.cluster.image)
    changes.topic(partition.topic, TOPIC_ID, {partition.partition: image})
    ground.cluster.update(changes.image())


async def outcome(replicas: ReplicaManager, state: LeaderAndIsrState) -> ErrorCode | None:
    """The answer for the only partition; None: it was done."""
    return (await replicas.apply_leader_and_isr([state])).get(ORDERS)


def test_an_older_image_does_not_end_a_resignation() -> None:
    """It names the leader before this one: asked for its role, it is offline still."""
    reports: list[None] = []

    async def talk(replicas: ReplicaManager) -> None:
        resignations = Resignations(replicas, ground.cluster, lambda: reports.append(None))
        ground.cluster.watchers += [resignations.on_metadata]
        told(ground, ORDERS, 2, OTHER)
        await outcome(replicas, asked(3, ME))
        resignations.resign(replicas.led(ORDERS))
        told(ground, TopicPartition("payments", 0), 1, OTHER)
        assert await outcome(replicas, asked(3, ME)) is ErrorCode.KAFKA_STORAGE_ERROR
        told(ground, ORDERS, 3, ME)
        assert await outcome(replicas, asked(3, ME)) is ErrorCode.KAFKA_STORAGE_ERROR
        assert len(reports) == 1
        told(ground, ORDERS, 4, OTHER)
        assert len(reports) == 2
        assert await outcome(replicas, asked(4, OTHER)) is None
        assert replicas.followed(ORDERS) is not None

    with Ground() as ground:
        ground.live(talk)


def test_where_none_may_lead_it_is_asked_again() -> None:
    """The others have died meanwhile: it is online, and may be elected again."""

    async def talk(replicas: ReplicaManager) -> None:
        resignations = Resignations(replicas, ground.cluster, lambda: None)
        ground.cluster.watchers += [resignations.on_metadata]
        await outcome(replicas, asked(3, ME))
        told(ground, ORDERS, 3, ME)
        resignations.resign(replicas.led(ORDERS))
        told(ground, ORDERS, 4, None)
        assert await outcome(replicas, asked(5, ME)) is None
        assert replicas.led(ORDERS).leader_epoch == 5

    with Ground() as ground:
        ground.live(talk)


def test_a_topic_that_is_gone_keeps_nothing_offline() -> None:
    """What was told of it is forgotten, and a topic of its name begins anew."""

    async def talk(replicas: ReplicaManager) -> None:
        resignations = Resignations(replicas, ground.cluster, lambda: None)
        ground.cluster.watchers += [resignations.on_metadata]
        await outcome(replicas, asked(3, ME))
        told(ground, ORDERS, 3, ME)
        resignations.resign(replicas.led(ORDERS))
        ground.cluster.update(Changes(ground.cluster.image).remove_topic("orders").image())
        assert await outcome(replicas, asked(4, ME)) is None

    with Ground() as ground:
        ground.live(talk)
