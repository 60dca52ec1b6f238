"""States that the controller may not read or write: they hold up no others."""

import pytest
from structlog.testing import capture_logs

from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.scenarios.operator import Operator
from odradek.zookeeper.protocol.codes import Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl
from tests.scenarios.cluster.test_elections import cast

STATE = PartitionStateZnode.path(TopicPartition("orders", 0))
HIDDEN, READ_ONLY = Permission.ADMIN, Permission.ADMIN | Permission.READ
RETRY_SECONDS = 11


def allow(t: ClusterScenario, *acl: Acl) -> None:
    """What may be done with the state of `orders`."""
    keeper = t.keeper("tools")
    keeper.does(keeper.zookeeper.set_acl(STATE, acl))


def led_by(t: ClusterScenario, *replicas: int) -> Operator:
    """Two topics with the same replicas, and a record in the one whose state is touched."""
    operator = t.operator()
    for topic in ("orders", "events"):
        operator.places(topic, replicas, min_insync_replicas="1")
        t.await_isr(topic, *replicas)
    operator.produce("orders", "a")
    return operator


@pytest.mark.parametrize("access", [HIDDEN, READ_ONLY])
def test_a_state_without_access_gets_its_leader_once_there_is(
    t: ClusterScenario, access: Permission
) -> None:
    """The controller goes on with all others, and tries it again: no event tells of an ACL."""
    _, dying, other = cast(t)
    operator, epoch = led_by(t, dying, other), t.epoch()
    allow(t, Acl(access, ANYONE))
    t.broker(dying).kill()
    t.wait_until(lambda: t.state("events").leader == other, "the others have leaders")
    t.run(seconds=2 * RETRY_SECONDS)
    assert t.epoch() == epoch
    allow(t, *OPEN_ACL)
    t.run(seconds=RETRY_SECONDS)
    assert t.state("orders").leader == other
    assert t.epoch() == epoch
    assert operator.read("orders") == ["a"]


def test_a_controller_begins_beside_a_state_without_access(t: ClusterScenario) -> None:
    """Nobody is elected where a state may stand; with access it is read, and goes on from there."""
    controller, leader, other = cast(t)
    operator, epoch = led_by(t, leader, other), t.epoch()
    allow(t, Acl(HIDDEN, ANYONE))
    t.broker(controller).kill()
    t.broker(leader).kill()
    t.wait_until(lambda: t.state("events").leader == other, "the others have leaders")
    t.run(seconds=2 * RETRY_SECONDS)
    assert t.epoch() == epoch + 1
    allow(t, *OPEN_ACL)
    t.run(seconds=RETRY_SECONDS)
    assert t.state("orders").leader == other
    assert operator.read("orders") == ["a"]


def test_a_state_that_was_removed_where_none_could_be_read_is_lost(t: ClusterScenario) -> None:
    """It is not made anew: who was in sync is not known any more."""
    controller, leader, other = cast(t)
    led_by(t, leader, other)
    allow(t, Acl(HIDDEN | Permission.DELETE, ANYONE))
    t.broker(controller).kill()
    t.run(seconds=RETRY_SECONDS)
    keeper = t.keeper("tools")
    keeper.does(keeper.zookeeper.delete(STATE, -1))
    t.broker(leader).kill()
    t.run(seconds=2 * RETRY_SECONDS)
    assert t.data(STATE) is None


def test_a_state_without_access_is_told_of_once() -> None:
    """Whatever else happens to its partition, and however often it is tried."""
    with ClusterScenario() as t, capture_logs() as events:
        _, dying, other = cast(t)
        led_by(t, dying, other)
        allow(t, Acl(HIDDEN, ANYONE))
        t.broker(dying).kill()
        t.run(seconds=3 * RETRY_SECONDS)
        t.broker(dying).start()
        t.run(seconds=2 * RETRY_SECONDS)
    told = [it for it in events if it["event"] == "controller.write_failed"]
    assert [it["partition"] for it in told] == ["orders-0"]
