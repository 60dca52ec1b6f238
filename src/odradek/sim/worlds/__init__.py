"""The kinds of worlds that are simulated: machines, workload, faults and promises of each."""

from collections.abc import Mapping
from typing import Final

from odradek.sim.simulation import Simulation
from odradek.sim.worlds.zookeeper import ZooKeeperSimulation

KINDS: Final[Mapping[str, type[Simulation]]] = {kind.name: kind for kind in (ZooKeeperSimulation,)}
