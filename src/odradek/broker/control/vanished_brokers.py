"""Brokers whose process has just ended, until the controller has decided who leads instead.

A client that loses its leader asks for metadata at once, some tens of milliseconds before another
leader is elected. Told of the old one it would ask again only after its back-off, which with
librdkafka grows to a second: longer than everything that the cluster does. So an answer that would
name such a leader waits for the decision; not for long, because without ZooKeeper none is made.
"""

import asyncio
from functools import partial
from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.jobs import begin
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.peers.connection import Connection, OnEnd
from odradek.peers.errors import ClosedByPeer, ConnectionGone, ConnectionRefused
from odradek.ports import Address, Clock, Network

DECISION_MS_MAX: Final = Millis(500)
"""For how long an answer waits at most."""


class VanishedBrokers:
    """Hears how connections to other brokers end, and asks whether a process is there still."""

    def __init__(
        self, cluster: MetadataCache, doors: tuple[Network, Clock], tasks: asyncio.TaskGroup
    ) -> None:
        self._cluster = cluster
        self._network, self._clock = doors
        self._tasks = tasks
        cluster.watchers.append(self._on_image)

    def watch(self, broker: BrokerId, at: Address) -> OnEnd:
        """What a connection to this broker calls at its end."""
        return partial(self._on_end, broker, at)

    def _on_end(self, broker: BrokerId, at: Address, reason: ConnectionGone) -> None:
        if isinstance(reason, ClosedByPeer) and broker not in self._cluster.vanished:
            self._cluster.on_vanished(broker)
            if not begin(self._tasks, self._await_decision(broker, at)):
                self._cluster.on_vanished_over(broker)

    async def _await_decision(self, broker: BrokerId, at: Address) -> None:
        end = Millis(self._clock.monotonic() + DECISION_MS_MAX)
        try:
            if await self._is_gone(at):
                await self._clock.sleep_until(end)
        finally:
            self._cluster.on_vanished_over(broker)

    async def _is_gone(self, at: Address) -> bool:
        """A process that only closed a connection accepts another one."""
        connection = Connection(self._clock, at, f"broker-{self._cluster.me}")
        try:
            await connection.open(self._network, DECISION_MS_MAX)
        except ConnectionRefused:
            return True
        except ConnectionGone:
            return False
        connection.close()
        return False

    def _on_image(self, old: ClusterImage, new: ClusterImage) -> None:
        """A next life of it may lead."""
        for broker in tuple(self._cluster.vanished):
            known = new.brokers.get(broker)
            if known is not None and known != old.brokers.get(broker):
                self._cluster.on_vanished_over(broker)
