"""Topics, brokers and settings that nobody may read any more: nothing of them is lost by that."""

import pytest
from structlog.testing import capture_logs

from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.settings import (
    Entity,
    EntityType,
    SettingsChangeZnode,
    SettingsZnode,
)
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.zookeeper.protocol.codes import CreateMode, Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl
from tests.scenarios.cluster.test_elections import cast

HIDDEN = Permission.WRITE | Permission.CREATE | Permission.DELETE | Permission.ADMIN
RETRY_SECONDS = 11
TOPIC = TopicZnode.path("orders")
SETTINGS = SettingsZnode.path(Entity(EntityType.TOPICS, "orders"))


def hide(t: ClusterScenario, path: str) -> None:
    """Nobody may read it."""
    keeper = t.keeper("a person")
    keeper.does(keeper.zookeeper.set_acl(path, (Acl(HIDDEN, ANYONE),)))


def show(t: ClusterScenario, path: str) -> None:
    """Everybody may again."""
    keeper = t.keeper("a person")
    keeper.does(keeper.zookeeper.set_acl(path, OPEN_ACL))


def lose_connections(t: ClusterScenario) -> None:
    """Each broker looks at everything anew."""
    t.break_connections(ZOOKEEPER)


def test_a_topic_that_nobody_may_read_keeps_all(t: ClusterScenario) -> None:
    """No log is set aside, no commit removed, though a controller and a broker begin meanwhile."""
    controller, _, other = cast(t)
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a", "b")
    member = shop.member("readers", "orders")
    member.joins()
    member.commits("orders", 0, 1)
    hide(t, TOPIC)
    t.broker(controller).kill()
    t.run(seconds=2)
    t.broker(other).stop()
    t.broker(other).start()
    t.broker(controller).start()
    t.run(seconds=2 * RETRY_SECONDS)
    assert {it.log_end("orders") for it in t.brokers.values()} == {2}
    assert [*t.operator().problems()] == [f"{TOPIC} in ZooKeeper cannot be read"]
    show(t, TOPIC)
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "c")
    assert shop.committed("readers") == {TopicPartition("orders", 0): 1}
    assert shop.read("orders") == ["a", "b", "c"]


@pytest.mark.parametrize("path", [BrokerIdsZnode.PATH, BrokerZnode.path(BrokerId(2))])
def test_brokers_that_nobody_may_list_are_not_gone(t: ClusterScenario, path: str) -> None:
    """The controller goes on with those that it knows; who goes is seen once it may look."""
    shop = t.client("shop")
    shop.make("orders")
    before, epoch = t.state("orders"), t.epoch()
    hide(t, path)
    lose_connections(t)
    t.run(seconds=2 * RETRY_SECONDS)
    assert t.state("orders") == before
    assert t.epoch() == epoch
    shop.produce("orders", "a")
    show(t, path)
    t.run(seconds=RETRY_SECONDS)
    follower = t.followers("orders")[0]
    t.broker(follower).kill()
    t.await_isr("orders", *({1, 2, 3} - {follower}))


@staged(settings={"log.retention.ms": "10000"})
def test_settings_are_tried_again_however_much_news_there_is(t: ClusterScenario) -> None:
    """Other settings change each second, and those that could not be read become readable."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    for _ in range(20):
        shop.produce("orders", "x" * 500)
    hide(t, SETTINGS)
    lose_connections(t)
    t.run(seconds=2)
    show(t, SETTINGS)
    t.put(SETTINGS, SettingsZnode.encode({"retention.ms": "20000", "segment.bytes": "2000"}))
    change = SettingsChangeZnode.encode(Entity(EntityType.TOPICS, "others"))
    keeper = t.keeper("a person")
    for _ in range(400):
        mode = CreateMode.PERSISTENT_SEQUENTIAL
        keeper.does(keeper.zookeeper.create(SettingsChangeZnode.CREATE_PATH, change, mode=mode))
        t.run(seconds=1)
    assert len(shop.read("orders")) < 20


@pytest.mark.parametrize(
    "path", [SETTINGS, SettingsZnode.parent(EntityType.TOPICS), SettingsChangeZnode.PARENT]
)
@staged(settings={"log.retention.ms": "10000"})
def test_settings_that_nobody_may_read_hold_on(t: ClusterScenario, path: str) -> None:
    """No broker ends by it, and a change is heard of once it may be read."""
    shop = t.client("shop")
    shop.make("orders", retention_ms="-1", segment_bytes="2000")
    for _ in range(20):
        shop.produce("orders", "x" * 500)
    with capture_logs() as told:
        hide(t, path)
        lose_connections(t)
        t.run(seconds=120)
    assert len(shop.read("orders")) == 20
    events = [it["event"] for it in told]
    assert sum(map(events.count, ("settings.ignored", "zookeeper.refused"))) == 3
    show(t, path)
    t.put(SETTINGS, SettingsZnode.encode({"retention.ms": "20000", "segment.bytes": "2000"}))
    t.run(seconds=180)
    assert len(shop.read("orders")) < 20
