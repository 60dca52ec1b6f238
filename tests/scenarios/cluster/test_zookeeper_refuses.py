"""A ZooKeeper that refuses requests, connections or sessions for a while ends no broker."""

import pytest

from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.zookeeper_refusals import REFUSALS, REFUSED, TURNED_AWAY, Refusal

WAYS = {way.name.replace(" ", "-"): way for way in REFUSALS}


@pytest.mark.parametrize("way", WAYS)
def test_a_zookeeper_that_refuses_every_other_request_ends_no_broker(
    t: ClusterScenario, way: str
) -> None:
    """A leader dies meanwhile: another is elected, and what was acknowledged is there."""
    shop = t.client("shop")
    shop.make("orders", replicas=3)
    shop.produce("orders", "a")
    first = t.leader("orders")
    refusals = t.zookeeper.refusals
    refusals.ways, refusals.one_in = (WAYS[way],), 2
    t.broker(first).kill()
    t.run(seconds=12)
    refusals.end()
    second = t.await_new_leader("orders", first)
    assert all(broker.machine.lives == 1 for broker in t.others(first))
    assert t.world.history.counts[REFUSED]
    shop.produce("orders", "b")
    t.broker(first).start()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]
    assert second in {it.number for it in t.others(first)}


def test_a_refusal_of_all_is_waited_out(t: ClusterScenario) -> None:
    """Nothing is asked so often that a server which cannot answer drowns in it."""
    throttled: Refusal = REFUSALS[0]
    refusals = t.zookeeper.refusals
    refusals.ways = (throttled,)
    t.run(seconds=1)
    before = t.world.history.counts[REFUSED]
    t.run(seconds=10)
    asked = t.world.history.counts[REFUSED] - before
    refusals.end()
    assert asked <= 10 * len(t.brokers) * 4, asked
    t.wait_until(lambda: all(it.process.serves for it in t.brokers.values()), "all serve")


def test_who_gets_no_new_session_waits_for_one(t: ClusterScenario) -> None:
    """Those that have theirs go on meanwhile; a broker without one is registered again later."""
    shop = t.client("shop")
    shop.make("orders", replicas=3)
    follower = t.followers("orders")[0]
    owner = t.tree.nodes[f"/brokers/ids/{follower}"].owner
    t.zookeeper.refusals.sessions = True
    t.zookeeper.expire(owner)
    t.run(seconds=3)
    assert t.world.history.counts[TURNED_AWAY]
    registered = {str(it.number) for it in t.others(follower)}
    assert {*t.tree.nodes["/brokers/ids"].children} == registered
    t.zookeeper.refusals.end()
    t.wait_until(lambda: t.data(f"/brokers/ids/{follower}"), "it is registered again")
    t.await_isr("orders", 1, 2, 3)
    shop.produce("orders", "a")
    assert t.broker(follower).machine.lives == 1
