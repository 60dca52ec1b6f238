"""One broker of a cluster in the test's process, through its lives.

What outlives a life: the directories, the faults of the disks, and the ports.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any, Final, TypeVar

from odradek.broker.broker import Broker
from odradek.broker.doors import Dir, Doors
from odradek.config.broker import BrokerConfig
from odradek.config.findings import Given, Severity
from odradek.config.sources import examine
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.in_thread import in_thread
from odradek.runtime.doors.worker import ThreadWorker
from odradek.runtime.process_figures import process_figures
from odradek.sim.doors.disk_faults import DiskFaults
from odradek.testing.brokers import CLIENT, HOST
from odradek.testing.errors import WrongCall
from odradek.testing.faulty_disk import FaultyDisk
from odradek.testing.faulty_network import CLIENTS, MEMBERS, FaultyNetwork, Links
from odradek.testing.journal import MemoryJournal
from odradek.testing.loop_thread import LoopThread

T = TypeVar("T")

INSIDE: Final = "BROKERS"
"""The listener by which brokers find each other: a cut tells them from clients."""
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
FREE: Final = 0


class Life:
    """A broker from its start to its end."""

    def __init__(self, member: "Member", config: BrokerConfig) -> None:
        self._member, self._config = member, config
        self.disks: list[FaultyDisk] = []
        self.network: FaultyNetwork
        self.broker: Broker
        self.is_paused = False
        self._has_broker = False
        self._begun = threading.Event()  # it has one, or has ended
        self._is_ready = threading.Event()  # or it has ended
        self.thread = LoopThread(f"broker {member.number}", self._serve)

    @property
    def serves(self) -> bool:
        """Whether it is open for clients."""
        return self._has_broker and self.thread.runs and self.broker.is_ready

    def await_start(self) -> None:
        """Raises why it did not."""
        self._is_ready.wait(START_SECONDS)
        if not self.serves:
            number = self._member.number
            raise WrongCall(f"broker {number} did not start: {self.thread.failure}")

    async def _serve(self) -> None:
        member = self._member
        workers: list[ThreadWorker] = []
        self.network = FaultyNetwork(member.number, member.links, [CLIENTS, MEMBERS])
        try:
            dirs = tuple(self._dir(it, workers) for it in range(len(member.dirs)))
            doors = Doors(
                SystemClock(),
                SystemRandom(),
                self.network,
                dirs,
                HOST,
                MemoryJournal,
                process_figures,
                in_thread=in_thread,
            )
            self.broker = Broker(self._config, doors)
            self._has_broker = True
            self._begun.set()
            await self.broker.serve(self._ready)
        finally:
            self.network.end()
            for disk in self.disks:
                disk.end()
            for worker in workers:
                worker.close()
            for worker in workers:
                worker.join(STOP_SECONDS)
            for disk in self.disks:
                disk.close()
            await asyncio.sleep(0)
            self._begun.set()
            self._is_ready.set()

    def _dir(self, index: int, workers: list[ThreadWorker]) -> Dir:
        member = self._member
        path = str(member.dirs[index])
        disk = FaultyDisk(path, get_ident(), member.faults[index])
        self.disks.append(disk)
        pair = ThreadWorker(f"log dir {path}"), ThreadWorker(f"background {path}")
        workers += pair
        return Dir(disk, *pair)

    def _ready(self) -> None:
        self._member.ports = {
            name: port for name, (_, port) in self.broker.socket_server.addresses.items()
        }
        self._is_ready.set()

    def kill(self) -> None:
        """Nothing of it reaches a disk or a socket from now on."""
        self._begun.wait(START_SECONDS)
        self.network.is_over = True
        for disk in self.disks:
            disk.end()
        self.thread.soon(self.network.end)
        self.thread.cancel()
        self.thread.join()

    def stop(self) -> None:
        """In good order."""
        self._begun.wait(START_SECONDS)
        self.thread.soon(self.broker.stop)
        self.thread.join()


class Member:
    """One broker of a cluster."""

    def __init__(
        self, number: int, directory: Path, settings: Mapping[str, str], links: Links
    ) -> None:
        self.number = number
        self.links = links
        self.dirs = [directory / f"broker-{number}" / it for it in ("disk-0", "disk-1")]
        self.faults = [DiskFaults() for _ in self.dirs]
        self.ports = {CLIENT: FREE, INSIDE: FREE}
        self._settings = settings
        self.life: Life | None = None
        for path in self.dirs:
            path.mkdir(parents=True)

    @property
    def is_alive(self) -> bool:
        """Whether it has a life, and serves in it."""
        return self.life is not None and self.life.serves

    @property
    def answers(self) -> bool:
        """Whether it is alive and does not stand still."""
        return self.is_alive and not self.living.is_paused

    @property
    def living(self) -> Life:
        """This life; refused where there is none."""
        if self.life is None or not self.life.thread.runs:
            raise WrongCall(f"broker {self.number} does not run")
        return self.life

    def config(self) -> BrokerConfig:
        """What it is started with. Once it has been there it keeps its ports."""
        listeners = ",".join(f"{name}://{HOST}:{port}" for name, port in self.ports.items())
        said = {
            **self._settings,
            "broker.id": str(self.number),
            "listeners": listeners,
            "log.dirs": ",".join(map(str, self.dirs)),
        }
        given = {name: Given(text, "the test") for name, text in said.items()}
        config, findings = examine(given)
        errors = [str(it) for it in findings if it.severity is Severity.ERROR]
        if errors:
            raise WrongCall("; ".join(errors))
        return config

    def launch(self) -> None:
        """Begins a life."""
        if self.life is not None and self.life.thread.runs:
            raise WrongCall(f"broker {self.number} runs already")
        self.life = Life(self, self.config())

    def await_start(self) -> None:
        """Returns when clients are served."""
        self.living.await_start()

    def on_loop(self, work: Callable[[Broker], Coroutine[Any, Any, T]]) -> T:
        """What the broker itself does, on its loop."""
        life = self.living
        return life.thread.call(work(life.broker), START_SECONDS)
