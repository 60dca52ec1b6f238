"""A log is compacted while somebody else has its dir's checkpoints, or the log, in hand."""

from odradek.client.admin import admin
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.model.ids import TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.clients import Client
from tests.scenarios.cluster.test_starts_without_room import begins_at

ALONE = {
    "default.replication.factor": "1",
    "offsets.topic.replication.factor": "1",
    "min.insync.replicas": "1",
    "log.cleaner.backoff.ms": "200",
}
COMPACTED = {
    "segment_bytes": "500",
    "min_cleanable_dirty_ratio": "0.01",
    "flush_messages": "1",
    "min_compaction_lag_ms": "9000000",
}
ORDERS = TopicPartition("orders", 0)


async def keyed(client: Client, topic: str, key: bytes, value: bytes) -> None:
    """Sends one record, alone in its batch."""
    producer = Producer(client.cluster, ProducerSettings())
    producer.add(TopicPartition(topic, 0), value, key)
    await producer.flush()


def beside(t: ClusterScenario, shop: Client, topic: str, **settings: str) -> str:
    """A topic whose log is in the dir of this one's, on the only broker."""
    alone = t.broker(1)
    for name in (f"beside-{number}" for number in range(9)):
        shop.make(name, 1, 1, **settings)
        if alone.disk_of(name) == alone.disk_of(topic):
            return name
    raise AssertionError("no log came into that dir")


def compact_now(client: Client, topic: str) -> None:
    """Its records are old enough from now on."""
    to = {"min.compaction.lag.ms": "0"}
    client.does(admin.alter_settings(client.cluster, admin.TOPIC, topic, to=to))


def compactions(alone: NumberedBroker) -> int:
    """Those that were carried to their end."""
    broker = alone.process.broker
    assert broker is not None
    dirs = broker.services_of_this_life.replicas.dirs
    return sum(len(log_dir.cleaner_offsets) for log_dir in dirs.online)


@staged(brokers=1, settings=ALONE)
def test_a_compaction_leaves_the_start_that_another_log_is_about_to_have(
    t: ClusterScenario,
) -> None:
    """DeleteRecords has noted it, and waits for the end of a move; then it is answered."""
    shop, alone = t.operator(), t.broker(1)
    shop.make("orders", 1, 1)
    state = beside(t, shop, "orders", cleanup_policy="compact", **COMPACTED)
    for value in "abcdef":
        shop.produce("orders", value)
    for _ in range(6):
        shop.does(keyed(shop, state, b"same", b"x" * 300))
    t.run(seconds=2)
    other = alone.other_disk("orders")
    slow = Fault(0, frozenset({"rename"}), "orders-0.*-future", times=1, pause=10 * SECOND)
    alone.machine.disk(other).faults.rows.append(slow)
    shop.move(1, "orders", alone.path_of(other))
    t.wait_until(lambda: slow.hits, "the swap has begun")
    deleting = shop.begins(admin.delete_records(shop.cluster, {ORDERS: 4}))
    t.run(seconds=0.1)
    compact_now(t.client("another"), state)
    t.wait_until(lambda: compactions(alone), "the other log is compacted")
    assert not deleting.done()
    shop.ends(deleting)
    assert begins_at(shop, "orders") == 4
    alone.kill()
    alone.machine.disk(other).faults.rows.clear()
    alone.start()
    assert begins_at(shop, "orders") == 4
