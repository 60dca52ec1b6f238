"""One broker with its own ZooKeeper, ten partitions on two disks, and clients who use it.

The broker is killed, loses power, stands still and is cut off; its clients live on, remember what
they were told, and try again. What they are told, they note, and promises are made of that.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from odradek.broker.broker import Broker
from odradek.broker.doors import Dir, Doors
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.findings import Given
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
from odradek.sim.journal import Ledger, SimulatedJournal
from odradek.sim.machine import Machine
from odradek.sim.medium import CrashRules
from odradek.sim.simulation import Knob, Simulation
from odradek.sim.worker import SimulatedWorker
from odradek.sim.world import World
from odradek.sim.worlds.broker_clients import BROKER, PORT, Clients
from odradek.sim.worlds.broker_promises import (
    AcknowledgedRecordsSurvive,
    CommitsSurvive,
    OffsetsAreOneForAll,
    ProducersKeepTheirOrder,
)
from odradek.storage import producers, writing

CLIENTS: Final = "clients"
SETTINGS: Final[Mapping[str, str]] = {
    "broker.id": "1",
    "listeners": f"PLAINTEXT://{BROKER}:{PORT}",
    "log.dirs": "disk-a,disk-b",
    "admin.listener": "",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "zookeeper.session.timeout.ms": "6000",
}


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
        self.broker = world.machine(BROKER)
        self.broker.crash_rules = CrashRules(page_bytes=512, tear_one_in=2, names_in_order=True)
        self.clients = world.machine(CLIENTS)
        self.ledger = Ledger()
        static = {name: Given(text, "here") for name, text in SETTINGS.items()}
        self._config: BrokerConfig = read(Layers(static=static))[0]

    def begin(self) -> None:
        """The broker first; clients would wait for it anyway."""
        self.broker.start(self._serve)
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

    async def _serve(self, machine: Machine) -> None:
        dirs = tuple(Dir(machine.disk(name), SimulatedWorker()) for name in ("disk-a", "disk-b"))
        journal = SimulatedJournal(self.ledger, machine.clock, machine.random.stream("journal"))
        doors = Doors(machine.clock, machine.random, machine.network, dirs, BROKER, lambda: journal)
        note = self.world.history.note
        await Broker(self._config, doors).serve(lambda: note(BROKER, "broker.started"))

    async def _use(self, machine: Machine) -> None:
        await Clients(self.world, machine).run()


KIND: Final = BrokerSimulation
