"""A disk has not a byte of room for the note of where a log begins, and its oldest segment goes."""

from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST
from odradek.model.ids import TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.stage.clients import Client
from tests.scenarios.cluster.test_full_disks import RECORD, fill, give_room

SOON = {"log.retention.check.interval.ms": "10000", "log.dir.hang.timeout.ms": "120000"}
PAUSE = 20


def begins_at(client: Client, topic: str) -> int:
    """Where the log begins, as its leader tells a client."""
    where = TopicPartition(topic, 0)
    return int(client.does(offsets_at(client.cluster, [where], EARLIEST))[where])


def expiring(t: ClusterScenario) -> tuple[Client, NumberedBroker, Fault]:
    """A full disk, with segments that are too old; the deletion of one stops before it is durable.

    The broker is the only one that has them.
    """
    shop = t.client("shop")
    shop.make("orders", 1, 1, retention_ms="5000", segment_bytes="4096", min_insync_replicas="1")
    for _ in range(8):
        shop.produce("orders", RECORD)
    alone = t.broker(t.leader("orders"))
    disk = alone.disk_of("orders")
    fill(alone)
    slow = Fault(0, frozenset({"sync_directory"}), "orders-0", times=1, pause=PAUSE * SECOND)
    alone.machine.disk(disk).faults.rows.append(slow)
    return shop, alone, slow


@staged(settings=SOON)
def test_a_start_without_a_note_is_told_once_the_deletion_is_durable(t: ClusterScenario) -> None:
    """Power is lost before: what was told of before begins no earlier afterwards."""
    shop, alone, slow = expiring(t)
    t.wait_until(lambda: slow.hits, "the oldest segment is being deleted")
    told = begins_at(shop, "orders")
    assert shop.read("orders") == [RECORD] * (8 - told)
    alone.cut_power()
    give_room(alone)
    slow.times = 0
    alone.begin()
    t.wait_until(lambda: alone.process.serves, "it serves")
    assert begins_at(shop, "orders") >= told


@staged(settings=SOON)
def test_what_is_on_its_way_meanwhile_waits_for_the_deletion(t: ClusterScenario) -> None:
    """Somebody deletes records of the same log; it ends where both have asked for it to."""
    shop, alone, slow = expiring(t)
    t.wait_until(lambda: slow.hits, "the oldest segment is being deleted")
    operator = t.operator()
    deleting = operator.begins(operator.trimming("orders", 3))
    t.run(seconds=1)
    assert not deleting.done()
    assert begins_at(shop, "orders") == 0
    operator.ends(deleting)
    assert begins_at(shop, "orders") >= 3
    found = alone.log("orders")
    assert found is not None
    assert all(segment.base_offset for segment in found.segments)
    names = alone.machine.disk(alone.disk_of("orders")).names("orders-0")
    assert not [name for name in names if name.startswith("0" * 20)]
