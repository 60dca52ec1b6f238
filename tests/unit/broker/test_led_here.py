"""Who serves a partition, and what the others say."""

import pytest

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import UnknownPartition
from odradek.metadata.image import Changes, PartitionImage
from odradek.metadata.nouns import Assignment
from odradek.model.ids import BrokerId, TopicPartition
from odradek.replication.errors import NotLeaderOrFollower
from tests.unit.broker.ground import ORDERS, TOPIC_ID, Ground, word


def test_what_exists_is_never_unknown() -> None:
    """A client looks for another leader then; of what is unknown some of them despair."""

    async def talk(replicas: ReplicaManager) -> None:
        elsewhere = {0: PartitionImage(Assignment((BrokerId(2),)))}
        changes = Changes(ground.cluster.image).topic("orders", TOPIC_ID, elsewhere)
        ground.cluster.image = changes.image()
        with pytest.raises(NotLeaderOrFollower):
            replicas.led(ORDERS)
        with pytest.raises(UnknownPartition):
            replicas.led(TopicPartition("orders", 1))
        ground.cluster.is_whole = False
        with pytest.raises(NotLeaderOrFollower):
            replicas.led(TopicPartition("orders", 1))

    with Ground() as ground:
        ground.live(talk)


def test_a_partition_is_served_by_its_leader_alone() -> None:
    """Everybody else says why not."""

    async def talk(replicas: ReplicaManager) -> None:
        with pytest.raises(UnknownPartition):
            replicas.led(ORDERS)
        await replicas.apply_leader_and_isr([word()])
        resigned: list[TopicPartition] = []
        replicas.roles.on_resigned.append(resigned.append)
        await replicas.apply_leader_and_isr([word(epoch=1, leader=BrokerId(2))])
        assert resigned == [ORDERS]
        with pytest.raises(NotLeaderOrFollower):
            replicas.led(ORDERS)

    with Ground() as ground:
        ground.live(talk)
