"""A machine that runs the product's broker, with two log dirs.

Alone it is called `broker`, and has a ZooKeeper of its own; one of several is called by its number,
unless it has a `name`, and uses the ZooKeeper of the machine `zookeeper`. Everything of it is the
product's but the doors. What outlives a life stays here: the disks with the machine, the journal's
ledger, and what the operator wrote into the settings.
"""

from collections.abc import Callable, Mapping
from typing import Final

from odradek.broker.broker import Broker
from odradek.broker.control.registration import CannotCoordinate
from odradek.broker.doors import Dir, Doors
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.findings import Given
from odradek.ensemble.server import JournalFailed
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ADDRESS
from odradek.storage.errors import AllDirsFailed

BROKER: Final = "broker"
PORT: Final = 9_092
OTHER_PORT: Final = 9_192
"""Where a broker listens whose address was changed."""
ZOOKEEPER_PORT: Final = 2_181
DISKS: Final = ("disk-a", "disk-b")
THREE_DISKS: Final = (*DISKS, "disk-c")
SETTINGS: Final[Mapping[str, str]] = {
    "log.dirs": ",".join(DISKS),
    "admin.listener": "",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "zookeeper.session.timeout.ms": "6000",
    "log.retention.check.interval.ms": "7000",
    "log.flush.offset.checkpoint.interval.ms": "5000",
    "log.segment.delete.delay.ms": "3000",
    "log.cleaner.backoff.ms": "3000",
    "offsets.topic.segment.bytes": "4096",
}
MAY_STOP: Final = (AllDirsFailed, CannotCoordinate, JournalFailed)
"""Why a broker stops by itself: it has lost what it cannot serve without."""


def name_of(number: int | None) -> str:
    """Of the machine of a broker; None: there is but one."""
    return BROKER if number is None else f"{BROKER}-{number}"


def _settings_of(number: int | None) -> dict[str, str]:
    said = {"broker.id": str(number or 1)}
    if number is not None:
        host, port = ADDRESS
        said["zookeeper.connect"] = f"{host}:{port}"
    return said


def _nobody() -> None:
    """Who waits for it looks for himself."""


class BrokerMachine:
    """The machine of one broker, through its lives."""

    def __init__(
        self,
        world: World,
        settings: Mapping[str, str] | None = None,
        *,
        number: int | None = None,
        name: str = "",
        on_ready: Callable[[], None] = _nobody,
        on_exit: Callable[[], None] = _nobody,
    ) -> None:
        self.machine = world.machine(name or name_of(number))
        self.ledger = Ledger()
        self.workers: dict[str, SimulatedWorker] = {}  # of this life
        self.broker: Broker | None = None  # of this life
        self._on_ready, self._on_exit = on_ready, on_exit
        self._world = world
        self.disks: tuple[str, ...] = DISKS  # that its settings name
        self.port = PORT  # where its next life listens
        self.absence = 0  # microseconds, behind an end of its own
        self._said = {**SETTINGS, **_settings_of(number), **(settings or {})}

    @property
    def serves(self) -> bool:
        """Whether it accepts traffic."""
        return self.machine.running and self.broker is not None and self.broker.is_ready

    @property
    def is_whole(self) -> bool:
        """Whether all of its disks serve."""
        assert self.broker is not None
        return not self.broker.services_of_this_life.replicas.dirs.some_failed

    def _config(self) -> BrokerConfig:
        listener = f"PLAINTEXT://{self.machine.name}:{self.port}"
        said = {"listeners": listener, **self._said, "log.dirs": ",".join(self.disks)}
        return read(Layers(static={it: Given(text, "here") for it, text in said.items()}))[0]

    def drop_disk(self, disk: str) -> None:
        """From the settings of its next life."""
        self.disks = tuple(it for it in self.disks if it != disk)

    def stop(self, absence: int = 0) -> None:
        """In good order, if it has got so far; the next start waits for so long."""
        if self.broker is not None:
            self.absence = absence
            self.broker.stop()

    def start(self) -> None:
        """A life; it will be ready some time later."""
        self.broker = None
        self.machine.start(self._serve, self._exited)

    async def _serve(self, machine: Machine) -> None:
        faults = {name: machine.disk(name).faults for name in self.disks}
        self.workers = {name: SimulatedWorker(faults=faults[name]) for name in self.disks}
        dirs = tuple(
            Dir(machine.disk(name), worker, SimulatedWorker(worker, faults[name]))
            for name, worker in self.workers.items()
        )
        journal = SimulatedJournal(self.ledger, machine.clock, machine.random.stream("journal"))
        host = self.machine.name
        doors = Doors(machine.clock, machine.random, machine.network, dirs, host, lambda: journal)
        self.broker = Broker(self._config(), doors)
        await self.broker.serve(self._on_ready)

    def _exited(self, error: BaseException | None) -> None:
        """It may stop when it is told to, or has no disk left; all else is a finding."""
        rest = error
        if isinstance(error, BaseExceptionGroup):
            rest = error.split(MAY_STOP)[1]
        if rest is None or isinstance(rest, MAY_STOP):
            self._on_exit()
            self.absence = 0
        else:
            self._world.loop.fail(rest)
