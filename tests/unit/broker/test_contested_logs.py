"""Two dirs have logs of two topics of one name: the controller's word tells which is served."""

import asyncio

import pytest

from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.hosted import UnknownPartition
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.units import Timestamp
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.lending import looking_on
from odradek.storage.dirs.dir_new_logs import InDir
from odradek.storage.errors import LogDirOffline
from odradek.storage.files.dir_files import read_small
from tests.unit.broker.ground import GONE, ORDERS, Appender, Ground, batch_of, word
from tests.unit.broker.test_replicas import settled, values, with_two_records

EARLIER = TopicId(b"an earlier topic")
LATER = TopicId(b"one more topic's")
NOW = Timestamp(1_700_000_000_000)


def where(replicas: ReplicaManager, partition: TopicPartition = ORDERS) -> str | None:
    """The name of the dir that has the current log."""
    home = replicas.dirs.dir_of(partition)
    return None if home is None else home.name.rpartition("/")[2]


async def make_both(replicas: ReplicaManager) -> None:
    """The present topic's log, with two records, in disk-b; the earlier one's in disk-a."""
    replicas.dirs.preferred[ORDERS] = replicas.dirs.dirs[1].name
    await replicas.apply_leader_and_isr([word()])
    Appender(replicas.led(ORDERS)).append(batch_of("a", "b"))
    await settled(replicas)
    how = InDir(replicas.logs.config_of(ORDERS.topic), EARLIER, is_new=True)
    with looking_on():
        replicas.dirs.dirs[0].create(ORDERS, str(ORDERS), how, NOW)


def names(ground: Ground, disk: str) -> list[str]:
    """Of the logs that lie on a disk, those that are on their way out as such."""
    with looking_on():
        found = ground.machine.disk(disk).names("")
    return [name[-6:] for name in sorted(found) if name.startswith("orders-0")]


@pytest.mark.parametrize("epoch", [0, 1])
def test_the_log_of_the_topic_that_the_controller_names_is_served(epoch: int) -> None:
    """Also if it was never told that the replica exists; the other log is put away."""

    async def talk(replicas: ReplicaManager) -> None:
        assert where(replicas) is None
        with pytest.raises(UnknownPartition):
            replicas.led(ORDERS)
        assert await replicas.apply_leader_and_isr([word(epoch=epoch)]) == {}
        assert where(replicas) == "disk-b"
        assert await values(replicas) == ["a", "b"]
        assert names(ground, "disk-a") == ["delete"]

    async def after(replicas: ReplicaManager) -> None:
        assert where(replicas) == "disk-b"

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)
        ground.live(after)


def test_a_topic_that_has_neither_log_gets_its_own() -> None:
    """Neither has its records, so both are put away before it is made."""

    async def talk(replicas: ReplicaManager) -> None:
        assert await replicas.apply_leader_and_isr([word()._replace(topic_id=LATER)]) == {}
        assert await values(replicas) == []
        assert replicas.led(ORDERS).topic_id == LATER
        left = names(ground, "disk-a") + names(ground, "disk-b")
        assert sorted(left) == ["delete", "delete", "ders-0"]

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)


def test_a_word_without_a_topics_id_decides_nothing() -> None:
    """The replica is offline, and both logs stay."""

    async def talk(replicas: ReplicaManager) -> None:
        unnamed = word(epoch=1)._replace(topic_id=NO_TOPIC_ID)
        told = await replicas.apply_leader_and_isr([unnamed])
        assert told == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        assert names(ground, "disk-a") == names(ground, "disk-b") == ["ders-0"]

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)


def test_a_deletion_puts_both_away() -> None:
    """Else one of them would pass for the log at the next start."""

    async def talk(replicas: ReplicaManager) -> None:
        assert await replicas.stop({ORDERS: GONE}) == {}
        assert names(ground, "disk-a") == names(ground, "disk-b") == ["delete"]

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)


def test_a_deletion_goes_on_behind_a_dir_that_fails() -> None:
    """The controller hears of the failure, and asks again once the dir is back."""

    async def talk(replicas: ReplicaManager) -> None:
        fault = Fault(calls=frozenset({"rename"}), path="orders-0")
        ground.machine.disk("disk-a").faults.rows.append(fault)
        assert await replicas.stop({ORDERS: GONE}) == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        assert names(ground, "disk-a") == ["ders-0"]
        assert names(ground, "disk-b") == ["delete"]

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)


def test_a_deletion_that_overtakes_the_controllers_word_leaves_nothing() -> None:
    """Neither is a log made of a partition that was deleted while its log was looked for."""

    async def talk(replicas: ReplicaManager) -> None:
        begun = replicas.apply_leader_and_isr([word(epoch=1)])
        await asyncio.sleep(0)
        deleted = replicas.stop({ORDERS: GONE})
        await begun
        assert await deleted == {}
        assert where(replicas) is None
        assert set(names(ground, "disk-a") + names(ground, "disk-b")) == {"delete"}

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)


def test_a_dir_that_fails_with_the_other_log_leaves_the_true_one_served() -> None:
    """It is found at a later start, and put away then."""

    async def talk(replicas: ReplicaManager) -> None:
        fault = Fault(calls=frozenset({"rename"}), path="orders-0")
        ground.machine.disk("disk-a").faults.rows.append(fault)
        assert await replicas.apply_leader_and_isr([word(epoch=1)]) == {}
        assert fault.hits
        ground.machine.disk("disk-a").faults.rows.clear()
        assert await values(replicas) == ["a", "b"]

    async def after(replicas: ReplicaManager) -> None:
        assert await replicas.apply_leader_and_isr([word(epoch=2)]) == {}
        assert await values(replicas) == ["a", "b"]
        assert names(ground, "disk-a") == ["delete"]

    with Ground() as ground:
        ground.live(make_both)
        ground.live(talk)
        ground.live(after)


def test_no_log_is_made_in_place_of_an_earlier_ones_while_the_true_one_may_be_offline() -> None:
    """Its dir failed at the start; the log that is found is of an earlier topic."""

    async def talk(replicas: ReplicaManager) -> None:
        assert replicas.dirs.some_failed
        assert where(replicas) == "disk-a"
        told = await replicas.apply_leader_and_isr([word(epoch=1)])
        assert told == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        with pytest.raises(LogDirOffline):
            replicas.led(ORDERS)
        ground.machine.disk("disk-b").faults.rows.clear()

    async def after(replicas: ReplicaManager) -> None:
        assert await replicas.apply_leader_and_isr([word(epoch=2)]) == {}
        assert await values(replicas) == ["a", "b"]

    with Ground() as ground:
        ground.live(make_both)
        fault = Fault(calls=frozenset({"open"}), path="orders-0/*")
        ground.machine.disk("disk-b").faults.rows.append(fault)
        ground.live(talk)
        ground.live(after)


def test_a_log_of_another_topic_is_set_aside_where_no_checksum_covers_the_id() -> None:
    """Kafka, or an earlier version, wrote the id: a bit of it may have turned since."""

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        disk, path = found.folder.disk, found.folder.path("partition.metadata")
        with looking_on():
            sum_at = bytes(read_small(disk, path)).index(b"\ncrc32c")
            disk.open(path).truncate(sum_at)
            anew = word()._replace(topic_id=LATER)
            await replicas.apply_leader_and_isr([anew])
            assert await values(replicas) == []
            assert [it for it in disk.names("") if it.startswith("orders") and "stray" in it]

    with Ground() as ground:
        ground.live(with_two_records)
        ground.live(second)
