"""One broker with its own ZooKeeper, ten partitions on two disks, and clients who use it.

The broker is killed, loses power, stands still and is cut off; its clients live on, remember what
they were told, and try again. What they are told, they note, and promises are made of that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from odradek.sim.broker_machine import BROKER, BrokerMachine
from odradek.sim.faults import (
    BrokenConnections,
    ClockJump,
    Cut,
    Fault,
    Kill,
    Pause,
    PowerCut,
    SlowLinks,
)
from odradek.sim.invariants import Invariant
from odradek.sim.machine import Machine
from odradek.sim.medium import CrashRules
from odradek.sim.simulation import Knob, Simulation
from odradek.sim.world import World
from odradek.sim.worlds.broker_clients import Clients
from odradek.sim.worlds.broker_promises import (
    AcknowledgedRecordsSurvive,
    CommitsSurvive,
    OffsetsAreOneForAll,
    ProducersKeepTheirOrder,
)
from odradek.storage import producers, writing

CLIENTS: Final = "clients"


def _nothing(*_: Any, **__: Any) -> None:
    """What a mistake does instead."""


MISTAKES: Final[Mapping[str, Knob]] = {
    "answer-before-sync": Knob(writing.WriteJob, "sync", _nothing),
    "sequences-ignored": Knob(producers.ProducerState, "get", _nothing),
}


class BrokerSimulation(Simulation):
    """The kind."""

    name: ClassVar = "broker"
    fault_seconds: ClassVar = 40
    healing_seconds: ClassVar = 20
    floors: ClassVar = {"client.acked": 30, "client.read": 30}
    controls: ClassVar = tuple(MISTAKES)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self._broker = BrokerMachine(
            world, on_ready=lambda: world.history.note(BROKER, "broker.started")
        )
        self.broker = self._broker.machine
        self.broker.crash_rules = CrashRules(page_bytes=512, tear_one_in=2, names_in_order=True)
        self.clients = world.machine(CLIENTS)

    def begin(self) -> None:
        """The broker first; clients would wait for it anyway."""
        self._broker.start()
        self.clients.start(self._use)

    def faults(self) -> Sequence[Fault]:
        """All that one broker and its clients can meet, but for broken disks."""
        broker, both = (self.world, (BROKER,)), (self.world, (BROKER, CLIENTS))
        return (
            PowerCut(*broker),
            Kill(*broker),
            Pause(*broker),
            ClockJump(*broker),
            Cut(*both),
            BrokenConnections(*both),
            SlowLinks(*both),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `broker_promises`."""
        return (
            AcknowledgedRecordsSurvive(),
            OffsetsAreOneForAll(),
            ProducersKeepTheirOrder(),
            CommitsSurvive(),
        )

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return (MISTAKES[self.control],) if self.control else ()

    def recover(self) -> str:
        """Everybody is served again."""
        served: set[str] = set()
        watched = {"client.acked", "client.read", "client.committed"}
        self.world.history.watch(lambda event: served.add(event.what), watched)
        self.world.run(seconds=30)
        missing = sorted(watched - served)
        return f"nobody noted {missing} in thirty seconds" if missing else ""

    def state(self) -> str:
        """Whether the broker serves."""
        if not self.broker.running:
            return "broker down"
        return "broker paused" if self.broker.paused else "broker up"

    async def _use(self, machine: Machine) -> None:
        await Clients(self.world, machine).run()


KIND: Final = BrokerSimulation
