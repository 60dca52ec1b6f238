"""Two delete records of one partition at once: each one's note of the start stays its own."""

from collections.abc import Sequence

from odradek.client.admin import admin
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.clients import Client
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.scenarios.cluster.test_full_disks import fill, give_room
from tests.scenarios.cluster.test_starts_without_room import begins_at

SLOW = {
    "min.insync.replicas": "1",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.io.max.bytes.per.second": "400",
}


async def keyed(client: Client, topic: str, keys: Sequence[bytes]) -> None:
    """A batch for each."""
    for key in keys:
        producer = Producer(client.cluster, ProducerSettings())
        producer.add(TopicPartition(topic, 0), b"fill" * 25, key)
        await producer.flush()


async def trim(client: Client, topic: str, offset: int, timeout_ms: int) -> int:
    """Asked once; the error code."""
    rows = [DeleteRecordsPartition(0, offset)]
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, rows)], timeout_ms)
    connection = await client.cluster.leader(TopicPartition(topic, 0))
    answer = await connection.ask(request)
    (row,) = answer.topics[0].partitions
    return int(row.error_code)


def beside(client: Client, alone: NumberedBroker, topic: str) -> str:
    """Another topic whose log is in the same dir."""
    for number in range(20):
        other = f"other{number}"
        client.make(other, 1, 1)
        if alone.disk_of(other) == alone.disk_of(topic):
            return other
    raise AssertionError(topic)


@staged(settings={"min.insync.replicas": "1"})
def test_one_without_room_does_not_answer_for_the_other(t: ClusterScenario) -> None:
    """The second has its own write, and is refused as well."""
    shop = t.operator()
    shop.make("orders", 1, 1, min_insync_replicas="1")
    for value in "abcdef":
        shop.produce("orders", value)
    alone = t.broker(t.leader("orders"))
    disk, where = alone.disk_of("orders"), TopicPartition("orders", 0)
    fill(alone)
    alone.hang_disk(disk)  # both are there before it has answered the first
    asked = []
    for start in (2, 4):
        other = t.client(f"client-{start}")
        asked.append(other.begins(admin.delete_records(other.cluster, {where: start})))
        t.run(seconds=0.1)
    alone.release_disk(disk)
    t.wait_until(lambda: all(it.done() for it in asked), "both are answered, or refused")
    told = begins_at(shop, "orders")
    alone.kill()
    give_room(alone)
    alone.start()
    assert begins_at(shop, "orders") >= told


def being_compacted(t: ClusterScenario) -> tuple[Operator, str]:
    """For seconds, so that a trim waits; and another topic whose log is in the same dir."""
    shop, alone = t.operator(), t.broker(1)
    compacted = {"cleanup_policy": "compact,delete", "segment_bytes": "500"}
    lag = {"min_cleanable_dirty_ratio": "0.01", "min_compaction_lag_ms": "9000000"}
    shop.make("state", 1, 1, flush_messages="1", **compacted, **lag)
    other = beside(shop, alone, "state")
    shop.produce(other, "a", "b", "c")
    shop.does(keyed(shop, "state", [b"y%d" % number for number in range(16)]))
    t.run(seconds=3)
    at_once = {"min.compaction.lag.ms": "0"}
    shop.does(admin.alter_settings(shop.cluster, admin.TOPIC, "state", to=at_once))
    log = alone.log("state")
    assert log is not None
    t.wait_until(lambda: log.being_cleaned, "a compaction is under way")
    return shop, other


@staged(brokers=1, settings=SLOW)
def test_one_that_is_too_late_leaves_the_note_of_the_other(t: ClusterScenario) -> None:
    """What is written meanwhile for another log of the dir keeps it."""
    shop, other = being_compacted(t)
    alone = t.broker(1)
    first, second = t.client("first"), t.client("second")
    late = first.begins(trim(first, "state", 1, 1_000))
    t.run(seconds=0.5)
    waits = second.begins(trim(second, "state", 1, 100_000))
    t.run(seconds=1)
    assert first.ends(late) != 0
    assert not waits.done()
    assert shop.does(trim(shop, other, 1, 10_000)) == 0
    assert second.ends(waits) == 0
    alone.kill()
    alone.start()
    assert begins_at(shop, "state") == 1


@staged(brokers=1, settings=SLOW)
def test_one_that_waits_for_a_deleted_topic_trims_no_topic_of_its_name(t: ClusterScenario) -> None:
    """Its wish was for the log before: a start of that in the file would empty the next one."""
    shop, other = being_compacted(t)
    alone, waits = t.broker(1), t.client("waits")
    asked = waits.begins(trim(waits, "state", 9, 100_000))
    t.run(seconds=0.5)
    assert not asked.done()
    shop.delete("state")
    t.wait_until(lambda: not t.has_topic("state"), "the topic is gone")
    shop.make("state", 1, 1, flush_messages="1")
    shop.produce("state", "a", "b")
    assert shop.does(trim(shop, other, 1, 10_000)) == 0
    alone.kill()
    alone.start()
    assert begins_at(shop, "state") == 0
    assert shop.read("state") == ["a", "b"]
