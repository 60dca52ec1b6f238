"""One embedded ZooKeeper server and several clients of ours, under faults.

Known mistakes can be switched on, to see that they are found; the product needs no line for it.
"""

from collections.abc import Sequence
from itertools import count
from typing import ClassVar, Final

from odradek.ensemble.server import Doors, JournalFailed, ZookeeperServer
from odradek.model.units import SECOND as SECOND_MILLIS
from odradek.ports import Address
from odradek.sim.disk_misfortunes import JournalErrors
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.faults import (
    BrokenConnections,
    ClockJump,
    Cut,
    Fault,
    Kill,
    LostReplies,
    Pause,
    PowerCut,
    SlowLinks,
    SlowReceivers,
)
from odradek.sim.invariants import Invariant
from odradek.sim.simulation import Knob, Simulation
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.zookeeper.mistakes import LYING_DOORS, WRONG_FUNCTIONS
from odradek.sim.worlds.zookeeper.promises import (
    AcknowledgedWritesSurvive,
    Agreement,
    BatchesKeepTheirOrder,
    DurableBeforeAnswered,
    EphemeralsLiveWithTheirSession,
    OneOrder,
    PairsChangeTogether,
    WatchesBeforeReplies,
    WritesReplaceWhatTheyName,
)
from odradek.sim.worlds.zookeeper.visitors import Visitor
from odradek.zookeeper.server.settings import ServerSettings

SERVER: Final = "zookeeper"
CLIENTS: Final = tuple(f"client-{number}" for number in range(3))
ADDRESS: Final[Address] = (SERVER, 2181)
RESTART_MICROS: Final = 1_000_000
SETTINGS: Final = ServerSettings(
    tick_time=SECOND_MILLIS,
    snapshot_entries=150,  # often enough to be crashed into
)


class EndedSessions(Fault):
    """The server ends a session whose client is alive, and may be in the middle of anything."""

    name = "ended-sessions"

    def __init__(self, world: World, servers: Sequence[ZookeeperServer]) -> None:
        super().__init__(world, (SERVER,))
        self._servers = servers

    def strike(self, chance: SeededRandom) -> str | None:
        """One of those that are open, where there is a server that could."""
        (machine,) = self.machines
        if not machine.running or machine.paused or not self._servers:
            return None
        server = self._servers[-1]
        sessions = list(server.core.database.sessions.open.values())
        if not sessions:
            return None
        session = sessions[chance.below(len(sessions))]

        async def end() -> None:
            if not session.closed:
                server.core.expire(session)
                server.act()

        _ = machine.spawn(end())
        return f"{session.id:#x}"


class ZooKeeperSimulation(Simulation):
    """The kind."""

    name: ClassVar = "zookeeper"
    floors: ClassVar = {"journal.entry": 50, "zk.answered": 200, "zk.event": 10}
    controls: ClassVar = (*LYING_DOORS, *WRONG_FUNCTIONS)

    def __init__(self, world: World, control: str = "") -> None:
        super().__init__(world, control)
        self.ledger = Ledger()
        self.server = world.machine(SERVER)
        self.clients = [world.machine(name) for name in CLIENTS]
        self._numbers = count(1)
        self._mistake = LYING_DOORS.get(control)
        self._opened: list[ZookeeperServer] = []  # that of this life, once it is open

    def begin(self) -> None:
        """The server first; clients would wait for it anyway."""
        self.server.start(self._serve, self._server_exited)
        for client in self.clients:
            client.start(self._visit)

    def faults(self) -> Sequence[Fault]:
        """Everything that one server and its clients can meet."""
        world, everybody = self.world, (SERVER, *CLIENTS)
        return (
            PowerCut(world, everybody),
            Kill(world, everybody),
            Pause(world, everybody),
            Cut(world, everybody),
            BrokenConnections(world, everybody),
            LostReplies(world, everybody),
            SlowLinks(world, everybody),
            SlowReceivers(world, everybody),
            ClockJump(world, everybody),
            JournalErrors(world, self.ledger),
            EndedSessions(world, self._opened),
        )

    def invariants(self) -> Sequence[Invariant]:
        """See `promises`."""
        return (
            DurableBeforeAnswered(self.ledger),
            OneOrder(),
            Agreement(),
            AcknowledgedWritesSurvive(),
            WatchesBeforeReplies(),
            EphemeralsLiveWithTheirSession(),
            PairsChangeTogether(),
            BatchesKeepTheirOrder(),
            WritesReplaceWhatTheyName(),
        )

    def knobs(self) -> Sequence[Knob]:
        """Only mistakes."""
        return [WRONG_FUNCTIONS[self.control]] if self.control in WRONG_FUNCTIONS else []

    def recover(self) -> str:
        """Everybody is served again."""
        answered: dict[str, int] = {}
        self.world.history.watch(
            lambda event: answered.update({event.who: event.moment}), {"zk.answered"}
        )
        self.world.run(seconds=10)
        missing = set(CLIENTS) - set(answered)
        return f"{sorted(missing)} got no answer in ten seconds" if missing else ""

    def state(self) -> str:
        """Whether the server serves, and whether transactions wait for their commit."""
        if not self.server.running:
            return "server down"
        return "server paused" if self.server.paused else "server up"

    async def _serve(self, machine: Machine) -> None:
        self._opened.clear()
        note = self.world.history.note
        journal = SimulatedJournal(
            self.ledger, machine.clock, machine.random, lambda *what: note(machine.name, *what)
        )
        doors = Doors(machine.clock, machine.random, machine.network, journal)
        if self._mistake is not None:
            doors = self._mistake(doors, machine)
        server = ZookeeperServer(doors, SETTINGS)
        await server.open(("", ADDRESS[1]))
        self._opened.append(server)
        note(machine.name, "zk.serves")
        await server.serve()

    def _server_exited(self, error: BaseException | None) -> None:
        """A failing journal stops the server, as it must; somebody starts it again."""
        if isinstance(error, JournalFailed):
            self.world.after(RESTART_MICROS, self.server.start_if_down)
        else:
            self.world.loop.fail(error or RuntimeError("the server stopped by itself"))

    async def _visit(self, machine: Machine) -> None:
        await Visitor(self.world, machine, ADDRESS, self._numbers).run()


KIND: Final = ZooKeeperSimulation
