"""`odradek zookeeper serve`: the embedded ZooKeeper server in a process of its own."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from odradek.ensemble.server import Doors, NewContext, ZookeeperServer
from odradek.memory import begin_start, calm_collector
from odradek.ports import Address
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.descriptors import use_all_descriptors
from odradek.runtime.doors.journal import SqliteJournal
from odradek.runtime.doors.network import SystemNetwork
from odradek.runtime.loop import run_server
from odradek.zookeeper.server.settings import ServerSettings


def run_zookeeper(
    directory: Path,
    where: tuple[Address, NewContext | None],
    settings: ServerSettings,
    announce: Callable[[Address], None],
) -> None:
    """Serves until the process is asked to end; an error of the journal ends it with a reason."""
    with suppress(asyncio.CancelledError):
        run_server(_serve(directory, where, settings, announce))


async def _serve(
    directory: Path,
    where: tuple[Address, NewContext | None],
    settings: ServerSettings,
    announce: Callable[[Address], None],
) -> None:
    begin_start()
    use_all_descriptors()
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    journal = SqliteJournal(directory)
    try:
        doors = Doors(SystemClock(), SystemRandom(), SystemNetwork(), journal)
        server = ZookeeperServer(doors, settings)
        await server.open(*where)
        calm_collector()
        announce(server.address)
        await server.serve()
    finally:
        journal.close()
