"""Partitions move to other brokers (KIP-455), whatever else happens at the same time."""

import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from odradek.client.admin.placement import reassign
from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.broker_machine import DISKS
from tests.scenarios.cluster.placed import await_controller, is_tidy, wish

ORDERS = TopicPartition("orders", 0)


@pytest.fixture(params=[1, 2, 3])
def four(request: pytest.FixtureRequest) -> Iterator[ClusterScenario]:
    """A cluster with room for moves."""
    with ClusterScenario(request.param, brokers=4) as scenario:
        yield scenario


def cast(t: ClusterScenario) -> tuple[int, int, int, int]:
    """The controller and three others: who may be cut off without being it."""
    controller = t.controller()
    assert controller is not None
    first, second, third = (broker.number for broker in t.others(controller))
    return controller, first, second, third


def moved(t: ClusterScenario, operator: Operator, *to: int) -> None:
    """Waits until the partition is there, and nowhere else."""
    t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    t.wait_until(lambda: operator.replicas("orders") == list(to), "clients are told")
    t.await_isr("orders", *to)
    t.wait_until(
        lambda: all(broker.log_end("orders") == -1 for broker in t.others(*to)),
        "removed replicas are deleted",
    )


def test_on_partitions_reassigned(four: ClusterScenario) -> None:
    """Records follow, leadership moves into the target, and what is not in it is deleted."""
    operator = four.operator()
    operator.places("orders", (1, 2, 3))
    operator.produce("orders", "a", "b")
    assert operator.moves("orders", 4, 3, 2) is ErrorCode.NONE
    operator.produce("orders", "c")
    moved(four, operator, 4, 3, 2)
    assert four.leader("orders") in {4, 3, 2}
    assert operator.read("orders") == ["a", "b", "c"]
    assert operator.problems() == {}


def test_replicas_are_added_and_removed(four: ClusterScenario) -> None:
    """The replication factor of a partition follows the list."""
    operator = four.operator()
    operator.places("orders", (1, 2))
    operator.produce("orders", "a")
    assert operator.moves("orders", 1, 2, 3, 4) is ErrorCode.NONE
    moved(four, operator, 1, 2, 3, 4)
    assert operator.moves("orders", 3, 4) is ErrorCode.NONE
    moved(four, operator, 3, 4)
    assert operator.read("orders") == ["a"]


def test_a_cancel_puts_everything_back(four: ClusterScenario) -> None:
    """What had been copied is deleted again."""
    controller, leader, other, new = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, controller, other))
    operator.produce("orders", "a")
    four.cut(leader, new)
    assert operator.moves("orders", new, controller, other) is ErrorCode.NONE
    assert operator.ongoing()[ORDERS].adding == (new,)
    assert operator.cancels("orders") is ErrorCode.NONE
    four.heal()
    moved(four, operator, controller, other, leader)
    assert operator.cancels("orders") is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_second_reassignment_replaces_the_first(four: ClusterScenario) -> None:
    """What only the first wanted is dropped, although it may be copying at this moment."""
    controller, leader, other, new = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other))
    operator.produce("orders", "a")
    four.cut(leader, new)
    assert operator.moves("orders", new, other) is ErrorCode.NONE
    assert operator.moves("orders", controller, other) is ErrorCode.NONE
    four.heal()
    moved(four, operator, controller, other)
    assert operator.read("orders") == ["a"]


def test_a_deletion_waits_for_a_reassignment_and_a_cancel_frees_it(four: ClusterScenario) -> None:
    """Who looks at the cluster's health learns what it waits for."""
    controller, leader, other, new = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, controller, other))
    four.cut(leader, new)
    assert operator.moves("orders", new, controller, other) is ErrorCode.NONE
    four.broker(new).kill()
    four.wait_until(operator.problems, "the broker is missed")
    shop = four.client("shop")
    deleting = shop.begins(shop.deleting("orders"))
    four.run(seconds=1)
    problems = operator.problems()
    assert problems["topic orders is being reassigned"] == {"deletion waits": {"orders": [0]}}
    dead = f"broker {new} is not registered"
    assert problems[dead] == {"reassignment waits": {"orders": [0]}}
    assert operator.moves("orders", leader, other) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert operator.cancels("orders") is ErrorCode.NONE
    shop.ends(deleting)
    four.wait_until(lambda: not operator.problems(), "nothing is left of it")
    operator.places("orders", (leader, controller, other))


def test_a_replica_that_was_moved_away_from_a_dead_broker_goes_when_it_returns(
    four: ClusterScenario,
) -> None:
    """It could not be told to delete it; the whole image that it hears first tells it."""
    controller, leader, other, dead = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other, dead))
    operator.produce("orders", "a")
    four.broker(dead).kill()
    four.await_isr("orders", leader, other)
    assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
    four.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    four.broker(dead).start()
    moved(four, operator, leader, other, controller)
    assert operator.read("orders") == ["a"]


def test_a_replica_that_was_moved_away_goes_although_its_topic_is_being_deleted(
    four: ClusterScenario,
) -> None:
    """The deletion waits for the other partition of the broker that is away, not for this one."""
    controller, leader, other, dead = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other, dead), (leader, other, dead))
    four.await_isr("orders", leader, other, dead)
    four.broker(dead).kill()
    four.await_isr("orders", leader, other)
    assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
    four.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    deleting = operator.begins(operator.deleting("orders"))
    four.run(seconds=1)
    assert four.has_topic("orders")
    four.broker(dead).start()
    operator.ends(deleting)
    four.wait_until(lambda: not four.has_topic("orders"), "the deletion is over")
    four.wait_until(lambda: four.broker(dead).log_end("orders") == -1, "nothing is left of it")


def test_a_replica_of_a_topic_that_is_gone_is_set_aside(four: ClusterScenario) -> None:
    """It was moved away, and its topic deleted, while its broker was away: nobody asks for it."""
    controller, leader, other, dead = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other, dead))
    operator.produce("orders", "a")
    four.broker(dead).kill()
    four.await_isr("orders", leader, other)
    assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
    four.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    operator.delete("orders")
    four.wait_until(lambda: not four.has_topic("orders"), "the deletion is over")
    four.broker(dead).start()
    four.wait_until(lambda: four.broker(dead).log_end("orders") == -1, "it is out of the way")
    names = [it for disk in DISKS for it in four.broker(dead).machine.disk(disk).names("")]
    assert [it for it in names if it.startswith("orders-0.") and it.endswith("-stray")]
    operator.places("orders", (dead, leader))
    operator.produce("orders", "b")
    assert operator.read("orders") == ["b"]


def test_a_replica_of_an_earlier_topic_is_set_aside(four: ClusterScenario) -> None:
    """Likewise, and the topic that has the name now is not on its broker."""
    controller, leader, other, dead = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other, dead))
    four.await_isr("orders", leader, other, dead)
    four.broker(dead).kill()
    four.await_isr("orders", leader, other)
    assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
    four.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
    operator.delete("orders")
    four.wait_until(lambda: not four.has_topic("orders"), "the deletion is over")
    operator.places("orders", (leader, other))
    four.broker(dead).start()
    four.wait_until(lambda: four.broker(dead).log_end("orders") == -1, "it is out of the way")


@pytest.mark.parametrize("millis", [0, 5, 10, 20, 40, 80])
def test_the_controller_dies_during_a_reassignment(millis: int) -> None:
    """Wherever it was, its successor finds in the topic's znode what is to be done."""
    with ClusterScenario(millis + 1, brokers=4) as t:
        operator = t.operator()
        operator.places("orders", (1, 2, 3))
        operator.produce("orders", "a")
        controller = t.controller()
        assert controller is not None
        t.world.run(millis=7)
        asked = operator.begins(_asks(operator, 4, 2, 3))
        t.world.run(millis=millis)
        t.broker(controller).kill()
        operator.ends(asked)
        t.broker(controller).start()
        t.wait_until(lambda: not operator.ongoing(), "the reassignment is over")
        if {*operator.replicas("orders")} == {1, 2, 3}:  # it died before anything was written
            assert operator.moves("orders", 4, 2, 3) is ErrorCode.NONE
        moved(t, operator, 4, 2, 3)
        assert operator.read("orders") == ["a"]


async def _asks(operator: Operator, *to: int) -> None:
    with suppress(BrokerError):
        await reassign(operator.cluster, {ORDERS: to})


def test_the_controller_is_moved_while_a_reassignment_runs(four: ClusterScenario) -> None:
    """The next controller goes on with it, and can be told to cancel it."""
    controller, leader, other, new = cast(four)
    operator = four.operator()
    operator.places("orders", (controller, leader, other))
    operator.produce("orders", "a")
    four.cut(controller, new)
    assert operator.moves("orders", leader, other, new) is ErrorCode.NONE
    wish(four, leader)
    await_controller(four, leader)
    four.heal()
    moved(four, operator, leader, other, new)
    four.cut(leader, controller)
    assert operator.moves("orders", leader, other, controller) is ErrorCode.NONE
    wish(four, other, name="b")
    operator.cancels("orders")
    await_controller(four, other)
    four.heal()
    four.wait_until(lambda: not operator.ongoing(), "it is cancelled, or was over before")
    operator.produce("orders", "b")
    assert operator.read("orders") == ["a", "b"]
    four.wait_until(lambda: is_tidy(four), "nothing is left of the move")


def test_a_reassignment_under_a_rolling_restart(four: ClusterScenario) -> None:
    """It waits for those that are away, and goes on when they return."""
    operator = four.operator()
    operator.places("orders", (1, 2, 3))
    operator.produce("orders", "a")
    assert operator.moves("orders", 2, 3, 4) is ErrorCode.NONE
    for number in (4, 3, 2, 1):
        four.broker(number).stop()
        operator.produce("orders", f"without {number}")
        four.broker(number).start()
        four.wait_until(lambda: len(four.state("orders").isr) >= 3, "three are in sync")
    moved(four, operator, 2, 3, 4)
    assert operator.read("orders") == ["a", *(f"without {it}" for it in (4, 3, 2, 1))]


def test_what_is_refused(four: ClusterScenario) -> None:
    """Unknown, duplicate and dead brokers; too few; partitions that do not exist."""
    controller, leader, other, dead = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, controller, other))
    operator.places("elsewhere", (dead, controller))
    invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert operator.moves("orders", leader, other, 9) is invalid
    assert operator.moves("orders", leader, other, other) is invalid
    assert operator.moves("orders", leader, other, -3) is invalid
    assert operator.moves("orders", leader) is invalid  # min.insync.replicas is 2
    four.broker(dead).kill()
    four.wait_until(operator.problems, "the broker is missed")
    assert operator.moves("orders", leader, other, dead) is invalid
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert operator.moves("orders", leader, other, partition=1) is unknown
    assert operator.moves("others", leader, other) is unknown
    assert operator.ongoing() == {}


def test_a_cancel_that_would_lose_records_is_refused(four: ClusterScenario) -> None:
    """No replica of the origin is in sync: what is whole would be removed, as by another target."""
    controller, leader, other, new = cast(four)
    operator = four.operator()
    operator.places("orders", (leader, other), min_insync_replicas="1")
    operator.produce("orders", "a")
    for source in (leader, other, controller):
        four.cut(source, new)
    assert operator.moves("orders", controller, new) is ErrorCode.NONE
    four.wait_until(lambda: controller in four.state("orders").isr, "one has caught up")
    four.broker(other).kill()
    four.broker(leader).kill()
    four.await_isr("orders", controller)
    assert operator.cancels("orders") is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert operator.moves("orders", new) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    four.heal()
    four.wait_until(lambda: not operator.ongoing(), "it goes on")
    four.await_isr("orders", controller, new)
    assert operator.read("orders") == ["a"]


def test_the_znode_of_older_tools(four: ClusterScenario) -> None:
    """/admin/reassign_partitions: what is asked for there begins, and goes when it is over."""
    operator = four.operator()
    operator.places("orders", (1, 2, 3))
    keeper = four.keeper("tools")
    asked = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [4, 2]}]}
    path = ReassignPartitionsZnode.PATH
    keeper.does(keeper.zookeeper.create(path, json.dumps(asked).encode()))
    four.wait_until(lambda: not keeper.does(keeper.zookeeper.exists(path)), "the znode goes")
    moved(four, operator, 4, 2)


def test_a_znode_that_makes_no_sense_is_left_alone(four: ClusterScenario) -> None:
    """And everything else goes on."""
    operator = four.operator()
    operator.places("orders", (1, 2, 3))
    keeper = four.keeper("tools")
    path = ReassignPartitionsZnode.PATH
    keeper.does(keeper.zookeeper.create(path, b'{"version":1,"partitions":[{"topic":7}]}'))
    four.run(seconds=1)
    assert keeper.does(keeper.zookeeper.exists(path))
    assert operator.moves("orders", 4, 2, 3) is ErrorCode.NONE
    moved(four, operator, 4, 2, 3)


@staged(brokers=5, settings={"auto.leader.rebalance.enable": "false"})
def test_a_cancel_that_would_leave_too_few_is_refused(t: ClusterScenario) -> None:
    """What two have acknowledged would be on one disk: the other copy would be deleted."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    leader, two, three, late = (it.number for it in t.others(controller))
    operator.places("orders", (leader, two, three), min_insync_replicas="2")
    operator.produce("orders", "a")
    t.cut(leader, late)
    assert operator.moves("orders", leader, controller, late) is ErrorCode.NONE
    t.await_isr("orders", leader, two, three, controller)
    for number in (two, three):
        t.broker(number).kill()
    t.await_isr("orders", leader, controller)
    operator.produce("orders", "b")
    assert operator.cancels("orders") is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert t.broker(controller).log_end("orders") == 2
    for number in (two, three):
        t.broker(number).start()
    t.await_isr("orders", leader, two, three, controller)
    assert operator.cancels("orders") is ErrorCode.NONE
    t.wait_until(lambda: operator.replicas("orders") == [leader, two, three], "it is undone")
