"""A full disk, and what operators and other brokers do at the same time."""

import pytest

from odradek.client.admin import admin
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.test_full_disks import (
    MEASURED,
    RECORD,
    fill,
    give_room,
    others,
    resigned,
    with_orders,
)

ORDERS = TopicPartition("orders", 0)


@staged(brokers=4)
def test_a_deletion_without_room_is_refused_until_its_leader_has_moved(t: ClusterScenario) -> None:
    """Nothing of it is done by half: whoever reads meanwhile finds all, and then only the rest."""
    op = t.operator()
    op.places("orders", (1, 2, 3))
    for value in ("a", "b", "c"):
        op.produce("orders", value)
    t.run(seconds=1)
    fill(t.broker(1))
    assert t.leader("orders") == 1
    trimming = admin.delete_records(op.cluster, {ORDERS: 2})
    assert op.refusal_of(trimming) is ErrorCode.KAFKA_STORAGE_ERROR
    assert op.read("orders") == ["a", "b", "c"]
    assert op.moves("orders", 4, 2, 3) is ErrorCode.NONE
    t.wait_until(lambda: not op.ongoing(), "it has moved")
    other = t.client("other")
    found = other.does(admin.delete_records(other.cluster, {ORDERS: 2}))
    assert found == {"orders-0": 2}
    assert op.read("orders") == ["c"]
    t.run(seconds=1)
    assert t.broker(1).log_end("orders") == -1


def test_a_deletion_waits_for_a_follower_without_room(t: ClusterScenario) -> None:
    """It is in sync, and may lead; it is done once there is room, without a record that comes."""
    op = t.operator()
    op.places("orders", (1, 2, 3))
    for value in ("a", "b", "c"):
        op.produce("orders", value)
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    full = t.broker(2)
    fill(full)
    trimming = admin.delete_records(op.cluster, {ORDERS: 2})
    assert op.refusal_of(trimming) is ErrorCode.REQUEST_TIMED_OUT
    give_room(full)
    assert op.trims("orders", 2) == 2
    t.broker(1).kill()
    t.broker(3).kill()
    t.run(seconds=1)
    found = full.log("orders")
    assert found is not None
    assert found.log_start_offset == 2


def test_a_move_to_a_replica_that_waits_for_room_waits_too(t: ClusterScenario) -> None:
    """It lacks what was acknowledged since it gave way: the others are not removed before."""
    shop, full = resigned(t)
    op = t.operator()
    op.sets("orders", min_insync_replicas="1")
    t.wait_until(
        lambda: op.moves("orders", full.number) is ErrorCode.NONE, "the controller knows that"
    )
    t.run(seconds=MEASURED)
    shop.produce("orders", "third")
    assert op.ongoing()
    give_room(full)
    t.wait_until(lambda: not op.ongoing(), "it has moved")
    assert op.replicas("orders") == [full.number]
    assert shop.read("orders") == ["first", "second", "third"]


def test_a_broker_stops_while_its_leader_gives_way(t: ClusterScenario) -> None:
    """Its replica is offline at that moment: nothing waits for it, and nothing is lost."""
    shop, full = with_orders(t)
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=0.02)
    full.stop()
    shop.ends(writing)
    assert t.leader("orders") != full.number
    give_room(full)
    full.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["first", "second"]


@staged(settings={"replica.alter.log.dirs.io.max.bytes.per.second": "20000"})
def test_the_target_of_a_move_is_replaced_while_the_source_waits_for_room(
    t: ClusterScenario,
) -> None:
    """The copy is lost, and the log is not: it joins as the incarnation that it was."""
    shop, full = with_orders(t)
    source, target = full.disk_of("orders"), full.other_disk("orders")
    for _ in range(8):
        shop.produce("orders", RECORD * 5)
    found = full.log("orders")
    assert found is not None
    before = found.incarnation
    assert shop.move(full.number, "orders", full.path_of(target)) is ErrorCode.NONE
    t.run(seconds=0.5)
    assert full.has_future("orders")
    fill(full, source)
    shop.produce("orders", "last")
    assert t.leader("orders") != full.number
    full.fail_disk(target)
    t.wait_until(lambda: not full.has_future("orders"), "the copy is lost")
    full.machine.disk(target).faults.rows.clear()
    full.exchange_disk(target)
    t.run(seconds=MEASURED)
    assert {*t.state("orders").isr} == others(full)
    give_room(full)
    t.await_isr("orders", 1, 2, 3)
    now = full.log("orders")
    assert now is not None
    assert (now.incarnation, full.disk_of("orders")) == (before, source)
    assert shop.read("orders")[-1] == "last"


@pytest.mark.parametrize("is_raised", [True, False])
def test_the_number_changes_while_a_leader_without_room_resigns(
    t: ClusterScenario, *, is_raised: bool
) -> None:
    """Raised to all three, or lowered to one: what was acknowledged is there, whoever dies then."""
    shop, full = with_orders(t, min_insync_replicas="2")
    op = t.operator()
    fill(full)
    writing = shop.begins(shop.producing("orders", "second"))
    t.run(seconds=0.02)
    op.sets("orders", min_insync_replicas="3" if is_raised else "1")
    t.run(seconds=5)
    give_room(full)
    shop.ends(writing)
    t.await_isr("orders", 1, 2, 3)
    leader = t.broker(t.leader("orders"))
    leader.kill()
    t.await_new_leader("orders", leader.number)
    leader.start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["first", "second"]
