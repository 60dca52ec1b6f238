"""A process that has imported everything and forks a ZooKeeper server whenever it is asked to.

`python -m tests.crash.zookeeper_nursery` reads directories, one a line, and for each prints the
process and the port of a server that keeps its journal there. So a start costs milliseconds, and
hundreds of lives and deaths fit into a test. Snapshots are taken far more often than in
production, so that many a death meets one half done.
"""

import asyncio
import gc
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Final

import structlog

from odradek.ensemble import server as shell
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.journal import SqliteJournal
from odradek.runtime.doors.network import SystemNetwork
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree import snapshot

SNAPSHOT_ENTRIES: Final = 40
NODES_PER_ROW: Final = 2


def main() -> None:
    """Until nobody asks any more."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    signal.signal(signal.SIGCHLD, _bury)
    gc.freeze()
    for line in sys.stdin:
        if not os.fork():
            try:
                asyncio.run(_live(Path(line.strip())))
            finally:
                print(0, 0, flush=True)  # stillborn; the traceback says why


async def _live(directory: Path) -> None:
    snapshot.NODES_PER_ROW = NODES_PER_ROW  # type: ignore[misc] # more pieces than in production
    journal = SqliteJournal(directory)
    doors = shell.Doors(SystemClock(), SystemRandom(), SystemNetwork(), journal)
    server = shell.ZookeeperServer(doors, ServerSettings(snapshot_entries=SNAPSHOT_ENTRIES))
    await server.open(("127.0.0.1", 0))
    print(os.getpid(), server.address[1], flush=True)
    await server.serve()


def _bury(_number: int, _frame: FrameType | None) -> None:
    """Reaps the dead."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
