"""What several turns append while a disk is slow: each write rests on those before it."""

import asyncio
import errno
from collections.abc import Coroutine
from typing import Any

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.broker_machine import DISKS
from odradek.sim.stage.clients import Client
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

LONELY = {"default.replication.factor": "1", "min.insync.replicas": "1"}
PARTITIONS = 8


def taken(broker: NumberedBroker) -> int:
    """Where the shortest of its logs will end, once all is written that was taken."""
    logs = [broker.log("orders", it) for it in range(PARTITIONS)]
    return min(it.next_offset for it in logs if it is not None)


def begins_behind(
    t: ClusterScenario, broker: NumberedBroker, who: Client, writing: Coroutine[Any, Any, Any]
) -> "asyncio.Task[Any]":
    """A write that is taken, and that the disk holds up."""
    end = taken(broker)
    begun = who.begins(writing)
    t.wait_until(lambda: taken(broker) > end, "it is taken")
    return begun


@staged(brokers=1, settings=LONELY)
def test_a_write_behind_one_that_failed_is_not_written(t: ClusterScenario) -> None:
    """Its place in the log rests on the other: alone it would leave a gap that ends all reading."""
    broker, first, second = t.broker(1), t.client("first"), t.client("second")
    first.make("orders")
    first.produce("orders", "a")
    second.produce("orders", "b")
    disk = broker.disk_of("orders")
    broker.hang_disk(disk)
    failing = begins_behind(t, broker, first, first.producing("orders", "c"))
    behind = begins_behind(t, broker, second, second.producing("orders", "d"))
    full = Fault(errno.ENOSPC, frozenset({"write"}), "orders-0/*.log", times=1)
    broker.machine.disk(disk).faults.rows.append(full)
    broker.release_disk(disk)
    first.ends(failing)
    second.ends(behind)
    assert full.hits == 1
    assert sorted(first.read("orders")) == ["a", "b", "c", "d"]


@staged(brokers=1, settings=LONELY)
def test_who_wrote_the_end_of_a_full_segment_is_known_after_a_start(t: ClusterScenario) -> None:
    """Beside the next segment stands what each producer wrote, also what was on its way then.

    A start goes on from there: without it a batch that is sent again would be stored twice.
    """
    broker, shop, late = t.broker(1), t.client("shop"), t.client("late")
    shop.make("orders", segment_bytes="240")
    shop.produce("orders", "a")
    late.produce("orders", "b")
    disk = broker.disk_of("orders")
    broker.hang_disk(disk)
    unanswered = begins_behind(t, broker, late, late.producing("orders", "c"))
    t.cut(1, "late")
    writing = begins_behind(t, broker, shop, shop.producing("orders", "d"))
    broker.release_disk(disk)
    shop.ends(writing)
    log = broker.log("orders")
    assert log is not None
    assert [it.base_offset for it in log.segments] == [0, 3]
    t.run(seconds=13)  # it is flushed, and that is noted: the next start checks nothing before it
    assert log.recovery_point == 4
    t.break_connections("late")
    broker.kill()
    t.heal()
    broker.start()
    late.ends(unanswered)
    assert shop.read("orders") == ["a", "b", "c", "d"]


@staged(brokers=1, settings=LONELY)
def test_a_segment_that_an_acknowledged_write_began_outlives_a_loss_of_power(
    t: ClusterScenario,
) -> None:
    """Its name is durable, too, although the write behind it has synced all its bytes.

    The first of three writes occupies the disk; the other two are one group, with one sync.
    """
    broker, shop = t.broker(1), t.client("shop")
    shop.make("orders", PARTITIONS, segment_bytes="160", flush_before_ack="true")
    assert shop.does(produced_to_all(shop, "a")) == {ErrorCode.NONE}
    for disk in DISKS:
        broker.hang_disk(disk)
    writing = []
    for value in ("b", "c", "d"):  # a segment has room for two
        who = t.client(f"shop-{value}")
        work = produced_to_all(who, value)
        writing.append((who, begins_behind(t, broker, who, work)))
    for disk in DISKS:
        broker.release_disk(disk)
    assert all(who.ends(begun) == {ErrorCode.NONE} for who, begun in writing)
    broker.cut_power()
    broker.start()
    for partition in range(PARTITIONS):
        assert shop.read("orders", partition) == ["a", "b", "c", "d"]


async def produced_to_all(client: Client, value: str) -> set[int]:
    """A record to each partition, with one request; what the broker says to that."""
    await client.cluster.refresh(["orders"])
    batch = build_batch([Record(0, 0, None, value.encode())])
    rows = [PartitionProduceData(it, memoryview(bytearray(batch))) for it in range(PARTITIONS)]
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData("orders", partition_data=rows)])
    (topic,) = (await (await client.cluster.broker(BrokerId(1))).ask(request)).responses
    return {row.error_code for row in topic.partition_responses}
