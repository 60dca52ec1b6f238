"""Who left a small ISR may lead: for as long as nothing was committed without it, and no longer."""

import json

import pytest

from odradek.client.admin.placement import reassign
from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.broker_machine import name_of
from tests.scenarios.cluster.placed import move, other_than

ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize("is_raised_again", [True, False])
def test_who_was_eligible_under_a_larger_number_does_not_lead_after_it_was_lowered(
    t: ClusterScenario, *, is_raised_again: bool
) -> None:
    """Raising the number again names nobody: records were committed without them meanwhile."""
    shop, operator = t.client("shop"), t.operator()
    shop.make("orders", min_insync_replicas="2")
    shop.produce("orders", "a")
    leader = t.leader("orders")
    others = t.others(leader)
    for broker in others:
        broker.kill()
    t.await_isr("orders", leader)
    assert t.state("orders").eligible_min_isr == 2
    operator.sets("orders", min_insync_replicas="1")
    shop.produce("orders", "b")
    assert t.state("orders").eligible == ()
    if is_raised_again:
        operator.sets("orders", min_insync_replicas="2")
        t.run(seconds=1)
    t.broker(leader).kill()
    for broker in others:
        broker.start()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    t.broker(leader).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


@staged(own={3: {"min.insync.replicas": "1"}})
def test_a_setting_of_the_leader_alone_commits_nothing_without_who_is_eligible(
    t: ClusterScenario,
) -> None:
    """Brokers with other settings than the controller's are a cluster that is being changed."""
    operator = t.operator()
    controller = t.controller()
    if controller == 3:
        move(t, controller := 1)
    other = other_than(t, controller, 3)
    operator.places("orders", (3, other))
    operator.produce("orders", "a")
    t.broker(other).kill()
    t.await_isr("orders", 3)
    assert t.state("orders").eligible == (other,)
    writing = operator.begins(operator.producing("orders", "b"))
    t.run(seconds=5)
    assert not writing.done()
    t.broker(3).kill()
    t.broker(other).start()
    t.wait_until(lambda: t.state("orders").leader == other, "who is eligible leads")
    t.broker(3).start()
    operator.ends(writing)
    assert operator.read("orders") == ["a", "b"]


@staged(settings={"auto.leader.rebalance.enable": "false"})
def test_a_leader_that_hears_of_a_lowered_number_first_waits_for_the_controller(
    t: ClusterScenario,
) -> None:
    """By what the controller has read, a live replica that lacks what follows may lead."""
    operator = t.operator()
    controller = t.controller()
    assert controller is not None
    leader, other = (it.number for it in t.others(controller))
    operator.places("orders", (leader, other), min_insync_replicas="2")
    operator.produce("orders", "a")
    t.cut(leader, other)
    writing = operator.begins(operator.producing("orders", "x", acks=1))
    t.await_isr("orders", leader)
    operator.ends(writing)
    t.cut("zookeeper", controller)
    t.operator(leader).sets("orders", min_insync_replicas="1")
    second = operator.begins(operator.producing("orders", "b"))
    t.run(seconds=2)
    assert not second.done()
    t.world.wires.mend("zookeeper", name_of(controller))
    operator.ends(second)
    assert t.state("orders").eligible == ()
    t.broker(leader).kill()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    t.heal()
    t.broker(leader).start()
    t.await_isr("orders", leader, other)
    assert operator.read("orders") == ["a", "x", "b"]


@staged(brokers=4)
def test_a_replica_of_a_cancelled_growth_is_not_eligible(t: ClusterScenario) -> None:
    """It is no replica; assigned again it begins with what it had, and lacks what followed."""
    operator = t.operator()
    controller = t.controller()
    one, two, three = (it for it in t.brokers if it != controller)
    operator.places("orders", (one,), min_insync_replicas="2")
    operator.produce("orders", "a")
    t.cut(one, three)
    assert operator.moves("orders", one, two, three) is ErrorCode.NONE
    t.wait_until(lambda: two in t.state("orders").isr, "a replica joins")
    t.broker(two).kill()
    t.await_isr("orders", one)
    assert t.state("orders").eligible == (two,)
    assert operator.cancels("orders") is ErrorCode.NONE
    t.wait_until(lambda: not t.state("orders").eligible, "it is not eligible")
    operator.produce("orders", "b")
    t.heal()
    t.cut(one, two)
    row = {"topic": "orders", "partition": 0, "replicas": [one, two]}
    t.put(ReassignPartitionsZnode.PATH, json.dumps({"version": 1, "partitions": [row]}).encode())
    t.broker(two).start()
    t.run(seconds=2)
    t.broker(one).kill()
    t.run(seconds=20)
    assert t.state("orders").leader is None
    t.heal()
    t.broker(one).start()
    t.await_isr("orders", one, two)
    assert operator.read("orders") == ["a", "b"]


def test_the_only_replica_moves_away_during_an_append(t: ClusterScenario) -> None:
    """Its disk is slow, and that is why it is moved: it answers that it leads no more."""
    operator, shop = t.operator(), t.client("shop")
    controller = t.controller()
    first, second = (it.number for it in t.others(controller or 0))
    operator.places("orders", (first,), min_insync_replicas="1")
    shop.produce("orders", "a")
    disk = t.broker(first).disk_of("orders")
    t.broker(first).hang_disk(disk)
    writing = shop.begins(shop.producing("orders", "b"))
    t.run(seconds=0.2)
    assert operator.moves("orders", second) is ErrorCode.NONE
    t.wait_until(lambda: t.state("orders").leader == second, "the other leads")
    assert not writing.done()
    t.broker(first).release_disk(disk)
    shop.ends(writing)
    assert shop.read("orders") == ["a", "b"]


def test_the_only_replica_gets_another_one_during_an_append(t: ClusterScenario) -> None:
    """By the time of the answer two must have it."""
    operator, shop = t.operator(), t.client("shop")
    controller = t.controller()
    first, second = (it.number for it in t.others(controller or 0))
    operator.places("orders", (first,), min_insync_replicas="2")
    shop.produce("orders", "a")
    disk = t.broker(first).disk_of("orders")
    t.broker(first).hang_disk(disk)
    writing = shop.begins(shop.producing("orders", "b"))
    t.run(seconds=0.05)
    both = {ORDERS: (BrokerId(first), BrokerId(second))}
    growing = operator.begins(reassign(operator.cluster, both))
    t.wait_until(lambda: second in t.state("orders").isr, "there are two")
    t.cut(first, second)
    t.broker(first).release_disk(disk)
    t.run(seconds=1)
    assert not writing.done()
    t.heal()
    operator.ends(growing)
    shop.ends(writing)
    t.broker(first).kill()
    t.await_new_leader("orders", first)
    t.broker(first).start()
    t.await_isr("orders", first, second)
    assert shop.read("orders") == ["a", "b"]
