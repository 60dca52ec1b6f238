"""What a broker must know before it becomes the controller, and what it must repair."""

import pytest

from odradek.metadata.znodes.controller import NextControllerZnode
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from tests.scenarios.cluster.placed import await_controller, is_ready, other_than, wish


def is_handed_over(t: ClusterScenario) -> bool:
    """Whether the controller waits to be replaced."""
    data = t.data(NextControllerZnode.PATH)
    return data is not None and NextControllerZnode.decode(data).is_handed_over


def test_a_broker_that_was_ready_before_is_waited_for_again(t: ClusterScenario) -> None:
    """It has loaded the image for another wish; for this one it has not said anything yet."""
    old = int(t.controller() or 0)
    new = other_than(t, old)
    t.cut("zookeeper", old)
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.cut("zookeeper", new)
    wish(t, new, name="b")
    t.world.wires.mend("zookeeper", t.broker(old).machine.name)
    t.run(seconds=1)
    assert not is_handed_over(t)
    t.heal()
    await_controller(t, new)


def test_a_broker_that_starts_reads_the_wish(t: ClusterScenario) -> None:
    """It is named there, so it gets ready before anything else reminds it."""
    old = int(t.controller() or 0)
    new = other_than(t, old)
    t.broker(new).kill()
    t.cut("zookeeper", old)  # it would take back a wish for a broker that is not there
    wish(t, new)
    t.broker(new).begin()
    t.wait_until(lambda: is_ready(t), "it is ready")


@staged(settings={"auto.leader.rebalance.enable": "false"})
def test_a_bounce_during_a_hand_over_is_a_failure(t: ClusterScenario) -> None:
    """Neither controller has decided about it; the next one does, before it serves."""
    old = int(t.controller() or 0)
    new = other_than(t, old)
    third = other_than(t, old, new)
    operator = t.operator()
    operator.places("orders", (third, old, new))
    operator.produce("orders", "a")
    epoch = t.state("orders").leader_epoch
    t.cut("zookeeper", old)
    wish(t, new)
    t.wait_until(lambda: is_ready(t), "it is ready")
    t.broker(new).machine.pause()
    t.heal()
    t.wait_until(lambda: is_handed_over(t), "it waits to be replaced")
    t.broker(third).kill()
    t.broker(third).begin()
    t.run(seconds=1)
    t.broker(new).machine.resume()
    await_controller(t, new)
    operator.produce("orders", "b")
    assert t.state("orders").leader_epoch > epoch
    t.await_isr("orders", 1, 2, 3)
    assert operator.read("orders") == ["a", "b"]


def test_a_deletion_that_waits_outlives_its_controller(t: ClusterScenario) -> None:
    """It waits for a broker that is away; the next controller goes on with it."""
    operator = t.operator()
    controller = int(t.controller() or 0)
    away, other = t.others(controller)
    operator.places("orders", (away.number, other.number))
    away.kill()
    deleting = operator.begins(operator.deleting("orders"))
    t.run(seconds=1)
    t.broker(controller).kill()
    await_controller(t, other.number)
    away.start()
    t.run(seconds=5)
    assert not t.has_topic("orders")
    deleting.cancel()


@pytest.mark.parametrize("how", ["dies", "hands-over"])
def test_a_topic_whose_deletion_waits_gets_no_leader_from_the_next_controller(
    t: ClusterScenario, how: str
) -> None:
    """Whoever is told to lead it would make a log of a topic that is gone for its clients."""
    operator = t.operator()
    controller = int(t.controller() or 0)
    away, other = t.others(controller)
    operator.places("orders", (controller, other.number, away.number), min_insync_replicas="1")
    operator.produce("orders", "a")
    away.kill()
    t.await_isr("orders", controller, other.number)
    before = t.state("orders")
    deleting = operator.begins(operator.deleting("orders"))
    t.wait_until(lambda: other.log("orders") is None, "who can be reached has deleted it")
    if how == "dies":
        t.broker(controller).kill()
    else:
        wish(t, other.number)
    await_controller(t, other.number)
    t.run(seconds=3)
    assert t.state("orders") == before
    assert other.log("orders") is None
    for number in (controller, away.number) if how == "dies" else (away.number,):
        t.broker(number).start()
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    deleting.cancel()
