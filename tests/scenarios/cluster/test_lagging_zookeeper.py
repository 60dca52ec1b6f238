"""A broker whose ZooKeeper server is behind: what it reads is old, and what it hears is late."""

from odradek.model.errors import ErrorCode
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.clients import Client
from tests.scenarios.cluster.test_elections import cast

SHORT = {"log.retention.ms": "10000", "auto.leader.rebalance.enable": "false"}


def fill(shop: Client, topic: str) -> None:
    """Many segments, none of which is young for long."""
    for _ in range(20):
        shop.produce(topic, "x" * 500)


def fall_behind(t: ClusterScenario) -> int:
    """A broker that is not the controller, and so writes nothing by which it would hear."""
    _, behind, _ = cast(t)
    t.zookeeper.falls_behind(t.broker(behind).machine)
    return behind


@staged(settings=SHORT)
def test_settings_that_a_server_has_not_heard_of_are_not_none(t: ClusterScenario) -> None:
    """Else a new topic that keeps its records would lose them there, and then wherever it leads."""
    behind, shop = fall_behind(t), t.client("shop")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    fill(shop, "orders")
    t.run(seconds=120)
    found = t.broker(behind).log("orders")
    assert found is not None
    assert found.log_start_offset == 0
    t.zookeeper.catches_up(t.broker(behind).machine)
    for other in t.others(behind):
        other.kill()
    t.run(seconds=20)
    assert found.log_start_offset == 0


@staged(settings=SHORT)
def test_settings_of_an_earlier_topic_are_not_those_of_the_next(t: ClusterScenario) -> None:
    """The server still has the topic that was deleted, whose records were to go."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="1", segment_bytes="2000")
    fill(shop, "orders")
    behind = fall_behind(t)
    shop.delete("orders")
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    fill(shop, "orders")
    t.run(seconds=60)
    found = t.broker(behind).log("orders")
    assert found is not None
    assert found.log_start_offset == 0


@staged(settings=SHORT)
def test_a_change_of_settings_is_heard_of_when_the_server_has(t: ClusterScenario) -> None:
    """Late, and once: its watch is not lost."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    fill(shop, "orders")
    behind = fall_behind(t)
    t.operator().sets("orders", retention_ms="20000")
    t.run(seconds=60)
    t.zookeeper.catches_up(t.broker(behind).machine)
    found = t.broker(behind).log("orders")
    assert found is not None
    t.wait_until(lambda: found.log_start_offset > 0, "it acts on it")


def test_what_a_broker_behind_is_asked_for_is_done(t: ClusterScenario) -> None:
    """Settings that it alters, and a topic that goes: it writes by versions, and sees its own."""
    behind = fall_behind(t)
    operator = t.operator(behind)
    operator.make("orders")
    assert operator.produce("orders", "a") == 0
    operator.sets("orders", retention_ms="-1")
    assert operator.deletion_of("orders") is ErrorCode.NONE
    t.wait_until(lambda: not t.has_topic("orders"), "it is gone")
    operator.make("orders")
    assert operator.read("orders") == []
