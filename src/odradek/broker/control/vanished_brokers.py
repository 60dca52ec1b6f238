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
from odradek.peers.errors import (
    ClosedByPeer,
    ConnectionGone,
    ConnectionRefused,
    NotAuthenticated,
    TimedOut,
)
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.api_versions import ApiVersionsRequest

DECISION_MS_MAX: Final = Millis(500)
"""For how long an answer waits at most."""
PAUSE: Final = Millis(5)
"""Before a process that has taken a connection and closed it is asked for the first time again.

Each pause is twice the one before: it may live, and have no room for more connections.
"""


class VanishedBrokers:
    """Hears how connections to other brokers end, and asks whether a process is there still."""

    def __init__(
        self,
        cluster: MetadataCache,
        doors: tuple[Network, Clock],
        listener: str,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`listener` is where brokers talk among themselves."""
        self._cluster = cluster
        self._network, self._clock = doors
        self._listener = listener
        self._tasks = tasks
        self._deaths: dict[BrokerId, object] = {}  # the one for which each has vanished

    def watch(self, broker: BrokerId, at: Address) -> OnEnd:
        """What a connection to this broker calls at its end."""
        return partial(self._on_end, broker, at)

    def on_follower_gone(self, broker: BrokerId) -> None:
        """The connection has ended by which this broker fetched from us.

        A process that is killed ends those first that it has made itself (`runtime.descriptors`).
        """
        registered = self._endpoint(broker)
        if registered is not None:
            self._note(broker, registered)

    def _endpoint(self, broker: BrokerId) -> Address | None:
        """Where its present life is."""
        registered = self._cluster.image.brokers.get(broker)
        endpoint = None if registered is None else registered.endpoint(self._listener)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    def _on_end(self, broker: BrokerId, at: Address, reason: ConnectionGone) -> None:
        registered = self._endpoint(broker)
        if isinstance(reason, ClosedByPeer) and registered in {None, at}:
            self._note(broker, at)

    def _note(self, broker: BrokerId, at: Address) -> None:
        if broker not in self._cluster.vanished:
            death = self._deaths[broker] = object()
            self._cluster.on_vanished(broker)
            if not begin(self._tasks, self._await_decision(broker, at, death)):
                self._over(broker, death)

    async def _await_decision(self, broker: BrokerId, at: Address, death: object) -> None:
        end = Millis(self._clock.monotonic() + DECISION_MS_MAX)
        try:
            if await self._is_gone(at, end):
                await self._clock.sleep_until(end)
        finally:
            self._over(broker, death)

    def _over(self, broker: BrokerId, death: object) -> None:
        """Unless its next life has died meanwhile."""
        if self._deaths.get(broker) is death:
            del self._deaths[broker]
            self._cluster.on_vanished_over(broker)

    async def _is_gone(self, at: Address, end: Millis) -> bool:
        """A process that only closed a connection answers on another one.

        One that is killed may take it still: its kernel closes what it had open one by one, and
        this may come before what it listened on.
        """
        pause = PAUSE
        while (left := self._left(end)) > 0:
            connection = Connection(self._clock, at, f"broker-{self._cluster.me}")
            try:
                await connection.open(self._network, left)
                await connection.ask(ApiVersionsRequest(), 0, timeout_ms=self._left(end))
            except ConnectionRefused:
                return True
            except (TimedOut, NotAuthenticated):
                return False
            except ConnectionGone:
                await self._clock.sleep_until(min(Millis(self._clock.monotonic() + pause), end))
                pause = Millis(2 * pause)
            else:
                return False
            finally:
                connection.close()
        return False

    def _left(self, end: Millis) -> Millis:
        return Millis(end - self._clock.monotonic())

    def on_image(self, old: ClusterImage, new: ClusterImage) -> None:
        """A next life of it may lead."""
        for broker in tuple(self._cluster.vanished):
            known = new.brokers.get(broker)
            if known is not None and known != old.brokers.get(broker):
                self._cluster.on_vanished_over(broker)
