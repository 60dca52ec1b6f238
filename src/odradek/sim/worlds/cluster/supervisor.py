"""Who sees to it that something runs: where all stands still nothing is tried, however long."""

from collections.abc import Mapping
from typing import Final

from odradek.sim.doors.loop import SECOND
from odradek.sim.history import Event
from odradek.sim.stage.broker_machine import BrokerMachine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ZooKeeperMachine

PATIENCE_SECONDS: Final = 3
ACKNOWLEDGEMENTS: Final = frozenset({"client.acked", "key.acked"})


class Supervisor:
    """Once nothing was acknowledged for some seconds, what is down, cut off or hangs goes on."""

    def __init__(
        self, world: World, zookeeper: ZooKeeperMachine, brokers: Mapping[int, BrokerMachine]
    ) -> None:
        self._world, self._zookeeper, self._brokers = world, zookeeper, brokers
        self._last = 0  # when something was acknowledged, or seen to
        world.history.watch(self._on_acknowledged, ACKNOWLEDGEMENTS)
        world.after(SECOND, self._look)

    def _on_acknowledged(self, event: Event) -> None:
        self._last = event.moment

    def _look(self) -> None:
        self._world.after(SECOND, self._look)
        if self._world.loop.now - self._last <= PATIENCE_SECONDS * SECOND:
            return
        self._last = self._world.loop.now
        self._world.wires.heal()
        self._zookeeper.refusals.end()
        for machine in (self._zookeeper.machine, *(it.machine for it in self._brokers.values())):
            machine.resume()
            machine.start_if_down()
        for broker in self._brokers.values():
            for worker in broker.workers.values():
                worker.go_on()
