"""Somebody at a machine of his own, whom no fault strikes: tools for ZooKeeper and for brokers."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final

from odradek.client.cluster import ClientDeps, Cluster
from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.errors import BrokerError
from odradek.model.units import SECOND, Millis
from odradek.ports import Address
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.stage.zookeeper_machine import ADDRESS
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.session import Session, SessionSettings

TOOLS: Final = "tools"
SESSION_TIMEOUT: Final = Millis(6 * SECOND)
PATIENCE_SECONDS: Final = 30


async def _for_ever(machine: Machine) -> None:
    del machine
    await asyncio.get_running_loop().create_future()


def _ignored(news: News) -> None:
    """Whether it is connected is asked when there is something to do."""


class Hands:
    """Does what it is told, once it can; what is refused is given up."""

    def __init__(self, world: World, bootstrap: Sequence[Address]) -> None:
        self._machine = world.machine(TOOLS)
        self._bootstrap = list(bootstrap)

    def in_tree(self, work: Callable[[ZooKeeperClient], Awaitable[object]]) -> None:
        """Something in a session of its own."""
        self._begin(self._in_session(work))

    def in_cluster(self, work: Callable[[Cluster], Awaitable[object]]) -> None:
        """Something as a client of the brokers."""
        self._begin(self._as_client(work))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        if not self._machine.running:
            self._machine.start(_for_ever)
        _ = self._machine.spawn(self._patiently(work))

    async def _patiently(self, work: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await work
        except (BrokerError, TimeoutError):
            return

    async def _in_session(self, work: Callable[[ZooKeeperClient], Awaitable[object]]) -> None:
        machine = self._machine
        session = Session(
            Ensemble((ADDRESS,), ""), machine.random, SessionSettings(SESSION_TIMEOUT)
        )
        client = ZooKeeperClient(session, machine.network, machine.clock, _ignored)
        running = machine.spawn(client.run())
        client.begin()
        try:
            await client.connected()
            await work(client)
            await client.close()
        finally:
            running.cancel()

    async def _as_client(self, work: Callable[[Cluster], Awaitable[object]]) -> None:
        deps = ClientDeps(self._machine.network, self._machine.clock)
        cluster = Cluster(deps, self._bootstrap, TOOLS)
        try:
            await work(cluster)
        finally:
            cluster.close()
