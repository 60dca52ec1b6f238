"""A leader without room: when it gives way, and what it waits for then."""

import asyncio

import pytest

from odradek.broker.partitions.full_disks import FullDisks
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.metadata.image import Changes, PartitionImage
from odradek.metadata.nouns import Assignment, Broker, PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionEpoch
from odradek.model.units import Bytes
from odradek.replication.leadership import Leadership
from odradek.storage.dirs.room import Room
from odradek.storage.errors import LogDirOffline
from tests.unit.broker.ground import ME, ORDERS, TOPIC_ID, Appender, Ground, batch_of

OTHERS = BrokerId(2), BrokerId(3)
TOTAL = Bytes(1_000_000)
SEGMENT = "2048"


def asked(epoch: int, leader: BrokerId) -> LeaderAndIsrState:
    """What the controller asks for."""
    members = (ME, *OTHERS)
    leadership = Leadership(LeaderEpoch(epoch), PartitionEpoch(epoch), members, members)
    return LeaderAndIsrState(ORDERS, TOPIC_ID, leader, leadership, is_new=not epoch)


class Stage:
    """A replica whose disk is full, and what is known of the others."""

    def __init__(self, ground: Ground, replicas: ReplicaManager) -> None:
        self.is_heard = True
        self.fetches: list[FollowingReplica] = []
        self.ground, self.replicas = ground, replicas
        resignations = Resignations(replicas, ground.cluster, lambda: None)
        self.full_disks = FullDisks(replicas, ground.cluster, resignations, lambda: self.is_heard)
        self.full_disks.on_room += [self.fetches.append]
        replicas.on_dir_failed += [self.full_disks.on_dir_failed]
        replicas.logs.on_measuring += [self.full_disks.wanted_room]
        replicas.logs.on_measured += [self.full_disks.on_measured]
        for appends in replicas.logs.appends.values():
            appends.on_full += [self.full_disks.on_full]
        ground.cluster.watchers += [resignations.on_metadata]
        self.epoch = 0
        self.live: tuple[BrokerId, ...] = (ME, *OTHERS)

    def tell(self, leader: BrokerId, *, epoch: int | None = None) -> None:
        """Who leads, and who lives, as everybody hears."""
        epoch = self.epoch if epoch is None else epoch
        state = PartitionState(
            leader=leader,
            leader_epoch=LeaderEpoch(epoch),
            isr=(ME, *OTHERS),
            partition_epoch=PartitionEpoch(epoch),
            controller_epoch=ControllerEpoch(1),
        )
        changes = Changes(self.ground.cluster.image)
        changes.brokers(Broker(it, (), epoch=BrokerEpoch(1)) for it in self.live)
        changes.topic("orders", TOPIC_ID, {0: PartitionImage(Assignment((ME, *OTHERS)), state)})
        self.ground.cluster.update(changes.image())

    async def follow(self) -> FollowingReplica:
        """Another leads."""
        self.epoch += 1
        self.tell(OTHERS[0])
        assert not await self.replicas.apply_leader_and_isr([asked(self.epoch, OTHERS[0])])
        replica = self.replicas.followed(ORDERS)
        assert replica is not None
        return replica

    async def lead(self) -> None:
        """This broker does."""
        self.epoch += 1
        self.tell(ME)
        assert not await self.replicas.apply_leader_and_isr([asked(self.epoch, ME)])

    async def append(self) -> None:
        """Which its disk refuses."""
        found = self.replicas.led(ORDERS).log
        disk = self.ground.machine.disk(found.folder.disk.name.rpartition("/")[2])
        disk.faults.capacity = disk.used
        appender = Appender(self.replicas.led(ORDERS))
        appender.append(batch_of("a"))
        await asyncio.sleep(0.01)
        assert appender.told == [ErrorCode.KAFKA_STORAGE_ERROR]

    @property
    def leads(self) -> bool:
        """Whether it has not given way."""
        try:
            self.replicas.led(ORDERS)
        except LogDirOffline:
            return False
        return True

    def measure(self, replica: FollowingReplica, free: int) -> None:
        """The broker looks at the disk."""
        name = replica.log.folder.disk.name
        self.replicas.logs.note_room(name, Room(Bytes(free), TOTAL))


def test_it_gives_way_once_enough_others_could_lead() -> None:
    """Known by its metadata; while ZooKeeper is away it leads on."""

    async def talk(replicas: ReplicaManager) -> None:
        stage = Stage(ground, replicas)
        await stage.lead()
        stage.is_heard = False
        await stage.append()
        assert stage.leads
        stage.is_heard = True
        stage.live = (ME, OTHERS[0])  # two must be in sync, and one alone would be
        stage.tell(ME)
        await stage.append()
        assert stage.leads
        stage.live = (ME, *OTHERS)
        stage.tell(OTHERS[0], epoch=0)
        await stage.append()
        assert stage.leads
        stage.tell(ME)
        await stage.append()
        assert not stage.leads

    with Ground(orders={"min.insync.replicas": "2"}) as ground:
        ground.live(talk)


@pytest.mark.parametrize(("segment", "enough"), [(SEGMENT, 2_048), ("1000000", 10_000)])
def test_it_waits_for_a_segment_or_a_hundredth_of_the_disk(segment: str, enough: int) -> None:
    """Whichever is less; then it fetches, and has forgotten that it waited."""

    async def talk(replicas: ReplicaManager) -> None:
        stage = Stage(ground, replicas)
        await stage.lead()
        await stage.append()
        replica = await stage.follow()
        assert stage.full_disks.waits(replica)
        stage.measure(replica, enough - 1)
        assert stage.fetches == []
        replica = await stage.follow()  # another leader: it waits still
        assert stage.full_disks.waits(replica)
        stage.measure(replica, enough)
        assert stage.fetches == [replica]
        assert not stage.full_disks.waits(replica)
        stage.measure(replica, enough)
        assert stage.fetches == [replica]

    with Ground(orders={"segment.bytes": segment}) as ground:
        ground.live(talk)


def test_room_that_comes_before_another_leads_is_not_missed() -> None:
    """It is offline then; once it follows it fetches at once."""

    async def talk(replicas: ReplicaManager) -> None:
        stage = Stage(ground, replicas)
        await stage.lead()
        found = replicas.led(ORDERS).log
        await stage.append()
        replicas.logs.note_room(found.folder.disk.name, Room(TOTAL, TOTAL))
        assert not stage.full_disks.waits(await stage.follow())

    with Ground() as ground:
        ground.live(talk)


def test_a_disk_that_fails_is_not_waited_for() -> None:
    """What is in its place has room."""

    async def talk(replicas: ReplicaManager) -> None:
        stage = Stage(ground, replicas)
        await stage.lead()
        name = replicas.led(ORDERS).log.folder.disk.name
        await stage.append()
        replica = await stage.follow()
        replicas.dirs.failures.report(name, OSError("it is gone"))
        replicas.look_at_failures()
        assert not stage.full_disks.waits(replica)

    with Ground() as ground:
        ground.live(talk)
