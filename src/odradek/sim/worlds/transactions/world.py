"""Three brokers, a ZooKeeper of its own, and copiers that consume, transform and produce.

Brokers are killed, stand still, stop in good order and are cut off; ZooKeeper ends sessions, so the
controller moves, and coordinators with it; markers of a former coordinator, and requests of ended
transactions, arrive late; replicas move, and a topic is deleted and made again; copiers end in the
middle of what they do, and others of their id go on. In half of the runs `transaction.version` is
2 at first, and most copiers speak it; in half of them it rises and falls, and copiers have heard of
it as it is, or as it was before.

No machine loses what it has not synced: what is committed is on the disks of two of three.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from odradek.sim.faults import Fault
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.cluster.misfortunes.faults import ControlledShutdown, ExpiredSessions
from odradek.sim.worlds.three_brokers import BOOTSTRAP, CLIENTS, ThreeBrokers
from odradek.sim.worlds.transactions.clients import TransactionClients
from odradek.sim.worlds.transactions.faults import LateMarkers, LonelyEnd
from odradek.sim.worlds.transactions.mistakes import MISTAKES
from odradek.sim.worlds.transactions.promises import (
    CommittedIsOneStory,
    FencedProducersAreNotHeard,
    StableStaysStable,
)

DECIDED_SECONDS: Final = 30
"""Once all copiers have gone: sessions, time-outs of transactions and markers that are repeated."""
SETTINGS: Final[Mapping[str, str]] = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "replica.lag.time.max.ms": "4000",
    "controlled.shutdown.retry.backoff.ms": "200",
}


class TransactionsSimulation(ThreeBrokers):
    """The kind."""

    name: ClassVar = "transactions"
    settings: ClassVar = SETTINGS
    fault_seconds: ClassVar = 30
    healing_seconds: ClassVar = 5
    floors: ClassVar = {"txn.committed": 10, "txn.aborted": 1, "txn.began": 6}
    floors_under_faults: ClassVar = {"txn.committed": 4}
    floors_of_many: ClassVar = {"txn.level": 5}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self._users = TransactionClients(world, self.clients, BOOTSTRAP)

    def is_warm(self) -> bool:
        """Somebody has copied something."""
        return bool(self.world.history.counts["txn.committed"])

    def faults(self) -> Sequence[Fault]:
        """All that takes nothing from a disk."""
        machines = list(self.brokers.values())
        return (
            *self.disk_sparing_faults(CLIENTS),
            ControlledShutdown(self.world, machines),
            ExpiredSessions(self.world, self.zookeeper),
            LateMarkers(self.world, machines, self.zookeeper),
            LonelyEnd(self.world, machines, self.zookeeper),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `promises`."""
        return CommittedIsOneStory(), FencedProducersAreNotHeard(), StableStaysStable()

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return (MISTAKES[self.control],) if self.control else ()

    def recover(self) -> str:
        """Once no client asks for anything, all is decided, and readers see it to its end."""
        self._users.end()
        self.world.run(seconds=DECIDED_SECONDS)
        complaint: str = self.world.ask(CLIENTS, self._users.audit())
        return complaint

    async def use(self, machine: Machine) -> None:
        """Copies, until all is to be looked at."""
        del machine
        await self._users.run()
        await asyncio.Event().wait()  # the machine is asked once more


KIND: Final = TransactionsSimulation
