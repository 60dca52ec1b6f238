"""`odradek serve`: one broker in a process of its own, on the real world."""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import get_ident

from odradek.broker.broker import Broker
from odradek.broker.doors import Dir, Doors
from odradek.config.broker import BrokerConfig
from odradek.config.derived import log_dirs, zookeeper_data_dir
from odradek.config.rows import network as rows
from odradek.memory import begin_start, calm_collector
from odradek.ports import Journal
from odradek.runtime.doors.appended_file import AppendedFile
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.descriptors import use_all_descriptors
from odradek.runtime.doors.disk import SystemDisk
from odradek.runtime.doors.disk_counters import disk_counters
from odradek.runtime.doors.in_thread import in_thread
from odradek.runtime.doors.journal import SqliteJournal, journal_directory
from odradek.runtime.doors.network import Buffers, SystemNetwork
from odradek.runtime.doors.small_file import read_small_file
from odradek.runtime.doors.worker import ThreadWorker
from odradek.runtime.loop import run_server
from odradek.runtime.process_figures import process_figures
from odradek.security.https import Https

Announce = Callable[[Broker], None]


def run_broker(config: BrokerConfig, announce: Announce) -> None:
    """Serves until the process is asked to end; a second time, it ends at once."""
    try:
        run_server(_serve(config, announce))
    except BaseExceptionGroup as group:
        raise _first(group) from None


async def _serve(config: BrokerConfig, announce: Announce) -> None:
    begin_start()
    use_all_descriptors()
    journals: list[SqliteJournal] = []

    def journal() -> Journal:
        opened = SqliteJournal(journal_directory(Path(zookeeper_data_dir(config))))
        journals.append(opened)
        return opened

    dirs = tuple(
        Dir(
            SystemDisk(it, get_ident()),
            ThreadWorker(f"log dir {it}"),
            ThreadWorker(f"background {it}"),
        )
        for it in log_dirs(config)
    )
    network = SystemNetwork(
        Buffers(
            config[rows.SOCKET_SEND_BUFFER_BYTES],
            config[rows.SOCKET_RECEIVE_BUFFER_BYTES],
            config[rows.SOCKET_LISTEN_BACKLOG_SIZE],
        )
    )
    clock = SystemClock()
    https = Https(clock.monotonic)
    doors = Doors(
        clock,
        SystemRandom(),
        network,
        dirs,
        socket.gethostname(),
        journal,
        process_figures,
        disk_counters,
        read_small_file,
        https.read,
        AppendedFile,
        https.post,
        in_thread,
    )
    broker = Broker(config, doors)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, partial(_on_signal, broker, number))
    try:
        await broker.serve(partial(_ready, broker, announce))
    finally:
        for opened in journals:
            opened.close()
        for each in dirs:
            with closing(each.worker), closing(each.background):
                pass


def _ready(broker: Broker, announce: Announce) -> None:
    calm_collector()
    announce(broker)


def _on_signal(broker: Broker, number: int) -> None:
    """The second one is left to the system."""
    asyncio.get_running_loop().remove_signal_handler(number)
    broker.stop()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first: the rest follows from it."""
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
