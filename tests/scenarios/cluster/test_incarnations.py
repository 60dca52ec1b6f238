"""A replica is whole as the log that it was when it joined: what it is by now must be that."""

import pytest

from odradek.model.admin_operations import LOG_DIR_REPLACE
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.scenarios.operator import Operator
from odradek.sim.stage.broker_machine import name_of

SETTINGS = {"auto.leader.rebalance.enable": "false"}


def replace_disk(t: ClusterScenario, operator: Operator, number: int, cut_from: int) -> None:
    """The disk with the log fails, and an empty one takes its place in the same life."""
    broker = t.broker(number)
    disk = broker.disk_of("orders")
    broker.fail_disk(disk)
    t.wait_until(lambda: broker.log("orders") is None, "the dir is offline")
    t.cut(cut_from, number)
    broker.exchange_disk(disk)
    operator.operate(LOG_DIR_REPLACE, number, dir=broker.path_of(disk))
    t.wait_until(lambda: broker.log("orders") is not None, "the log is made anew")


@pytest.mark.parametrize("is_alone", [True, False])
@staged(settings=SETTINGS)
def test_a_join_that_was_on_its_way_does_not_count_for_an_empty_log(
    t: ClusterScenario, *, is_alone: bool
) -> None:
    """Whether another whole member lives or not: the one that has nothing does not lead."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    leader, follower = (it.number for it in t.others(controller))
    replicas = (leader, follower) if is_alone else (leader, follower, controller)
    minimum = "1" if is_alone else "2"
    operator.places("orders", replicas, min_insync_replicas=minimum)
    operator.produce("orders", "a")
    t.broker(follower).kill()
    t.await_isr("orders", *(it for it in replicas if it != follower))
    operator.produce("orders", "b")
    t.cut(leader, controller)
    t.broker(follower).begin()
    broker = t.broker(follower)
    t.wait_until(lambda: broker.process.broker and broker.process.serves, "it serves")
    t.wait_until(lambda: broker.log_end("orders") == 2, "it has all")
    t.run(seconds=0.5)
    assert follower not in t.state("orders").isr
    replace_disk(t, operator, follower, leader)
    t.run(seconds=1)
    t.world.wires.mend(name_of(leader), name_of(controller))
    t.run(seconds=3)
    assert broker.log_end("orders") == 0
    t.broker(leader).kill()
    t.run(seconds=20)
    assert t.state("orders").leader == (None if is_alone else controller)
    t.heal()
    t.broker(leader).start()
    t.await_isr("orders", *replicas)
    assert operator.read("orders") == ["a", "b"]


@staged(settings=SETTINGS)
def test_a_join_that_only_the_dead_had_heard_of_counts(t: ClusterScenario) -> None:
    """Leader and controller die with one broker; who has joined says so by what its log is."""
    operator, controller = t.operator(), t.controller()
    assert controller is not None
    follower = t.others(controller)[0].number
    operator.places("orders", (controller, follower), min_insync_replicas="2")
    operator.produce("orders", "a")
    broker = t.broker(follower)
    broker.cut_power()
    t.await_isr("orders", controller)
    operator.produce("orders", "b", acks=1)
    assert t.leader("orders") == controller
    answers = t.world.wires.link(t.zookeeper.machine.host, t.broker(controller).machine.host)
    answers.delay = (500_000, 500_000)  # what it has written it hears later
    broker.begin()
    t.wait_until(lambda: follower in t.state("orders").isr, "it has joined")
    log = broker.log("orders")
    assert log is not None
    assert log.unclean is not None
    t.broker(controller).kill()
    t.heal()
    t.run(seconds=20)
    assert t.state("orders").leader == follower
    t.broker(controller).start()
    t.await_isr("orders", controller, follower)
    assert operator.read("orders") == ["a", "b"]
