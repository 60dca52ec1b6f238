"""Disks that hang: they report no error, and hold up what lies on them and nothing else."""

import pytest

from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST
from odradek.client.records.reader import Reader
from odradek.model.admin_operations import LOG_DIR_REPLACE
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Millis
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker
from odradek.sim.stage.broker_machine import DISKS
from odradek.sim.stage.clients import Client
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.storage.files.names import CLEAN_SHUTDOWN
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.scenarios.cluster.placed import move

GIVEN_UP = {"log.dir.hang.timeout.ms": "3000"}
PARTITIONS = 6


def stage(t: ClusterScenario) -> tuple[Client, NumberedBroker, str, list[int]]:
    """A broker that leads, one of its disks, and the partitions that it leads on the other."""
    shop = t.client("shop")
    shop.make("orders", partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        shop.produce("orders", "a", partition=partition)
    broker = t.broker(t.leader("orders"))
    disk = broker.disk_of("orders")
    healthy = [number for number in range(PARTITIONS) if broker.disk_of("orders", number) != disk]
    return shop, broker, disk, healthy


def produced_raw(t: ClusterScenario, broker: NumberedBroker, acks: int) -> ErrorCode:
    """What the broker answers to one batch, with two seconds of patience."""
    client = t.client(f"patient-{acks}")

    async def ask() -> ErrorCode:
        await client.cluster.refresh(["orders"])
        batch = build_batch([Record(0, 0, None, b"x")])
        rows = [PartitionProduceData(records=memoryview(batch))]
        data = [TopicProduceData("orders", partition_data=rows)]
        request = ProduceRequest(acks=acks, timeout_ms=2_000, topic_data=data)
        answer = await (await client.cluster.broker(BrokerId(broker.number))).ask(request)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    return ErrorCode(client.does(ask()))


@pytest.mark.parametrize("acks", [1, -1])
def test_a_producer_is_answered_at_its_time_out(t: ClusterScenario, acks: int) -> None:
    """REQUEST_TIMED_OUT, while nobody knows whether the disk will go on."""
    _, broker, disk, _ = stage(t)
    broker.hang_disk(disk)
    assert produced_raw(t, broker, acks) is ErrorCode.REQUEST_TIMED_OUT
    broker.release_disk(disk)
    t.run(seconds=2)
    assert produced_raw(t, broker, acks) is ErrorCode.NONE


@pytest.mark.parametrize("settings", [GIVEN_UP, {}])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_dir_that_hangs_for_too_long_counts_as_failed(
    seed: int, settings: dict[str, str]
) -> None:
    """Another broker leads; what waited for the disk is answered; the other disk goes on."""
    with ClusterScenario(seed, settings=settings) as t:
        shop, broker, disk, healthy = stage(t)
        before = {number: t.state("orders", number) for number in healthy}
        broker.hang_disk(disk)
        shop.produce("orders", "b")
        assert t.await_new_leader("orders", broker.number)
        t.wait_until(lambda: broker.number not in t.state("orders").isr, "it leaves the ISR")
        for number in healthy:
            assert t.state("orders", number) == before[number]
            shop.produce("orders", "b", partition=number)
        broker.stop()
        broker.start()
        t.await_isr("orders", 1, 2, 3)
        assert shop.read("orders") == ["a", "b"]


def test_a_broker_that_stood_still_does_not_blame_its_disk(t: ClusterScenario) -> None:
    """Its jobs stood still as well; what counts is the time that it has seen pass."""
    _, broker, disk, _ = stage(t)
    broker.hang_disk(disk)
    assert produced_raw(t, broker, 1) is ErrorCode.REQUEST_TIMED_OUT
    broker.machine.pause()
    t.run(seconds=90)  # longer than the default of log.dir.hang.timeout.ms
    broker.machine.resume()
    t.run(seconds=5)
    broker.release_disk(disk)
    t.await_isr("orders", 1, 2, 3)
    assert broker.process.is_whole


def test_a_disk_that_hung_before_it_failed_is_replaced(t: ClusterScenario) -> None:
    """It lets go with an error: nothing hangs there any more."""
    shop, broker, disk, _ = stage(t)
    broker.hang_disk(disk)
    assert produced_raw(t, broker, 1) is ErrorCode.REQUEST_TIMED_OUT
    broker.fail_disk(disk)
    broker.release_disk(disk)
    shop.produce("orders", "b")
    t.wait_until(lambda: broker.number not in t.state("orders").isr, "it leaves the ISR")
    broker.exchange_disk(disk)
    shop.operate(LOG_DIR_REPLACE, broker.number, dir=broker.path_of(disk))
    t.await_isr("orders", 1, 2, 3)


def test_a_broker_stops_in_time_though_a_disk_hangs(t: ClusterScenario) -> None:
    """Within ten seconds; the healthy dir is marked clean, the other is not."""
    shop, broker, disk, _ = stage(t)
    broker.hang_disk(disk)
    stopping = t.world.loop.time()
    broker.stop()
    assert t.world.loop.time() - stopping < 10
    marked = {
        name for name in ("disk-a", "disk-b") if broker.machine.disk(name).exists(CLEAN_SHUTDOWN)
    }
    assert marked == {"disk-a", "disk-b"} - {disk}
    broker.start()
    shop.produce("orders", "b")
    t.await_isr("orders", 1, 2, 3)


def test_a_disk_hangs_and_the_session_expires(t: ClusterScenario) -> None:
    """The broker registers again, and leads on its other disk; the controller is not held up."""
    shop, broker, disk, healthy = stage(t)
    broker.hang_disk(disk)
    t.cut(broker.number, ZOOKEEPER)
    t.cut(ZOOKEEPER, broker.number)
    t.run(seconds=10)
    t.heal()
    t.run(seconds=10)
    for number in healthy:
        shop.produce("orders", "b", partition=number)
        t.await_isr("orders", 1, 2, 3, partition=number)
    shop.produce("orders", "b")
    broker.release_disk(disk)
    t.await_isr("orders", 1, 2, 3)


def test_a_fetch_leaves_out_what_only_the_disk_has(t: ClusterScenario) -> None:
    """The other partitions of the same fetch are answered."""
    shop, broker, disk, healthy = stage(t)
    broker.machine.disk(disk).faults.is_cold = True
    broker.hang_disk(disk)
    t.run(seconds=3)
    led = [number for number in healthy if t.leader("orders", number) == broker.number]
    both = [TopicPartition("orders", number) for number in (0, *led)]

    async def ask() -> set[int]:
        reader = Reader(shop.cluster, await offsets_at(shop.cluster, both, EARLIEST))
        found: set[int] = set()
        while len(found) < len(led):
            found |= {it.partition for it, _ in await reader.poll(Millis(500))}
        return found

    assert shop.does(ask()) == {*led}


def test_a_topic_is_new_until_its_log_is_made(t: ClusterScenario) -> None:
    """The ISR changes while the leader's disks hang: what it makes then lacks nothing."""
    slow = t.broker(1)
    for disk in DISKS:
        slow.hang_disk(disk)
    shop = t.operator()
    first = shop.begins(shop.placing("payments", *[(1, 2, 3)] * len(DISKS)))
    t.wait_until(lambda: t.has_topic("payments"), "each disk is to make a log")
    making = shop.begins(shop.placing("orders", (1, 2, 3)))
    t.wait_until(lambda: t.has_topic("orders"), "and another one when it has made that")
    t.run(seconds=3)  # the answer to the controller does not wait longer
    t.broker(3).kill()
    t.await_isr("orders", 1, 2)
    for disk in DISKS:
        slow.release_disk(disk)
    shop.ends(first)
    shop.ends(making)
    shop.produce("orders", "a")
    assert t.leader("orders") == 1


def test_a_leader_says_later_that_it_could_not_make_its_log(t: ClusterScenario) -> None:
    """Its disks hung when it was asked, and are full: another leads once that is known."""
    slow = t.broker(1)
    for disk in DISKS:
        slow.hang_disk(disk)
        slow.machine.disk(disk).faults.capacity = slow.machine.disk(disk).used
    shop = t.operator()
    making = shop.begins(shop.placing("orders", (1, 2, 3)))
    t.wait_until(lambda: t.has_topic("orders"), "the topic is there")
    t.run(seconds=3)
    for disk in DISKS:
        slow.release_disk(disk)
    t.await_isr("orders", 2, 3)
    shop.ends(making)
    shop.produce("orders", "a")
    assert shop.read("orders") == ["a"]


def test_a_leader_whose_disk_hung_while_it_began_is_asked_again(t: ClusterScenario) -> None:
    """It did not lead when it answered; a lowered min.insync.replicas waits for its word."""
    op = t.operator()
    op.places("orders", (1, 2, 3), min_insync_replicas="3")
    op.produce("orders", "a")
    t.broker(3).kill()
    t.await_isr("orders", 1, 2)
    slow = t.broker(2)
    disk = slow.disk_of("orders")
    slow.hang_disk(disk)
    t.broker(1).kill()
    t.wait_until(lambda: t.state("orders").leader == 2, "it is elected")
    t.run(seconds=4)  # the answer to the controller does not wait longer
    slow.release_disk(disk)
    op.sets("orders", min_insync_replicas="1")
    writing = op.begins(op.producing("orders", "b"))
    t.run(seconds=5)
    assert writing.done()
    op.ends(writing)
    assert t.state("orders").eligible == ()


def test_who_asks_again_for_a_deletion_that_hangs_is_not_told_that_it_is_done(
    t: ClusterScenario,
) -> None:
    """The next controller does, and the broker dies; another partition is there still."""
    op = t.operator()
    first = t.controller()
    assert first is not None
    broker, other = t.others(first)
    op.places("orders", (broker.number,), (other.number,))
    op.produce("orders", "a")
    broker.hang_disk(broker.disk_of("orders"))
    late = other.disk_of("orders", 1)
    other.hang_disk(late)
    _ = op.begins(op.deleting("orders"))
    t.run(seconds=2)
    move(t, other.number)
    t.run(seconds=2)
    broker.kill()
    broker.start()
    t.run(seconds=2)
    other.release_disk(late)
    t.wait_until(lambda: not t.has_topic("orders"), "it is deleted")
    t.run(seconds=90)
    left = [path for it in broker.machine.disks.values() for path, _ in it.medium.files()]
    assert not any(path.startswith("orders-0") for path in left)
