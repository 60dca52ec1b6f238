"""What an acknowledgement is judged by: the value that the leader had, and no other's."""

from odradek.client.admin import admin
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.worlds.cluster.promises.min_isr import MinIsrs
from odradek.sim.worlds.cluster.view import ClusterView

MIN_ISR = "min.insync.replicas"


def test_the_value_is_that_of_the_leader_alone() -> None:
    """A follower's own says nothing; the leader's counts while it has it, and no longer."""
    with ClusterScenario(settings={MIN_ISR: "2"}) as t:
        operator = t.operator()
        operator.places("orders", [1, 2, 3])
        view = ClusterView(t.zookeeper, {it: t.broker(it).process for it in t.brokers})
        held = MinIsrs(view, t.world.history.now)
        held.look()
        (place,) = view.states()

        def set_own(broker: int, value: str) -> None:
            change = admin.alter_settings(
                operator.cluster, admin.BROKER, str(broker), to={MIN_ISR: value}
            )
            operator.does(change)

        set_own(2, "1")
        held.look()
        assert held.lowest(place, 0) == 2
        set_own(1, "1")
        set_own(1, "3")
        assert held.lowest(place, 0) == 1, "between two looks"
        t.run(seconds=1)
        assert held.lowest(place, t.world.history.now()) == 3
        operator.moves("orders", 2, 3)
        t.await_isr("orders", 2, 3)
        t.run(seconds=1)
        held.look()
        assert held.lowest(place, t.world.history.now()) == 1
