"""Three brokers that ask for names, and rules that change while users write and wait for records.

Brokers are killed, stand still and are cut off, also from their ZooKeeper alone; sessions end. A
broker that cannot hear of a change goes on by the rules that it knows; once it has read a change,
nothing is served any more that the change forbids.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from odradek.sim.faults import Fault
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.users import listeners, settings_with_users
from odradek.sim.stage.world import World
from odradek.sim.worlds.access.clients import USERS, AccessClients
from odradek.sim.worlds.access.mistakes import MISTAKES
from odradek.sim.worlds.access.promises import (
    NothingIsRefusedWithARight,
    NothingIsServedWithoutARight,
)
from odradek.sim.worlds.access.truth import AccessTruth
from odradek.sim.worlds.cluster.misfortunes.faults import ExpiredSessions
from odradek.sim.worlds.three_brokers import BOOTSTRAP, BROKERS, CLIENTS, ThreeBrokers

HEARD_SECONDS: Final = 10
SETTINGS: Final[Mapping[str, str]] = {
    **settings_with_users(*USERS),
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "4000",
    "connection.failed.authentication.delay.ms": "5",
}


class AccessSimulation(ThreeBrokers):
    """The kind."""

    name: ClassVar = "access"
    settings: ClassVar = SETTINGS
    own: ClassVar = listeners(len(BROKERS))
    fault_seconds: ClassVar = 25
    healing_seconds: ClassVar = 5
    floors: ClassVar = {"access.changed": 10, "access.served": 40, "access.refused": 40}
    floors_under_faults: ClassVar = {"access.changed": 4, "access.served": 5, "access.refused": 5}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self._truth = AccessTruth(self.zookeeper, self.brokers)
        self._users = AccessClients(world, self.clients, BOOTSTRAP, self._truth)

    def is_warm(self) -> bool:
        """Somebody was served, and somebody refused."""
        counts = self.world.history.counts
        return bool(counts["access.served"] and counts["access.refused"])

    def faults(self) -> Sequence[Fault]:
        """All that takes nothing from a disk."""
        expired = ExpiredSessions(self.world, self.zookeeper)
        return *self.disk_sparing_faults(self.zookeeper.machine.name), expired

    def invariants(self) -> Sequence[Invariant]:
        """See `promises`."""
        return NothingIsServedWithoutARight(self._truth), NothingIsRefusedWithARight(self._truth)

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return MISTAKES[self.control] if self.control else ()

    def recover(self) -> str:
        """Once nothing is changed any more, all brokers know all rules, and answer by them."""
        self._users.end_changes()
        self.world.run(seconds=HEARD_SECONDS)
        version = self._truth.look()
        deaf = [it for it in BROKERS if self._truth.book(it) != version]
        if deaf:
            return f"brokers {deaf} have not heard of all rules"
        complaint: str = self.world.ask(CLIENTS, self._users.audit())
        return complaint

    async def use(self, machine: Machine) -> None:
        """Asks, until all is to be looked at."""
        del machine
        await self._users.run()
        await asyncio.Event().wait()  # the machine is asked once more


KIND: Final = AccessSimulation
