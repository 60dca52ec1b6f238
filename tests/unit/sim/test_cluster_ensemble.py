"""A ZooKeeper that lags for one broker of a world, and in the end for none."""

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.broker_machine import PORT, name_of
from odradek.sim.worlds.cluster.misfortunes.ensemble import LaggingServer
from odradek.sim.worlds.cluster.misfortunes.hands import Hands
from odradek.sim.worlds.cluster.misfortunes.rare_faults import OfCluster
from odradek.sim.worlds.cluster.promises.insides import Copies
from odradek.sim.worlds.cluster.view import ClusterView


def test_a_server_lags_until_everything_heals() -> None:
    """Who is behind already is not struck again."""
    with ClusterScenario() as t:
        machines = {number: broker.process for number, broker in t.brokers.items()}
        copies = Copies(
            ClusterView(t.zookeeper, machines), t.world.history, synced=frozenset(), min_isr={}
        )
        hands = Hands(t.world, [(name_of(1), PORT)])
        fault = LaggingServer(OfCluster(t.world, t.zookeeper, machines, copies, hands))
        behind, chance = t.zookeeper.lag.behind, SeededRandom(1, "strikes")
        struck = {fault.strike(chance) for _ in range(20)}
        assert struck == {None, *(name_of(it) for it in machines)}
        assert len(behind) == len(machines)
        fault.heal()
        t.run(seconds=0.01)
        assert not behind
