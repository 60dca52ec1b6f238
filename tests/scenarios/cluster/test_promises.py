"""What a leader may say, and when: of records that are written, and of records that are deleted."""

from odradek.client.admin import admin
from odradek.model.ids import TopicPartition
from odradek.sim.doors.disk_faults import Fault
from odradek.sim.doors.loop import SECOND
from odradek.sim.scenarios.cluster import ClusterScenario, staged

ORDERS = TopicPartition("orders", 0)
RENAMES = frozenset({"rename"})
QUIET = {"auto.leader.rebalance.enable": "false"}


def test_a_write_that_failed_is_not_acknowledged(t: ClusterScenario) -> None:
    """Nor with acks=1: the producer sends it again, to whoever has a disk."""
    operator = t.operator()
    operator.places("orders", (1,), min_insync_replicas="1")
    operator.produce("orders", "a", acks=1)
    broker = t.broker(1)
    disk = broker.disk_of("orders")
    broker.fail_disk(disk)
    writing = operator.begins(operator.producing("orders", "b", acks=1))
    t.run(seconds=2)
    assert not writing.done()
    broker.kill()
    broker.repair_disk(disk)
    broker.start()
    operator.ends(writing)
    assert operator.read("orders") == ["a", "b"]


def test_a_deletion_waits_for_those_who_may_lead(t: ClusterScenario) -> None:
    """A member of the ISR that has the records still would bring them back."""
    operator = t.operator()
    operator.make("orders")
    operator.produce("orders", "a", "b")
    follower = t.broker(t.followers("orders")[0]).machine
    follower.pause()
    trimming = operator.begins(admin.delete_records(operator.cluster, {ORDERS: 1}))
    t.run(seconds=1)
    assert not trimming.done()
    follower.resume()
    assert operator.ends(trimming) == {str(ORDERS): 1}


@staged(settings=QUIET)
def test_who_has_not_deleted_yet_does_not_join(t: ClusterScenario) -> None:
    """What it has below the start of the log would be there again, were it elected."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    leader, follower = t.others(controller)
    operator.places("orders", (leader.number, follower.number), min_insync_replicas="1")
    operator.produce("orders", "a")
    disk = follower.machine.disk(follower.disk_of("orders"))
    follower.kill()
    t.await_isr("orders", leader.number)
    operator.produce("orders", "b")
    assert operator.trims("orders", 1) == 1
    disk.faults.rows.append(
        Fault(0, RENAMES, "log-start-offset-checkpoint*", times=1, pause=4 * SECOND)
    )
    follower.begin()
    t.wait_until(lambda: follower.process.serves and follower.log_end("orders") == 2, "it has all")
    t.run(seconds=1)
    assert follower.number not in t.state("orders").isr
    t.await_isr("orders", leader.number, follower.number)


def test_who_is_in_sync_is_not_throttled(t: ClusterScenario) -> None:
    """Producers wait for it: a throttle is for those who catch up."""
    shop, operator = t.client("shop"), t.operator()
    shop.make("orders")
    sides = ("leader", "follower")
    operator.sets("orders", **{f"{side}_replication_throttled_replicas": "*" for side in sides})
    operator.sets_brokers({f"{side}.replication.throttled.rate": "1" for side in sides})
    t.run(seconds=1)
    writing = shop.begins(shop.producing("orders", *map(str, range(100))))
    t.run(seconds=1)
    shop.ends(writing)
    again = shop.begins(shop.producing("orders", "a"))
    t.run(seconds=1)
    assert again.done()
    assert {*t.state("orders").isr} == {1, 2, 3}
