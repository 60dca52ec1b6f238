"""A machine that runs the product's ZooKeeper server, and nothing else: for several brokers."""

from functools import partial
from typing import Final

from odradek.ensemble.server import Doors, ZookeeperServer
from odradek.model.units import SECOND
from odradek.ports import Address
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.stage.machine import Machine, OnExit
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_lag import Lag, now_of
from odradek.sim.stage.zookeeper_refusals import Refusals, RefusingZookeeperServer
from odradek.zookeeper.server.settings import ServerSettings

ZOOKEEPER: Final = "zookeeper"
ADDRESS: Final[Address] = (ZOOKEEPER, 2_181)
SETTINGS: Final = ServerSettings(tick_time=SECOND)


class ZooKeeperMachine:
    """The machine `zookeeper`, through its lives. Its journal outlives them."""

    def __init__(
        self,
        world: World,
        settings: ServerSettings = SETTINGS,
        *,
        on_exit: OnExit | None = None,
    ) -> None:
        self.machine = world.machine(ZOOKEEPER)
        self.ledger = Ledger()
        self.server: ZookeeperServer | None = None  # of this life, once it listens
        note = partial(world.history.note, ZOOKEEPER)
        self.refusals = Refusals(world.chance.stream("zookeeper/refusals"), note)
        self.lag = Lag()
        self._settings = settings
        self._on_exit = on_exit

    @property
    def serves(self) -> bool:
        """Whether it listens."""
        return self.machine.running and self.server is not None

    def start(self) -> None:
        """A life."""
        self.server = None
        self.machine.start(self._serve, self._on_exit)

    def expire(self, session_id: int) -> None:
        """Ends a session whose client may be alive."""

        async def end() -> None:
            assert self.server is not None
            session = self.server.core.database.sessions.open[session_id]
            self.server.core.expire(session)
            self.server.act()

        _ = self.machine.spawn(end())

    def falls_behind(self, machine: Machine) -> None:
        """The server of this machine hears of nothing more by itself."""
        assert self.server is not None
        self.lag.behind[machine.host.ip] = now_of(self.server.core.database)

    def catches_up(self, machine: Machine) -> None:
        """It does."""

        async def hear() -> None:
            assert self.server is not None
            self.lag.catch_up(machine.host.ip, self.server.core)
            self.server.act()

        _ = self.machine.spawn(hear())

    async def _serve(self, machine: Machine) -> None:
        journal = SimulatedJournal(self.ledger, machine.clock, machine.random.stream("journal"))
        doors = Doors(machine.clock, machine.random, machine.network, journal)
        server = RefusingZookeeperServer(doors, self._settings, self.refusals, self.lag)
        await server.open(ADDRESS)
        self.server = server
        await server.serve()
