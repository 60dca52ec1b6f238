"""The state of a partition is removed while a controller is in office: it is said, and mended."""

from itertools import count

from odradek.cli.brokers import cluster_health
from odradek.cli.brokers.cluster_health import NO_LEADER
from odradek.controller.health import AS_KNOWN
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from tests.scenarios.cluster.test_znodes import move_away, remove

ORDERS = TopicPartition("orders", 0)
STATE = PartitionStateZnode.path(ORDERS)
CAUSE = f"{STATE} in ZooKeeper is missing"


NUMBERS = count()
TRIED_AGAIN_SECONDS = 25  # twice what a controller waits, and a session's end


def told(t: ClusterScenario) -> list[str]:
    """The effects of the missing state that health tells, once the controller has tried again."""
    t.run(seconds=TRIED_AGAIN_SECONDS)
    operator = t.client(f"operator {next(NUMBERS)}")
    found = operator.does(cluster_health.decided_problems(operator.cluster))
    return [it.problem for it in found if it.cause.startswith(CAUSE)]


def test_a_state_that_goes_under_a_controller_is_named_once_a_write_needs_it(
    t: ClusterScenario,
) -> None:
    """The leader stays; when it is gone, too, the partition has none, and health says why."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    said, leader = t.data(STATE), t.leader("orders")
    assert said is not None
    away = next(it for it in t.followers("orders") if it != t.controller())
    remove(t, STATE)
    t.broker(away).kill()
    assert told(t) == [AS_KNOWN]
    t.broker(away).start()
    t.broker(leader).kill()
    assert told(t) == [NO_LEADER]
    t.broker(leader).start()
    t.put(STATE, said)
    assert not told(t)
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


def test_a_state_that_a_controller_has_not_found_counts_once_it_is_there_again(
    t: ClusterScenario,
) -> None:
    """No other controller is needed for it."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    said = t.data(STATE)
    assert said is not None
    remove(t, STATE)
    move_away(t)
    assert told(t) == [NO_LEADER]
    t.put(STATE, said)
    assert not told(t)
    shop.produce("orders", "b")
    assert shop.read("orders") == ["a", "b"]


def test_a_topic_of_which_one_state_is_lost_is_gone_for_clients_once_it_is_deleted(
    t: ClusterScenario,
) -> None:
    """Brokers knew it from the controller before; its other partition has a state."""
    shop = t.client("shop")
    shop.make("orders", 2)
    remove(t, STATE)
    move_away(t)
    assert told(t) == [NO_LEADER]
    shop.delete("orders")
    t.run(seconds=1)
    for broker in t.brokers.values():
        assert broker.process.broker is not None
        assert "orders" not in broker.process.broker.cluster.image.topics


def test_a_topic_that_was_deleted_with_a_lost_state_can_be_made_again(t: ClusterScenario) -> None:
    """Who asked for that is told in time; the next one of that name has lost nothing."""
    shop = t.client("shop")
    shop.make("orders")
    remove(t, STATE)
    move_away(t)
    assert told(t) == [NO_LEADER]
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    shop.make("orders")
    shop.produce("orders", "b")
    assert shop.read("orders") == ["b"]
