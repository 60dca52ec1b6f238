"""Which broker is the controller, as far as that is known."""

from odradek.cli.brokers.cluster_health import decided_problems
from odradek.cli.reaching.acting_controller import Seen, acting_controller
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.clients import Client
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER


def seen(operator: Client, last: int = -1) -> Seen:
    """By an operator, who is told by a broker who was it last."""
    found: Seen = operator.does(acting_controller(operator.cluster, last))
    return found


def test_a_controller_that_has_died_is_not_said_to_act(t: ClusterScenario) -> None:
    """Its session goes on for a while, so ZooKeeper names it; then another is elected."""
    operator = t.client("operator")
    operator.does(operator.cluster.refresh(None))
    first = t.controller()
    assert first is not None
    assert (seen(operator).acts(first), seen(operator).doubt) == (True, "")
    t.broker(first).kill()
    found = seen(operator, first)
    assert (found.controller, found.acts(first)) == (first, None)
    assert f"broker {first} is the controller in ZooKeeper, as of " in found.doubt
    assert "and does not answer" in found.doubt
    t.wait_until(lambda: t.controller() not in {None, first}, "another is elected")
    found = seen(operator, first)
    assert (found.acts(t.controller() or 0), found.acts(first)) == (True, False)


def test_without_zookeeper_it_is_told_what_was_heard_last_and_until_when(
    t: ClusterScenario,
) -> None:
    """Another may have been elected since: of no broker it is known."""
    operator = t.client("operator")
    operator.does(operator.cluster.refresh(None))
    for broker in t.brokers:
        t.cut(broker, ZOOKEEPER)
        t.cut(ZOOKEEPER, broker)
    t.run(seconds=10)
    found = seen(operator, 2)
    assert [found.acts(it) for it in t.brokers] == [None, None, None]
    assert "which broker is the controller is not known" in found.doubt
    assert "has no connection to ZooKeeper, since " in found.doubt
    assert found.doubt.endswith("the last that it heard of was broker 2")


def test_health_names_the_brokers_that_do_not_reach_zookeeper(t: ClusterScenario) -> None:
    """Of one that is cut off others decide; without any nothing is decided."""
    operator = t.client("operator")
    operator.does(operator.cluster.refresh(None))
    first, *others = t.brokers

    def told() -> list[tuple[str, str, tuple[int, ...]]]:
        found = operator.does(decided_problems(operator.cluster))
        return [(it.cause, it.problem, it.brokers) for it in found if "ZooKeeper" in it.cause]

    t.cut(first, ZOOKEEPER)
    t.cut(ZOOKEEPER, first)
    t.wait_until(lambda: bool(told()), "it is noticed")
    one = f"broker {first} has no connection to ZooKeeper at zookeeper:2181; brokers 2, 3 reach it"
    assert told() == [(one, "cut off from ZooKeeper", (first,))]
    for broker in others:
        t.cut(broker, ZOOKEEPER)
        t.cut(ZOOKEEPER, broker)
    t.run(seconds=10)
    every = "ZooKeeper is away: brokers 1, 2, 3 do not reach zookeeper:2181"
    assert told() == [(every, "nothing is decided", (1, 2, 3))]
