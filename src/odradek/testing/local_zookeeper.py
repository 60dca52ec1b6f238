"""The ZooKeeper of a cluster of a test, in memory, on a thread of its own."""

import asyncio
import threading
from typing import Final

from odradek.ensemble.server import Doors, ZookeeperServer
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.ports import Address
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.testing.faulty_network import MEMBERS, FaultyNetwork, Links
from odradek.testing.journal import MemoryJournal
from odradek.testing.loop_thread import LoopThread
from odradek.zookeeper.server.settings import ServerSettings

ZOOKEEPER: Final = "zookeeper"
START_SECONDS: Final = 30.0


class LocalZooKeeper:
    """It serves until the cluster ends."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._server: ZookeeperServer | None = None
        self._listens = threading.Event()
        self.thread = LoopThread(ZOOKEEPER, self._serve)
        self._listens.wait(START_SECONDS)
        if self.thread.failure is not None:
            raise self.thread.failure

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._server is not None
        return self._server.address

    async def _serve(self) -> None:
        network = FaultyNetwork(ZOOKEEPER, self._links, [MEMBERS])
        doors = Doors(SystemClock(), SystemRandom(), network, MemoryJournal())
        server = ZookeeperServer(doors, ServerSettings())
        try:
            await server.open(("127.0.0.1", 0))
            self._server = server
            self._listens.set()
            await server.serve()
        finally:
            self._listens.set()
            network.end()
            await asyncio.sleep(0)

    def expire(self, broker: int) -> None:
        """Ends the session by which a broker is registered; its client may be alive."""

        async def end() -> None:
            assert self._server is not None
            database = self._server.core.database
            node = database.tree.nodes.get(BrokerZnode.path(BrokerId(broker)))
            session = None if node is None else database.sessions.open.get(node.owner)
            if session is not None:
                self._server.core.expire(session)
                self._server.act()

        self.thread.call(end(), START_SECONDS)

    def close(self) -> None:
        """With the last broker gone."""
        self.thread.cancel()
        self.thread.join()
