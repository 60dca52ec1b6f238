"""Notices at once that the controller's process has died, so that another is elected.

The controller is the broker that UpdateMetadata named last. A connection to it is kept open for
nothing but its end (`peers.watched_connection`). ZooKeeper's session time-out is the fall-back, for
machines that vanish.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.peers.watched_connection import WatchedConnection
from odradek.ports import Address, Clock, Network

OnGone = Callable[[BrokerId, BrokerEpoch], None]

log = structlog.get_logger()


class _Watched(NamedTuple):
    """Who is watched, and where."""

    broker: BrokerId
    epoch: BrokerEpoch
    address: Address


class ControllerWatch:
    """Watches whichever broker is the controller, unless it is this one."""

    def __init__(
        self, cluster: MetadataCache, doors: tuple[Network, Clock], listener: str, on_gone: OnGone
    ) -> None:
        """`listener` is where brokers talk among themselves."""
        self._cluster = cluster
        self._doors = doors
        self._listener = listener
        self._on_gone = on_gone
        self._changed = asyncio.Event()
        self._changed.set()
        cluster.watchers.append(self._look)

    def _look(self, _old: ClusterImage, _new: ClusterImage) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        watching: asyncio.Task[None] | None = None
        watched: _Watched | None = None
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._changed.wait()
                self._changed.clear()
                wanted = self._controller()
                if wanted == watched:
                    continue
                if watching is not None:
                    watching.cancel()
                watched = wanted
                watching = None if wanted is None else tasks.create_task(self._watch(wanted))

    def _controller(self) -> _Watched | None:
        image = self._cluster.image
        if image.controller is None or image.controller == self._cluster.me:
            return None
        broker = image.brokers.get(image.controller)
        at = broker.endpoint(self._listener) if broker is not None else None
        if broker is None or at is None:
            return None
        return _Watched(broker.id, broker.epoch, (at.host, at.port))

    async def _watch(self, watched: _Watched) -> None:
        def gone() -> None:
            log.warning("controller.process_is_gone", controller=watched.broker)
            self._on_gone(watched.broker, watched.epoch)

        name = f"broker-{self._cluster.me}-watch"
        await WatchedConnection(self._doors, watched.address, name, gone).keep()
