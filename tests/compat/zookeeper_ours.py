"""Our own ZooKeeper server for clients that know nothing of it: on a thread and loop of its own."""

import asyncio
import threading
from pathlib import Path

from odradek.ensemble.server import Doors, ZookeeperServer
from odradek.model.units import Millis
from odradek.ports import Address
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.journal import SqliteJournal
from odradek.runtime.doors.network import SystemNetwork
from odradek.zookeeper.server.settings import ServerSettings

SETTINGS = ServerSettings(  # as `RealZookeeper` has them
    tick_time=Millis(200),
    session_timeout_max=Millis(60_000),
    connections_per_host_max=0,
    four_letter_words=frozenset({"*"}),
    container_interval=Millis(3_600_000),
)


class OurZookeeper:
    """Runs from `start` to `stop`; its data stays in the directory."""

    def __init__(self, directory: Path, settings: ServerSettings = SETTINGS) -> None:
        self.address: Address = ("127.0.0.1", 0)
        self._directory = directory
        self._settings = settings
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._serving: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Returns once it listens; on the same port as before, if there was one."""
        self._listening.clear()
        self._thread = threading.Thread(target=self._live, name="our ZooKeeper", daemon=True)
        self._thread.start()
        self._listening.wait(20)
        assert self._error is None, self._error

    def stop(self) -> None:
        """Asks it to go, and waits."""
        assert self._loop is not None
        assert self._serving is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._serving.cancel)
        self._thread.join(20)
        assert self._error is None, self._error

    def _live(self) -> None:
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - the test's thread shall raise it
            self._error = error
        finally:
            self._listening.set()

    async def _serve(self) -> None:
        journal = SqliteJournal(self._directory)
        doors = Doors(SystemClock(), SystemRandom(), SystemNetwork(), journal)
        server = ZookeeperServer(doors, self._settings)
        try:
            await server.open(self.address)
            self.address = server.address
            self._loop = asyncio.get_running_loop()
            self._serving = asyncio.current_task()
            self._listening.set()
            await server.serve()
        finally:
            journal.close()
