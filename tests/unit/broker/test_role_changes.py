"""Roles that change while disks are slow: what is decided at once, and what waits for which dir."""

import asyncio
from collections.abc import Collection
from functools import partial

import pytest

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.logs.lanes import ANSWER_PATIENCE
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import StopState
from odradek.broker.partitions.whole_logs import WholeLogs
from odradek.metadata.image import Changes, ClusterImage, PartitionImage
from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import (
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
)
from odradek.replication.errors import NotLeaderOrFollower
from odradek.sim.doors.lending import looking_on
from odradek.sim.doors.worker import SimulatedWorker
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import LogDirOffline
from odradek.storage.files.unclean_logs import Reason, Unclean
from tests.unit.broker.ground import (
    GONE,
    ME,
    ORDERS,
    TOPIC_ID,
    Appender,
    Ground,
    batch_of,
    until,
    word,
)
from tests.unit.broker.test_replicas import settled

OTHER = TopicPartition("other", 0)
OTHER_BROKER = BrokerId(2)
ANEW = Incarnation(70)


def worker_of(replicas: ReplicaManager, partition: TopicPartition) -> SimulatedWorker:
    """The worker of the dir that has its log."""
    found = replicas.dirs.get(partition)
    assert found is not None, partition
    worker = replicas.logs.worker_of(found)
    assert isinstance(worker, SimulatedWorker)
    return worker


def error_of(replicas: ReplicaManager, partition: TopicPartition) -> type[Exception] | None:
    """What a client is told."""
    try:
        replicas.led(partition)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return type(error)
    return None


def watch_whole_logs(replicas: ReplicaManager, cluster: MetadataCache) -> None:
    """As a broker does."""
    watch = WholeLogs(replicas, cluster)
    replicas.roles.on_elected += [watch.on_elected]
    replicas.roles.on_following += [watch.on_following]
    replicas.roles.on_unfollowed += [watch.on_unfollowed]
    cluster.watchers += [watch.on_metadata]


def test_a_dir_that_hangs_holds_up_no_request_for_another() -> None:
    """The answer waits a while for the dir that hangs, once; the other partition is led at once."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(), word(OTHER)])

    async def second(replicas: ReplicaManager) -> None:
        hanging = worker_of(replicas, ORDERS)
        assert hanging is not worker_of(replicas, OTHER)
        hanging.hang()
        began = replicas.logs._clock.monotonic()
        both = [word(epoch=1), word(OTHER, epoch=1)]
        assert await replicas.apply_leader_and_isr(both) == {}
        Appender(replicas.led(OTHER)).append(batch_of("a"))
        await replicas.logs.appends[_dir_of(replicas, OTHER)].settled()
        assert replicas.led(OTHER).log.log_end_offset == 1
        assert replicas.logs._clock.monotonic() - began == ANSWER_PATIENCE
        assert await replicas.apply_leader_and_isr([word(epoch=2)]) == {}
        assert replicas.logs._clock.monotonic() - began == ANSWER_PATIENCE
        hanging.go_on()
        await settled(replicas)

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def _dir_of(replicas: ReplicaManager, partition: TopicPartition) -> str:
    found = replicas.dirs.dir_of(partition)
    assert found is not None, partition
    return found.name


def test_a_leadership_that_waits_for_its_disk_is_not_an_offline_dir() -> None:
    """A client asks again; a dir that is offline would send it away for good."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        worker_of(replicas, ORDERS).hang()
        starting = asyncio.ensure_future(replicas.apply_leader_and_isr([word(epoch=1)]))  # noqa: TID251, RUF100
        await asyncio.sleep(0)
        assert error_of(replicas, ORDERS) is NotLeaderOrFollower
        worker_of(replicas, ORDERS).go_on()
        assert await starting == {}
        assert error_of(replicas, ORDERS) is None

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_role_that_was_overtaken_while_its_disk_hung_does_not_begin() -> None:
    """The newer request counts, in whichever order the disk gets round to them."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        elected: list[LeaderEpoch] = []
        replicas.roles.on_elected.append(lambda leading: elected.append(leading.leader_epoch))
        worker_of(replicas, ORDERS).hang()
        await replicas.apply_leader_and_isr([word(epoch=1)])
        await replicas.apply_leader_and_isr([word(epoch=2, leader=BrokerId(2))])
        worker_of(replicas, ORDERS).go_on()
        await asyncio.sleep(1)
        assert elected == []
        followed = replicas.followed(ORDERS)
        assert followed is not None
        assert followed.leader == 2

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_log_that_is_deleted_while_its_dir_hangs_is_gone_once_it_goes_on() -> None:
    """Until then the deletion has failed, and the controller asks again."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        hanging = worker_of(replicas, ORDERS)
        hanging.hang()
        assert await replicas.stop({ORDERS: GONE}) == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        hanging.go_on()
        await asyncio.sleep(1)
        assert replicas.dirs.get(ORDERS) is None
        assert await replicas.stop({ORDERS: GONE}) == {}

    with Ground() as ground:
        ground.live(talk)


def test_a_stop_without_deletion_keeps_the_log_and_the_epoch() -> None:
    """A broker that shuts down is told so; a later request of the same epoch finds it stopped."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        stop = StopState(LeaderEpoch(0), delete=False)
        assert await replicas.stop({ORDERS: stop}) == {}
        assert error_of(replicas, ORDERS) is NotLeaderOrFollower
        assert await replicas.apply_leader_and_isr([word()]) == {
            ORDERS: ErrorCode.STALE_CONTROLLER_EPOCH
        }
        assert replicas.dirs.get(ORDERS) is not None

    with Ground() as ground:
        ground.live(talk)


def test_a_replica_on_a_failed_dir_is_told_so_to_a_controller_that_repeats_its_epoch() -> None:
    """It is how a controller learns which replicas are offline."""

    async def talk(replicas: ReplicaManager) -> None:
        failed: list[str] = []
        replicas.on_dir_failed.append(lambda gone: failed.append(gone.log_dir))
        await replicas.apply_leader_and_isr([word(), word(OTHER)])
        name = _dir_of(replicas, ORDERS)
        replicas.dirs.failures.report(name, OSError("gone"))
        replicas.look_at_failures()
        assert failed == [name]
        assert error_of(replicas, ORDERS) is LogDirOffline
        assert await replicas.apply_leader_and_isr([word(), word(OTHER)]) == {
            ORDERS: ErrorCode.KAFKA_STORAGE_ERROR,
            OTHER: ErrorCode.STALE_CONTROLLER_EPOCH,
        }
        assert await replicas.stop({ORDERS: GONE}) == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}

    with Ground() as ground:
        ground.live(talk)


def test_a_follower_takes_what_its_leader_sent_as_it_is() -> None:
    """Offsets and epochs are the leader's; the high watermark is, as far as the log goes."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(), word(OTHER, leader=BrokerId(2))])
        led, followed = replicas.led(ORDERS), replicas.followed(OTHER)
        assert followed is not None
        Appender(led).append(batch_of("a", "b"))
        await settled(replicas)
        told: list[object] = []
        async for piece in replicas.logs.read_in_pieces(led.log, 1 << 20):
            followed.append(memoryview(piece), told.append)
        await settled(replicas)
        assert told == [None]
        assert followed.log.log_end_offset == 2
        assert [it.leader_epoch for it in followed.log.epochs.entries] == [0]
        followed.on_high_watermark(Offset(9))
        assert followed.log.high_watermark == 2

    with Ground() as ground:
        ground.live(talk)


def test_a_log_that_has_joined_as_what_it_is_leads_before_it_has_heard_so() -> None:
    """Whoever could have told it is dead, perhaps: the state says as what it is a member."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        watch_whole_logs(replicas, MetadataCache())
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        found.unclean, found.incarnation = Unclean(Reason.CUT), ANEW
        elected = word(epoch=1)._replace(must_be_whole=True)
        as_it_is = elected.leadership._replace(incarnations=((ME, ANEW),))
        assert await replicas.apply_leader_and_isr([elected._replace(leadership=as_it_is)]) == {}
        assert not replicas.is_unclean(ORDERS)
        assert replicas.incarnation(ORDERS) == ANEW

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_log_that_lost_records_does_not_lead_where_a_whole_one_may() -> None:
    """Decision 21: it refuses, says why, and leads once the controller insists."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        watch_whole_logs(replicas, MetadataCache())
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        found.unclean, found.incarnation = Unclean(Reason.CUT), ANEW
        careful = word(epoch=1)._replace(must_be_whole=True)
        assert await replicas.apply_leader_and_isr([careful]) == {
            ORDERS: ErrorCode.REPLICA_NOT_AVAILABLE
        }
        again = word(epoch=1)  # by the next controller, whom the answer did not reach
        assert await replicas.apply_leader_and_isr([again]) == {
            ORDERS: ErrorCode.REPLICA_NOT_AVAILABLE
        }
        assert replicas.is_unclean(ORDERS)
        assert error_of(replicas, ORDERS) is NotLeaderOrFollower
        assert await replicas.apply_leader_and_isr([word(epoch=2)]) == {}
        assert error_of(replicas, ORDERS) is None
        assert not replicas.is_unclean(ORDERS)

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_logs_that_are_whole_together_are_noted_with_one_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a loss of power all of a dir's are; their incarnations stay."""
    states = [word()._replace(partition=TopicPartition("orders", it)) for it in range(3)]
    cleared: list[Collection[TopicPartition]] = []
    plain = LogDir.clear_unclean

    def clear(log_dir: LogDir, partitions: Collection[TopicPartition]) -> None:
        cleared.append(partitions)
        plain(log_dir, partitions)

    monkeypatch.setattr(LogDir, "clear_unclean", clear)

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr(states)

    async def second(replicas: ReplicaManager) -> None:
        watch_whole_logs(replicas, MetadataCache())
        dirs = set()
        for found in list(replicas.dirs):
            found.unclean, found.incarnation = Unclean(Reason.CUT), ANEW
            dirs.add(found.folder.disk.name)
            with looking_on():
                replicas.dirs.named(found.folder.disk.name).note_unclean(found)
        again = [it._replace(leadership=word(epoch=1).leadership) for it in states]
        assert await replicas.apply_leader_and_isr(again) == {}
        await settled(replicas)
        assert sum(map(len, cleared)) == len(states)
        assert len(cleared) == len(dirs)
        assert all(replicas.incarnation(it.partition) == ANEW for it in states)

    async def third(replicas: ReplicaManager) -> None:
        assert not any(replicas.is_unclean(it.partition) for it in states)
        assert all(replicas.incarnation(it.partition) == ANEW for it in states)

    with Ground() as ground:
        for life in (first, second, third):
            ground.live(life)


def test_a_log_that_lost_records_is_whole_when_its_replica_is_in_sync_again() -> None:
    """The leader has seen that everything committed is there, and the controller has written it."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        cluster = MetadataCache()
        cluster.me = ME
        watch_whole_logs(replicas, cluster)
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        found.unclean, found.incarnation = Unclean(Reason.CUT), ANEW
        await replicas.apply_leader_and_isr([word(epoch=1, leader=OTHER_BROKER)])
        both = OTHER_BROKER, ME
        for isr, incarnations, is_unclean in (
            ((OTHER_BROKER,), (), True),
            (both, (), True),  # what has joined is what the log was before
            (both, ((ME, ANEW),), False),
        ):
            cluster.update(image_with(cluster.image, isr, incarnations=incarnations))
            assert replicas.is_unclean(ORDERS) is is_unclean

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_log_in_doubt_joins_in_the_moment_in_which_it_takes_another_dir(*, leaves: bool) -> None:
    """It has no role then, and is told only once; unless it has left again, it has all there is."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        cluster = MetadataCache()
        cluster.me = ME
        watch_whole_logs(replicas, cluster)
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        found.unclean = Unclean(Reason.MAYBE_OLDER)
        await replicas.apply_leader_and_isr([word(epoch=1, leader=OTHER_BROKER)])
        cluster.update(image_with(cluster.image, (OTHER_BROKER,)))
        replicas.hold(ORDERS)
        cluster.update(image_with(cluster.image, (OTHER_BROKER, ME)))
        if leaves:
            cluster.update(image_with(cluster.image, (OTHER_BROKER,)))
        assert found.is_doubted
        replicas.release(ORDERS)
        assert found.is_doubted is leaves

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_log_that_lost_records_is_not_whole_because_its_replica_is_elected() -> None:
    """The controller had not heard of it yet; the metadata may come before LeaderAndIsr does."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        cluster = MetadataCache()
        cluster.me = ME
        watch_whole_logs(replicas, cluster)
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        found.unclean, found.incarnation = Unclean(Reason.CUT), ANEW
        await replicas.apply_leader_and_isr([word(epoch=1, leader=OTHER_BROKER)])
        cluster.update(image_with(cluster.image, (OTHER_BROKER,)))
        cluster.update(image_with(cluster.image, (ME,), leader=ME))
        assert replicas.is_unclean(ORDERS)
        elected = word(epoch=2)._replace(must_be_whole=True)
        assert await replicas.apply_leader_and_isr([elected]) == {
            ORDERS: ErrorCode.REPLICA_NOT_AVAILABLE
        }

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def image_with(
    image: ClusterImage,
    isr: tuple[BrokerId, ...],
    leader: BrokerId = OTHER_BROKER,
    incarnations: tuple[tuple[BrokerId, Incarnation], ...] = (),
) -> ClusterImage:
    """The partition, with this ISR."""
    epochs = LeaderEpoch(1), PartitionEpoch(len(isr)), ControllerEpoch(1)
    state = PartitionState(leader, epochs[0], isr, epochs[1], epochs[2], incarnations=incarnations)
    partition = PartitionImage(Assignment((OTHER_BROKER, ME)), state)
    return Changes(image).topic(ORDERS.topic, TOPIC_ID, {ORDERS.partition: partition}).image()


def test_a_segment_is_rolled_behind_a_truncation() -> None:
    """Retention rolls what is too old as a whole; a truncation has the log for itself."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        for value in "ab":
            Appender(replicas.led(ORDERS)).append(batch_of(value))
        await settled(replicas)
        await replicas.apply_leader_and_isr([word(epoch=1, leader=OTHER_BROKER)])
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        worker = worker_of(replicas, ORDERS)
        worker.hang(2)  # what was decided before is waited for by two jobs
        cutting = replicas.lane_of(found).run(partial(replicas.logs.truncate, found, Offset(1)))
        await until(lambda: found.lent_to is not None)
        rolling = asyncio.ensure_future(replicas.roll(ORDERS))
        await asyncio.sleep(0)
        worker.go_on()
        await cutting
        await rolling
        assert found.log_end_offset == 1
        assert [it.base_offset for it in found.segments] == [0, 1]

    with Ground() as ground:
        ground.live(talk)
