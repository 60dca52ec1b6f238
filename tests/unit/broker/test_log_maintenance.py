"""What is done in the background, while topics come and go."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from odradek.broker.jobs import drained
from odradek.broker.partitions.corrupt_replicas import CorruptReplicas
from odradek.broker.partitions.log_maintenance import LogMaintenance
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.resignations import Resignations
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import Offset
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.lending import looking_on
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import MachineClock
from odradek.storage.errors import LogDirOffline
from tests.unit.broker.ground import GONE, ORDERS, Appender, Ground, pausing, until, word

SOON = {
    "log.segment.delete.delay.ms": "1",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}
PRODUCER = 7
MANY = [TopicPartition(f"topic-{number:02}", 0) for number in range(24)]


async def be_slow(worker: object) -> None:
    """A job, and then nothing for a while."""
    assert isinstance(worker, SimulatedWorker)
    while True:
        worker.hang()
        await asyncio.sleep(0.005)
        worker.go_on()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_log_that_is_deleted_while_a_round_is_under_way_is_left_alone(policy: str) -> None:
    """Its files are gone, which must not look like a disk that has lost them."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(partition) for partition in MANY])
        async with asyncio.TaskGroup() as tasks:
            clock = ground.machine.clock
            running = LogMaintenance(replicas, ground.settings, clock, tasks).start()
            await asyncio.sleep(0.99)
            running += [tasks.create_task(be_slow(it)) for it in replicas.logs.workers.values()]
            await replicas.stop(dict.fromkeys(MANY[12:], GONE))
            await asyncio.sleep(1)
            for task in running:
                task.cancel()
        for worker in replicas.logs.workers.values():
            assert isinstance(worker, SimulatedWorker)
            worker.go_on()
        assert [log_dir.name for log_dir in replicas.dirs.dirs if log_dir.is_offline] == []

    configs = {partition.topic: {"cleanup.policy": policy} for partition in MANY}
    with Ground(SOON, **configs) as ground:
        ground.live(talk)


def test_a_log_that_cannot_be_compacted_keeps_no_other_from_it() -> None:
    """A bit has turned in it, and it gains the most: it is named once, and then left alone."""
    rotten, sound = (TopicPartition(name, 0) for name in ("rotten", "sound"))

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(it) for it in (rotten, MANY[0], sound)])
        home = replicas.dirs.dir_of(rotten)
        assert home is not None
        assert replicas.dirs.dir_of(sound) is home
        for partition, count in ((rotten, 9), (sound, 5)):
            appender = Appender(replicas.led(partition))
            for _ in range(count):
                appender.append(keyed("same", "a" * 300))
                await asyncio.sleep(0.01)
            assert len(replicas.led(partition).log.segments) > 2
        disk = ground.machine.disk(home.name.rpartition("/")[2])
        disk.flip("rotten-0/00000000000000000000.log", 100, 3)
        before = replicas.led(sound).log.size
        resignations = Resignations(replicas, ground.cluster, lambda: None)
        sick = CorruptReplicas(replicas, ground.cluster, resignations, lambda _: None)
        replicas.logs.on_corrupt_file += [sick.on_corrupt_file]
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            with capture_logs() as events:
                await asyncio.sleep(5)
            for task in running:
                task.cancel()
        assert replicas.led(sound).log.size < before
        told = [it for it in events if it["event"] == "log.corrupt"]
        assert [(it["partition"], it["log_dir"]) for it in told] == [(str(rotten), home.name)]
        assert not home.is_offline

    compacted = {
        "cleanup.policy": "compact",
        "segment.bytes": "500",
        "min.cleanable.dirty.ratio": "0.01",
    }
    with Ground(SOON, rotten=compacted, sound=compacted) as ground:
        ground.live(talk)


def test_no_compaction_begins_in_a_log_that_is_about_to_be_cut() -> None:
    """Both take a while to begin, because the disk is slow; the cut waits for what is under way."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found = replicas.led(ORDERS).log
        appender = Appender(replicas.led(ORDERS))
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            running += [tasks.create_task(be_slow(it)) for it in replicas.logs.workers.values()]
            with capture_logs() as events:
                for number in range(90):
                    appender.append(keyed("same", "a" * 300))
                    await asyncio.sleep(number % 18 / 1000)
                    await replicas.logs.truncate(found, found.log_end_offset)
            for task in running:
                task.cancel()
        assert [it for it in events if it["event"] == "log.compaction_cancelled"]
        for worker in replicas.logs.workers.values():
            assert isinstance(worker, SimulatedWorker)
            worker.go_on()

    compacted = {
        "cleanup.policy": "compact",
        "segment.bytes": "500",
        "flush.messages": "1",
        "min.cleanable.dirty.ratio": "0.01",
    }
    with Ground({**SOON, "log.cleaner.backoff.ms": "1"}, orders=compacted) as ground:
        ground.live(talk)


def test_a_compaction_that_was_cancelled_is_not_noted() -> None:
    """Else the old value would stay for ever, while its tombstone goes: a deleted key came back."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found = replicas.led(ORDERS).log
        appender = Appender(replicas.led(ORDERS))
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            with capture_logs() as events:
                for _ in range(6):
                    appender.append(keyed("same", "a" * 300))
                    await asyncio.sleep(0.01)
                while found not in replicas.logs.compactions:  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.001)
                await replicas.logs.truncate(found, found.log_end_offset)
                await asyncio.sleep(0)
            for task in running:
                task.cancel()
        assert [it for it in events if it["event"] == "log.compaction_cancelled"]
        assert replicas.dirs.named(found.folder.disk.name).cleaner_offsets == {}

    compacted = {
        "cleanup.policy": "compact",
        "segment.bytes": "500",
        "flush.messages": "1",
        "min.cleanable.dirty.ratio": "0.01",
    }
    slowly = {"log.cleaner.backoff.ms": "1", "log.cleaner.io.max.bytes.per.second": "1000"}
    with Ground({**SOON, **slowly}, orders=compacted) as ground:
        ground.live(talk)


def test_a_segment_that_begins_while_retention_looks_is_not_missed() -> None:
    """The look stops in its middle, and the loop publishes the first batch of a segment."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found, appender = replicas.led(ORDERS).log, Appender(replicas.led(ORDERS))
        worker = replicas.logs.worker_of(found)
        assert isinstance(worker, SimulatedWorker)
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            for _ in range(8):
                pausing(ground.machine, "stat", path="orders-0/*.log")
                worker.hang()
                appender.append(timeless("a" * 400))
                await asyncio.sleep(1.2)  # a look waits behind the write
                worker.go_on()
                await asyncio.sleep(0.3)
                await drained(worker)
            await asyncio.sleep(5)
            for task in running:
                task.cancel()
        assert appender.told == list(range(8))
        assert found.log_start_offset == 8

    expiring = {"segment.bytes": "500", "retention.ms": "1"}
    with Ground(SOON, orders=expiring) as ground:
        ground.live(talk)


def test_a_start_that_was_looked_for_before_a_truncation_is_void() -> None:
    """The look stops in its middle, and the log is cut behind it: what it saw is there no more."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found, appender = replicas.led(ORDERS).log, Appender(replicas.led(ORDERS))
        for _ in range(4):
            appender.append(timeless("a" * 400))
            await asyncio.sleep(0.01)
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            await replicas.apply_leader_and_isr([word(epoch=1, leader=BrokerId(2))])
            paused = pausing(ground.machine, "stat", path="orders-0/*.log")
            await asyncio.sleep(3)
            await until(lambda: any(row.hits for row in paused))
            cut = partial(replicas.logs.truncate, found, Offset(1))
            await replicas.lane_of(found).run(cut)
            await asyncio.sleep(1.5)
            for task in running:
                task.cancel()

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        assert (found.log_start_offset, found.log_end_offset) == (0, 1)

    expiring = {"segment.bytes": "500", "retention.ms": "1"}
    rare = {**SOON, "log.retention.check.interval.ms": "3000"}
    with Ground(rare, orders=expiring) as ground:
        ground.live(first, cleanly=False)
        ground.live(second)


@pytest.mark.parametrize("kept", [-1, 1_000])
def test_retention_makes_room_on_a_full_disk(kept: int) -> None:
    """Not even the note of where the log begins has room: the oldest segments go before it."""

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found, appender = replicas.led(ORDERS).log, Appender(replicas.led(ORDERS))
        for _ in range(6):
            appender.append(timeless("a" * 400))
            await asyncio.sleep(0.01)
        disk = ground.machine.disk(found.folder.disk.name.rpartition("/")[2])
        disk.faults.capacity = disk.used
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            await asyncio.sleep(3)
            for task in running:
                task.cancel()
        assert replicas.led(ORDERS).leader.log_start_offset == found.log_start_offset >= 3
        assert disk.used < disk.faults.capacity - 1_000

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        assert (found.log_start_offset >= 3, found.log_end_offset) == (True, 6)

    expiring = {"segment.bytes": "500", "retention.ms": "1", "retention.bytes": "-1"}
    if kept > 0:
        expiring |= {"retention.ms": "-1", "retention.bytes": str(kept)}
    with Ground(SOON, orders=expiring) as ground:
        ground.live(first, cleanly=False)
        ground.live(second)


def test_retention_frees_a_full_disk_of_an_active_segment() -> None:
    """It is all that the log has, and too old; the snapshot that a next one begins with comes late.

    What is known of the producers is on the disk all the same.
    """

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found, appender = replicas.led(ORDERS).log, Appender(replicas.led(ORDERS))
        for number in range(6):
            appender.append(timeless("a" * 400, sequence=number))
            await asyncio.sleep(0.01)
        disk = ground.machine.disk(found.folder.disk.name.rpartition("/")[2])
        disk.faults.capacity = disk.used
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            await asyncio.sleep(5)
            for task in running:
                task.cancel()
        assert replicas.led(ORDERS).leader.log_start_offset == found.log_start_offset == 6
        assert disk.used < disk.faults.capacity - 2_000

    async def second(replicas: ReplicaManager) -> None:
        found = replicas.dirs.get(ORDERS)
        assert found is not None
        assert (found.log_start_offset, found.log_end_offset) == (6, 6)
        assert list(found.producers.entries) == [PRODUCER]

    with Ground(SOON, orders={"retention.ms": "1", "retention.bytes": "-1"}) as ground:
        ground.live(first, cleanly=False)
        ground.live(second)


def test_a_start_is_noted_of_no_log_that_another_has_replaced() -> None:
    """Its disk was replaced, or its topic made again: it would count for the one of that name."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        found = replicas.led(ORDERS).log
        await replicas.stop({ORDERS: GONE})
        await replicas.apply_leader_and_isr([word(epoch=1)])
        with pytest.raises(LogDirOffline):
            async with replicas.logs.starting_at(found, Offset(3)):
                pass
        assert replicas.dirs.named(found.folder.disk.name).log_starts() == {}

    with Ground(SOON) as ground:
        ground.live(talk)


def timeless(value: str, *, sequence: int = -1) -> bytearray:
    """A batch of one record that does not say when it was made; with a number of a producer."""
    records = [Record(0, -1, None, value.encode())]
    if sequence < 0:
        return build_batch(records)
    return build_batch(records, producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence)


def keyed(key: str, value: str) -> bytearray:
    """A batch of one record with a key."""
    return build_batch([Record(0, 1_700_000_000_000, key.encode(), value.encode())])


def test_what_an_earlier_life_has_left_to_delete_goes_at_once() -> None:
    """A broker that never lives for as long as the pause would keep it for ever."""

    def names() -> list[str]:
        disks = [ground.machine.disk(it) for it in ground.machine.disks]
        with looking_on():
            return [name for disk in disks for name in disk.names("") if "-delete" in name]

    async def first(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(ORDERS)])
        await replicas.stop({ORDERS: GONE})

    async def second(replicas: ReplicaManager) -> None:
        assert names()
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, ground.machine.clock, tasks).start()
            await asyncio.sleep(0.5)
            for task in running:
                task.cancel()
        assert names() == []

    with Ground({"log.segment.delete.delay.ms": "60000"}) as ground:
        ground.live(first)
        ground.live(second)


class Told(NamedTuple):
    """A log that a producer writes to while the rounds go on, and the clock of its broker."""

    led: LeadingReplica
    clock: MachineClock

    def write(self, sequence: int = 0) -> None:
        """One batch of the producer."""
        Appender(self.led).append(timeless("x", sequence=sequence))

    def set_clock(self, seconds: int) -> None:
        """So far ahead of the true time."""
        self.clock.skew = seconds * 1_000_000

    @property
    def knows_producer(self) -> bool:
        """Whether what it sends again is known."""
        return self.led.log.producers.get(PRODUCER) is not None


def under_rounds(story: Callable[[Told], Awaitable[None]], **settings: str) -> None:
    """Tells it, of a broker that looks after its logs."""

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word(ORDERS)])
        clock = ground.machine.clock
        async with asyncio.TaskGroup() as tasks:
            running = LogMaintenance(replicas, ground.settings, clock, tasks).start()
            await story(Told(replicas.led(ORDERS), clock))
            for task in running:
                task.cancel()

    with Ground(SOON | settings) as ground:
        ground.live(talk)


@pytest.mark.parametrize("days", [2, -2])
def test_a_clock_that_is_set_makes_no_producer_silent(days: int) -> None:
    """What it sends again is known; once it was silent for its day by any clock it is forgotten."""

    async def story(told: Told) -> None:
        told.write(sequence=0)
        await asyncio.sleep(2)
        told.set_clock(days * 86_400)
        await asyncio.sleep(2)
        assert told.knows_producer
        told.write(sequence=1)
        await asyncio.sleep(2)
        told.set_clock(0)
        await asyncio.sleep(2)
        assert told.knows_producer

    under_rounds(story)


def test_a_producer_is_forgotten_once_it_was_silent_for_long_after_a_jump() -> None:
    """Not later than without it."""

    async def story(told: Told) -> None:
        told.write()
        await asyncio.sleep(2)
        told.set_clock(7_200)
        await asyncio.sleep(5)
        assert told.knows_producer
        await asyncio.sleep(20)
        assert not told.knows_producer

    under_rounds(story, **{"producer.id.expiration.ms": "20000"})


def test_a_producer_is_forgotten_on_a_machine_whose_clock_jumps_again_and_again() -> None:
    """As where it sleeps every night: what a clock jumped before a producer wrote is over by then.

    All jumps counted while there was a newer one, and who wrote behind them was kept for their sum.
    """

    async def story(told: Told) -> None:
        for jumps in range(1, 5):
            await asyncio.sleep(2)
            told.set_clock(jumps * 7_200)
            await asyncio.sleep(2)
            if jumps == 1:
                told.write()
            await asyncio.sleep(0.5)
        assert not told.knows_producer

    under_rounds(story, **{"producer.id.expiration.ms": "6000"})
