"""What goes wrong with the ZooKeeper that several brokers share: it refuses, or it lags."""

from functools import partial
from typing import Final

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.faults import Fault
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.sim.stage.zookeeper_refusals import REFUSALS
from odradek.sim.worlds.cluster.misfortunes.rare_faults import OfCluster

ONE_IN_BITS: Final = 5  # of so many requests, at most


class RefusedRequests(Fault):
    """ZooKeeper refuses some requests for a while, in one way or in all of them."""

    name = "refused-requests"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster.world, (ZOOKEEPER,))
        self._refusals = cluster.zookeeper.refusals

    def strike(self, chance: SeededRandom) -> str | None:
        """Each, or one in so many."""
        if self._refusals.ways:
            return None
        at = chance.below(1 + len(REFUSALS))
        ways = REFUSALS[at : at + 1] or REFUSALS
        self._refusals.ways, self._refusals.one_in = ways, 1 << chance.below(ONE_IN_BITS)
        self.world.after(self.later(chance), self.heal)
        return f"{ZOOKEEPER} {','.join(way.name for way in ways)} 1 in {self._refusals.one_in}"

    def heal(self) -> None:
        """Everything is answered."""
        self._refusals.ways = ()


class RefusedClients(Fault):
    """ZooKeeper takes no new connections, or no new sessions; those that it has go on."""

    name = "refused-clients"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster.world, (ZOOKEEPER,))
        self._refusals = cluster.zookeeper.refusals

    def strike(self, chance: SeededRandom) -> str | None:
        """The one or the other."""
        if self._refusals.connections or self._refusals.sessions:
            return None
        self._refusals.sessions = bool(chance.below(2))
        self._refusals.connections = not self._refusals.sessions
        self.world.after(self.later(chance), self.heal)
        return f"{ZOOKEEPER} {'sessions' if self._refusals.sessions else 'connections'}"

    def heal(self) -> None:
        """Everybody is welcome."""
        self._refusals.connections = self._refusals.sessions = False


class LaggingServer(Fault):
    """The server of one broker is behind its ensemble until that broker writes or syncs."""

    name = "lagging-server"

    def __init__(self, cluster: OfCluster) -> None:
        super().__init__(cluster.world, cluster.names)
        self._zookeeper = cluster.zookeeper

    def strike(self, chance: SeededRandom) -> str | None:
        """It reads what was so now, and hears late, also after it has written."""
        machine = self.running(chance)
        is_behind = self._zookeeper.lag.behind
        if machine is None or not self._zookeeper.serves or machine.host.ip in is_behind:
            return None
        self._zookeeper.falls_behind(machine)
        self.world.after(self.later(chance), partial(self._catch_up, machine))
        return machine.name

    def _catch_up(self, machine: Machine) -> None:
        if self._zookeeper.serves:  # another life of it is not behind
            self._zookeeper.catches_up(machine)

    def heal(self) -> None:
        """All hear of everything."""
        for machine in self.machines:
            self._catch_up(machine)
