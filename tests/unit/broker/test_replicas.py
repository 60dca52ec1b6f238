"""Partitions from the controller's word to records in a file, on simulated disks."""

import asyncio
import errno

import pytest
from structlog.testing import capture_logs

from odradek.broker.jobs import drained, off_loop
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, Offset
from odradek.records.batch import headers
from odradek.records.record import read_records
from odradek.replication.errors import NotEnoughReplicas
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.lending import looking_on
from odradek.sim.doors.worker import SimulatedWorker
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.errors import CorruptFile, LogDirOffline, StorageError
from odradek.storage.files.failures import Failures
from tests.unit.broker.ground import (
    GONE,
    ME,
    ORDERS,
    TOPIC_ID,
    Appender,
    Ground,
    batch_of,
    pausing,
    until,
    word,
)


async def settled(replicas: ReplicaManager) -> None:
    """Every turn is over, and every job has ended."""
    for _ in range(3):
        await asyncio.sleep(0)
        for worker in replicas.logs.workers.values():
            await drained(worker)


async def values(replicas: ReplicaManager, partition: TopicPartition = ORDERS) -> list[str]:
    """All that is in the log, read piece by piece."""
    found = []
    async for piece in replicas.logs.read_in_pieces(replicas.led(partition).log, 64):
        for position, header in headers(piece):
            found += [
                (record.value or b"").decode() for record in read_records(piece, header, position)
            ]
    return found


def test_what_is_appended_is_committed_and_read_after_a_restart() -> None:
    """With one replica the leader alone is the in-sync set."""

    async def first(replicas: ReplicaManager) -> None:
        assert await replicas.apply_leader_and_isr([word()]) == {}
        appender = Appender(replicas.led(ORDERS))
        appender.append(batch_of("a", "b"))
        appender.append(batch_of("c"))
        assert appender.told == []
        await settled(replicas)
        assert appender.told == [0, 2]
        assert replicas.led(ORDERS).leader.high_watermark == 3

    async def second(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(epoch=1)])
        led = replicas.led(ORDERS)
        assert (led.log.log_end_offset, led.log.high_watermark) == (3, 3)
        assert [entry.start_offset for entry in led.log.epochs.entries] == [0, 3]
        assert await values(replicas) == ["a", "b", "c"]

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_watchers_hear_of_each_new_high_watermark() -> None:
    """After those who waited for it were told."""
    heard: list[int] = []

    async def talk(replicas: ReplicaManager) -> None:
        replicas.roles.on_elected.append(lambda led: led.watchers.append(heard.append))
        await replicas.apply_leader_and_isr([word()])
        appender = Appender(replicas.led(ORDERS))
        for value in "abc":
            appender.append(batch_of(value))
        await settled(replicas)
        appender.append(batch_of("d"))
        await settled(replicas)

    with Ground() as ground:
        ground.live(talk)
    assert heard == [3, 4]


def test_logs_are_spread_over_the_dirs() -> None:
    """Each new one goes where there are the fewest."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr(
            [word(TopicPartition("orders", number)) for number in range(4)]
        )
        assert [len(log_dir) for log_dir in replicas.dirs.dirs] == [2, 2]

    with Ground() as ground:
        ground.live(talk)


def test_a_topic_that_was_made_anew_begins_with_an_empty_log() -> None:
    """Its id tells it from the one before, whose log may still be there."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        Appender(replicas.led(ORDERS)).append(batch_of("old"))
        await settled(replicas)
        assert await replicas.stop({ORDERS: GONE}) == {}
        anew = word()._replace(topic_id=TopicId(b"another topic id"))
        await replicas.apply_leader_and_isr([anew])
        assert replicas.led(ORDERS).log.log_end_offset == 0

    with Ground() as ground:
        ground.live(talk)


def test_a_disk_that_fails_while_an_old_log_is_put_away_takes_only_itself_offline() -> None:
    """The partition has an error; the broker goes on."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        home = replicas.dirs.dir_of(ORDERS)
        assert home is not None
        disk = ground.machine.disk(home.name.partition("/")[2])
        disk.faults.rows.append(Fault(calls=frozenset({"rename"})))
        anew = word()._replace(topic_id=TopicId(b"another topic id"))
        assert await replicas.apply_leader_and_isr([anew]) == {
            ORDERS: ErrorCode.KAFKA_STORAGE_ERROR
        }
        assert len(replicas.dirs.online) == len(replicas.dirs.dirs) - 1

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_leadership_that_could_not_begin_leaves_nothing_behind() -> None:
    """A topic's counters go with its last leadership; one that never began is not waited for."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])

    async def second(replicas: ReplicaManager) -> None:
        for log_dir in replicas.dirs.dirs:
            replicas.dirs.failures.report(log_dir.name, OSError("gone"))
        assert await replicas.apply_leader_and_isr([word(epoch=1)]) == {
            ORDERS: ErrorCode.KAFKA_STORAGE_ERROR
        }
        await replicas.stop({ORDERS: GONE})
        assert not replicas.traffics.by_topic

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


@pytest.mark.parametrize("flush", ["true", "false"])
def test_what_was_synced_before_it_was_acknowledged_survives_a_loss_of_power(flush: str) -> None:
    """With `flush.before.ack` an answer means: on the disk."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        appender = Appender(replicas.led(ORDERS))
        for value in "abcdef":
            appender.append(batch_of(value))
            await settled(replicas)
        assert appender.told == [0, 1, 2, 3, 4, 5]

    async def second(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(epoch=1)])
        found = await values(replicas)
        assert found == list("abcdef")[: len(found)]
        if flush == "true":
            assert len(found) == 6

    with Ground(orders={"flush.before.ack": flush}) as ground:
        ground.live(first, cleanly=False)
        ground.live(second)


def test_who_writes_need_not_wait_for_all_logs_that_are_made() -> None:
    """A thousand new topics take their time; others have their turns with the disk meanwhile."""
    logs_then: list[int] = []

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        home = replicas.dirs.dir_of(ORDERS)
        assert home is not None
        disk = ground.machine.disk(home.name.rpartition("/")[2])
        many = [word(TopicPartition("parcels", number)) for number in range(400)]
        making = asyncio.create_task(replicas.apply_leader_and_isr(many))
        await until(lambda: len(disk.names("")) >= 20)
        Appender(replicas.led(ORDERS)).append(batch_of("a"))
        await until(lambda: replicas.led(ORDERS).log.log_end_offset > 0)
        with looking_on():
            logs_then.append(len(disk.names("")))
        assert await making == {}
        with looking_on():
            assert len(disk.names("")) > 200

    with Ground() as ground:
        ground.live(talk)
    assert logs_then[0] < 150


def test_a_dir_that_fails_takes_its_partitions_along_and_no_others() -> None:
    """The broker goes on with the other one."""
    other = TopicPartition("orders", 1)

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(), word(other)])
        home = replicas.dirs.dir_of(ORDERS)
        assert home is not None
        appender = Appender(replicas.led(ORDERS))
        appender.append(batch_of("kept"))
        await settled(replicas)
        ground.machine.disk(home.name.rpartition("/")[2]).faults.rows.append(Fault())
        appender.append(batch_of("lost"))
        await settled(replicas)
        replicas.look_at_failures()
        assert appender.told == [Offset(0), ErrorCode.KAFKA_STORAGE_ERROR]
        with pytest.raises(LogDirOffline):
            replicas.led(ORDERS)
        survivor = Appender(replicas.led(other))
        survivor.append(batch_of("kept"))
        await settled(replicas)
        assert survivor.told == [Offset(0)]

    with Ground() as ground:
        ground.live(talk)


def test_what_comes_behind_a_failed_write_is_refused_with_it() -> None:
    """Its offsets rest on those of the lost batch; a duplicate of that was not stored either."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        led = replicas.led(ORDERS)
        worker = replicas.logs.worker_of(led.log)
        assert isinstance(worker, SimulatedWorker)
        worker.hang()
        appender = Appender(led)
        first = batch_of("a" * 100_000, producer_id=7, base_sequence=0)
        appender.append(first[:])
        await asyncio.sleep(0)
        appender.append(first[:])
        await asyncio.sleep(0)
        appender.append(batch_of("b"))
        await asyncio.sleep(0)
        where = led.log.folder.disk.name.rpartition("/")[2]
        faults = ground.machine.disk(where).faults
        faults.rows.append(Fault(calls=frozenset({"write"}), error=errno.ENOSPC, times=1))
        worker.go_on()
        await settled(replicas)
        assert appender.told == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
        assert led.log.log_end_offset == 0
        faults.rows.clear()
        appender.append(first[:])
        await settled(replicas)
        assert appender.told[3:] == [0]

    with Ground() as ground:
        ground.live(talk)


def test_a_missing_log_is_made_anew_only_if_no_offline_dir_can_hold_it() -> None:
    """An empty log beside the true one would lead with nothing once the dir is back."""
    new = TopicPartition("new", 0)

    async def talk(replicas: ReplicaManager) -> None:
        replicas.dirs.failures.report(replicas.dirs.dirs[0].name, OSError("gone"))
        replicas.look_at_failures()
        asked = [word(epoch=1), word(new)]
        assert await replicas.apply_leader_and_isr(asked) == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        assert replicas.dirs.get(ORDERS) is None
        assert replicas.led(new).log.log_end_offset == 0

    with Ground() as ground:
        ground.live(talk)


def test_a_changed_setting_reaches_logs_and_leaders_of_its_topics_alone() -> None:
    """How records are kept, what is refused, and how many must have them."""
    other = TopicPartition("other", 0)
    changed = {
        "segment.bytes": "2000",
        "max.message.bytes": "100",
        "min.insync.replicas": "2",
    }

    async def talk(replicas: ReplicaManager) -> None:
        states = []
        for partition in (ORDERS, other):
            state = word(partition)
            two = state.leadership._replace(replicas=(ME, BrokerId(2)))
            states.append(state._replace(leadership=two))
        await replicas.apply_leader_and_isr(states)
        ground.settings.topics = {"orders": changed, "other": changed}
        replicas.on_topic_settings("orders")
        orders, untouched = replicas.led(ORDERS), replicas.led(other)
        assert orders.log.config.segment_bytes == 2_000
        with pytest.raises(NotEnoughReplicas):
            orders.leader.check_enough_replicas()
        assert orders.produce_rules.bytes_max == 100
        assert untouched.log.config.segment_bytes != 2_000
        assert untouched.produce_rules.bytes_max != 100
        untouched.leader.check_enough_replicas()
        replicas.on_topic_settings(None)
        assert untouched.log.config == orders.log.config
        assert untouched.produce_rules.bytes_max == 100
        with pytest.raises(NotEnoughReplicas):
            untouched.leader.check_enough_replicas()

    with Ground() as ground:
        ground.live(talk)


def test_a_group_may_linger_so_that_others_share_its_sync() -> None:
    """Whoever comes meanwhile is answered with it, and nobody before; a stop waits for nothing."""
    linger = {"log.flush.before.ack.linger.ms": "500"}

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        appender = Appender(replicas.led(ORDERS))
        appender.append(batch_of("a"))
        await asyncio.sleep(0.4)
        appender.append(batch_of("b"))
        await settled(replicas)
        assert appender.told == []
        await asyncio.sleep(0.1)
        await settled(replicas)
        assert appender.told == [Offset(0), Offset(1)]
        appender.append(batch_of("c"))
        await replicas.logs.appends[replicas.led(ORDERS).log.folder.disk.name].settled()
        assert appender.told == [Offset(0), Offset(1), Offset(2)]

    with Ground(linger, orders={"flush.before.ack": "true"}) as ground:
        ground.live(talk)


def test_a_log_in_which_rot_leads_back_is_not_read_for_ever() -> None:
    """No checksum covers a batch's number: who reads must get on, or stop."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        appender = Appender(replicas.led(ORDERS))
        appender.append(batch_of("a"))
        await settled(replicas)
        segment = replicas.led(ORDERS).log.active_segment
        second = segment.size
        appender.append(batch_of("b"))
        await settled(replicas)
        with looking_on():
            segment.file.write([bytes(8)], second)
        with pytest.raises(CorruptFile):
            await values(replicas)

    with Ground() as ground:
        ground.live(talk, cleanly=False)


def test_a_dir_that_fails_while_a_log_is_read_is_reported() -> None:
    """Whoever reads a whole log hears of it in the words of storage, and the dir goes offline."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        Appender(replicas.led(ORDERS)).append(batch_of("a"))
        await settled(replicas)
        home = replicas.dirs.dir_of(ORDERS)
        assert home is not None
        disk = ground.machine.disk(home.name.rpartition("/")[2])
        disk.faults.rows.append(Fault(calls=frozenset({"read"})))
        with pytest.raises(StorageError):
            await values(replicas)
        replicas.look_at_failures()
        with pytest.raises(LogDirOffline):
            replicas.led(ORDERS)

    with Ground() as ground:
        ground.live(talk)


async def with_two_records(replicas: ReplicaManager) -> None:
    """A partition is led, and has them."""
    await replicas.apply_leader_and_isr([word()])
    Appender(replicas.led(ORDERS)).append(batch_of("a", "b"))
    await settled(replicas)


def test_records_of_a_topic_without_an_id_are_kept() -> None:
    """`partition.metadata` is missing from directories of old brokers; it is written anew."""

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        with looking_on():
            found.folder.disk.unlink(found.folder.path("partition.metadata"))
        found.topic_id = NO_TOPIC_ID
        await replicas.apply_leader_and_isr([word(epoch=1)])
        assert await values(replicas) == ["a", "b"]
        assert replicas.led(ORDERS).topic_id == TOPIC_ID

    async def third(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        assert found.topic_id == TOPIC_ID

    with Ground() as ground:
        for talk in (with_two_records, second, third):
            ground.live(talk)


def test_a_disk_too_full_for_one_topics_id_serves_no_records_of_an_earlier_topic() -> None:
    """What cannot be written for one partition leaves the others of the request to be looked at."""
    payments = TopicPartition("payments", 0)

    async def first(replicas: ReplicaManager) -> None:
        elsewhere = TopicPartition("elsewhere", 0)
        await replicas.apply_leader_and_isr([word(), word(elsewhere), word(payments)])
        assert replicas.dirs.dir_of(ORDERS) is replicas.dirs.dir_of(payments)
        for partition in (ORDERS, payments):
            Appender(replicas.led(partition)).append(batch_of("a", "b"))
        await settled(replicas)

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        with looking_on():
            found.folder.disk.unlink(found.folder.path("partition.metadata"))
        found.topic_id = NO_TOPIC_ID
        full = Fault(errno.ENOSPC, calls=frozenset({"write"}), path="orders-0/*")
        for name in ("disk-a", "disk-b"):
            ground.machine.disk(name).faults.rows.append(full)
        anew = word(payments)._replace(topic_id=TopicId(b"another topic id"))
        await replicas.apply_leader_and_isr([word(epoch=1), anew])
        assert full.hits
        assert await values(replicas) == ["a", "b"]
        assert await values(replicas, payments) == []
        assert not replicas.dirs.some_failed

    with Ground() as ground:
        ground.live(first)
        ground.live(second)


def test_a_log_that_is_not_made_after_all_counts_for_no_dir() -> None:
    """Its topic was deleted while it waited for its turn; the next logs are spread evenly."""
    later = [TopicPartition("later", number) for number in range(2)]

    async def talk(replicas: ReplicaManager) -> None:
        begun = replicas.apply_leader_and_isr([word()])
        deleted = replicas.stop({ORDERS: GONE})
        assert await begun == {}
        assert await deleted == {}
        assert replicas.logs.dir_of(ORDERS) is None
        await replicas.apply_leader_and_isr([word(it) for it in later])
        assert [len(log_dir) for log_dir in replicas.dirs.dirs] == [1, 1]
        assert replicas.dirs.dir_of(later[0]) is replicas.dirs.dirs[0]

    with Ground() as ground:
        ground.live(talk)


def test_what_the_controller_wants_deleted_while_the_logs_are_closed_stays() -> None:
    """The end is a clean one, and the controller asks again."""
    other = TopicPartition("payments", 0)

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(), word(other)])
        for partition in (ORDERS, other):
            Appender(replicas.led(partition)).append(batch_of("a"))
        await settled(replicas)
        rows = pausing(ground.machine, "sync", path="*.log")
        closing = asyncio.create_task(replicas.close(BrokerEpoch(7)))
        await until(lambda: all(row.hits for row in rows))
        answer = await replicas.stop({ORDERS: GONE, other: GONE})
        assert answer == dict.fromkeys((ORDERS, other), ErrorCode.KAFKA_STORAGE_ERROR)
        await closing
        ended.append(True)

    async def second(replicas: ReplicaManager) -> None:
        assert all(log_dir.to_delete == [] for log_dir in replicas.dirs.dirs)
        assert [found.log_end_offset for found in replicas.dirs] == [1, 1]

    ended: list[bool] = []
    with Ground() as ground, capture_logs() as events:
        ground.live(first, cleanly=False)
        assert ended
        ground.live(second)
    opened = [it["clean"] for it in events if it["event"] == "log_dir.opened" and "clean" in it]
    assert opened == [True, True]


class Unforeseen(Fault):
    """A call that meets a mistake of ours."""

    def hit(self, call: str, path: str) -> bool:
        """Once."""
        if Fault.hit(self, call, path):
            raise ValueError("a mistake")
        return False


@pytest.mark.parametrize("flush", ["false", "true"])
def test_a_mistake_in_a_write_takes_that_log_offline_and_nothing_else(flush: str) -> None:
    """Its writers are refused, the controller hears, and the next start looks at its files."""
    told: list[str] = []
    large = "a" * 70_000
    others = [TopicPartition("payments", number) for number in range(3)]

    async def first(replicas: ReplicaManager) -> None:
        replicas.on_dirs_to_report.append(lambda: told.append("the controller"))
        await replicas.apply_leader_and_isr([word(it) for it in (ORDERS, *others)])
        for worker in replicas.logs.workers.values():
            assert isinstance(worker, SimulatedWorker)
            worker.ends_world = False
        call = "sync" if flush == "true" else "write"
        for name in ("disk-a", "disk-b"):
            row = Unforeseen(0, frozenset({call}), "orders-0/*.log", times=1)
            ground.machine.disk(name).faults.rows.append(row)
        appenders = [Appender(replicas.led(it)) for it in (ORDERS, *others)]
        for appender in appenders:
            appender.append(batch_of(large))
            appender.append(batch_of(large))
        await settled(replicas)
        assert told
        assert appenders[0].told == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        assert [it.told for it in appenders[1:]] == [[0, 1]] * 3
        states = [word(it, epoch=1) for it in (ORDERS, *others)]
        refused = await replicas.apply_leader_and_isr(states)
        assert refused == {ORDERS: ErrorCode.KAFKA_STORAGE_ERROR}
        assert replicas.dirs.offline == frozenset()

    async def second(replicas: ReplicaManager) -> None:
        assert await replicas.apply_leader_and_isr([word(epoch=2)]) == {}
        assert await values(replicas) in ([], [large, large])  # what was refused may be there

    settings = {"segment.bytes": "1000000", "flush.before.ack": flush}
    with Ground(orders=settings) as ground, capture_logs() as events:
        ground.live(first)
        ground.live(second)
    opened = [it["clean"] for it in events if it["event"] == "log_dir.opened" and "clean" in it]
    assert sorted(opened) == [False, True]


def test_a_disk_that_is_replaced_takes_along_what_was_on_it_alone() -> None:
    """Another dir failed before: what is there may come back, and is not made anew."""
    many = [TopicPartition("orders", number) for number in range(4)]

    async def talk(replicas: ReplicaManager) -> None:
        gone: dict[str, tuple[TopicPartition, ...]] = {}
        replicas.on_dir_failed.append(lambda it: gone.update({it.log_dir: it.current}))
        await replicas.apply_leader_and_isr([word(it) for it in many])
        for log_dir in replicas.dirs.dirs:
            replicas.dirs.failures.report(log_dir.name, OSError(errno.EIO, "it fails"))
            replicas.look_at_failures()
        second = replicas.dirs.dirs[1]
        assert all(gone[log_dir.name] for log_dir in replicas.dirs.dirs)
        ground.machine.disk(second.name.rpartition("/")[2]).exchange()
        fresh = LogDir(second.disk, Failures())
        await off_loop(replicas.logs.workers[fresh.name], fresh.take)
        lost = replicas.replace_dir(fresh, gone[fresh.name])
        assert lost == len(gone[fresh.name])
        refused = await replicas.apply_leader_and_isr([word(it, epoch=1) for it in many])
        assert set(refused) == {*many} - {*gone[fresh.name]}

    with Ground() as ground:
        ground.live(talk, cleanly=False)
