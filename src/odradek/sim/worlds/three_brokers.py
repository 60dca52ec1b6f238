"""What worlds of three brokers have in common: the machines, and how they begin."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from odradek.ports import Address
from odradek.sim.faults import (
    BrokenConnections,
    Cut,
    Fault,
    Kill,
    LostReplies,
    Pause,
    SlowLinks,
)
from odradek.sim.simulation import Simulation
from odradek.sim.stage.broker_machine import PORT, name_of
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.cluster.machines import broker_of, zookeeper_of

CLIENTS: Final = "clients"
BROKERS: Final = (1, 2, 3)
BOOTSTRAP: Final[tuple[Address, ...]] = tuple((name_of(number), PORT) for number in BROKERS)


class ThreeBrokers(Simulation):
    """A ZooKeeper of their own, and a machine for all clients."""

    settings: ClassVar[Mapping[str, str]]  # of every broker
    own: ClassVar[Mapping[int, Mapping[str, str]]] = MappingProxyType({})  # of a broker, by number

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self.zookeeper = zookeeper_of(world)
        self.brokers = {
            number: broker_of(world, {**self.settings, **self.own.get(number, {})}, number)
            for number in BROKERS
        }
        self.clients = world.machine(CLIENTS)

    def begin(self) -> None:
        """ZooKeeper first; brokers would wait for it anyway."""
        self.zookeeper.start()
        for broker in self.brokers.values():
            broker.start()
        self.clients.start(self.use)

    def disk_sparing_faults(self, beside: str) -> tuple[Fault, ...]:
        """Those that take nothing from a disk; brokers and this machine are cut off."""
        names = [broker.machine.name for broker in self.brokers.values()]
        brokers, everybody = (self.world, names), (self.world, [*names, CLIENTS])
        return (
            Kill(*brokers),
            Pause(*brokers),
            Cut(self.world, [*names, beside]),
            BrokenConnections(*everybody),
            LostReplies(*everybody),
            SlowLinks(*everybody),
        )

    def state(self) -> str:
        """Whether all brokers serve."""
        return "all up" if all(it.serves for it in self.brokers.values()) else "a broker down"

    async def use(self, machine: Machine) -> None:
        """What clients do, until their machine ends."""
        raise NotImplementedError
