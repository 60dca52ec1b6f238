"""Two brokers that reach ZooKeeper and clients, and not each other."""

from odradek.cli.brokers import cluster_health
from odradek.cli.brokers.sick import Sick
from odradek.sim.scenarios.cluster import ClusterScenario


def test_brokers_apart_are_named_while_nothing_is_written(t: ClusterScenario) -> None:
    """The follower has all there is, and so it stays in the ISR; health says it all the same."""
    shop, operator = t.client("shop"), t.client("operator")
    shop.make("orders")
    shop.produce("orders", "a")
    t.await_isr("orders", 1, 2, 3)
    leader = t.leader("orders")
    follower = next(it for it in (1, 2, 3) if it not in {leader, t.controller()})

    def apart() -> list[Sick]:
        found = operator.does(cluster_health.sick(operator.cluster))
        return [it for it in found if it.problem == cluster_health.BROKERS_APART]

    assert not apart()
    t.cut(leader, follower)
    t.cut(follower, leader)
    t.run(seconds=45)
    told = next(it for it in apart() if f"reach broker {leader}" in it.cause)
    assert told.cause.startswith(f"broker {follower} does not reach broker {leader}: ")
    assert told.partitions["orders"] == [0]
    t.heal()
    t.run(seconds=10)
    assert not apart()
