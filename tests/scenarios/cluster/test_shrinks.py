"""A reassignment to one replica: the other copies go once it has shown that its disk works."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, NumberedBroker, staged
from odradek.sim.scenarios.operator import Operator

ORDERS = TopicPartition("orders", 0)


def on_three(t: ClusterScenario) -> tuple[Operator, NumberedBroker, NumberedBroker, NumberedBroker]:
    """An idle topic that one replica may acknowledge: its leader, and the two others."""
    controller = t.controller()
    assert controller is not None
    first, second = t.others(controller)
    operator = t.operator()
    operator.places("orders", (first.number, second.number, controller), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    return operator, first, second, t.broker(controller)


def is_alone(t: ClusterScenario, operator: Operator, broker: NumberedBroker) -> bool:
    """Whether the reassignment to it is over, and the other copies are gone."""
    return not operator.ongoing() and all(
        it.log_end("orders") == -1 for it in t.others(broker.number)
    )


@pytest.mark.parametrize("stays", ["leader", "follower"])
def test_a_disk_that_died_unnoticed_costs_no_other_copy(t: ClusterScenario, stays: str) -> None:
    """Nobody had touched it since; the others lead until it works, then they go."""
    operator, leader, follower, third = on_three(t)
    one, other = (leader, follower) if stays == "leader" else (follower, leader)
    one.fail_disk(disk := one.disk_of("orders"))
    assert operator.moves("orders", one.number) is ErrorCode.NONE
    t.wait_until(lambda: one.number not in t.state("orders").isr, "the dead disk is found")
    t.run(seconds=2)
    assert t.leader("orders") in {other.number, third.number}
    assert [it.log_end("orders") for it in (other, third)] == [1, 1]
    assert ORDERS in operator.ongoing()
    operator.produce("orders", "b")
    one.stop()
    one.repair_disk(disk)
    one.start()
    t.wait_until(lambda: is_alone(t, operator, one), "the reassignment is over")
    assert operator.read("orders") == ["a", "b"]


def test_a_cancel_of_growth_costs_no_copy_beside_a_dead_disk(t: ClusterScenario) -> None:
    """What had been copied leads until the disk of the origin works; the other had nothing."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    one, late = t.others(controller)
    operator.places("orders", (one.number,), min_insync_replicas="1")
    operator.produce("orders", "a")
    t.cut(one.number, late.number)
    assert operator.moves("orders", one.number, controller, late.number) is ErrorCode.NONE
    t.await_isr("orders", one.number, controller)
    one.fail_disk(disk := one.disk_of("orders"))
    assert operator.cancels("orders") is ErrorCode.NONE
    t.wait_until(lambda: t.leader("orders") == controller, "the dead disk is found")
    t.run(seconds=2)
    assert operator.read("orders") == ["a"]
    one.stop()
    one.repair_disk(disk)
    one.start()
    t.wait_until(lambda: is_alone(t, operator, one), "the cancel is over")
    assert operator.read("orders") == ["a"]


def test_a_disk_that_hangs_is_waited_for(t: ClusterScenario) -> None:
    """It has shown nothing, though the broker answers: the others stay until it goes on."""
    operator, one, other, third = on_three(t)
    one.hang_disk(disk := one.disk_of("orders"))
    assert operator.moves("orders", one.number) is ErrorCode.NONE
    t.run(seconds=5)
    assert [it.log_end("orders") for it in (other, third)] == [1, 1]
    one.release_disk(disk)
    t.wait_until(lambda: is_alone(t, operator, one), "the reassignment is over")
    assert operator.read("orders") == ["a"]


@staged(settings={"auto.leader.rebalance.enable": "false"})
def test_the_next_controller_goes_on(t: ClusterScenario) -> None:
    """The one that was asked dies while the disk hangs: all stands in the topic's znode."""
    operator, one, other, third = on_three(t)
    one.hang_disk(disk := one.disk_of("orders"))
    assert operator.moves("orders", one.number) is ErrorCode.NONE
    third.kill()
    t.wait_until(lambda: t.controller() in {one.number, other.number}, "another controls")
    assert other.log_end("orders") == 1
    third.start()
    one.release_disk(disk)
    t.wait_until(lambda: is_alone(t, operator, one), "the reassignment is over")
    assert operator.read("orders") == ["a"]
