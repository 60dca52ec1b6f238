"""Notices at once that the controller's process has died, so that another is elected.

The controller is the broker that UpdateMetadata named last, or ZooKeeper names: one that dies
before it has told anybody is noticed, too, and so is one for which the others abstain. A
connection to each is kept open for nothing but its end (`peers.watched_connection`), and tried
after that, so that its next life is noticed. ZooKeeper's session time-out is the fall-back, for
machines that vanish.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId
from odradek.peers.watched_connection import WatchedConnection
from odradek.ports import Address, Clock, Network

log = structlog.get_logger()


class OnProcess(NamedTuple):
    """Who is told of the process of a broker."""

    gone: Callable[[BrokerId], None]
    there: Callable[[BrokerId], None]


class _Watched(NamedTuple):
    """Who is watched, and where."""

    broker: BrokerId
    address: Address


class ControllerWatch:
    """Watches whichever brokers are the controller or shall be, unless it is this one."""

    def __init__(
        self,
        cluster: MetadataCache,
        doors: tuple[Network, Clock],
        listener: str,
        on_process: OnProcess,
    ) -> None:
        """`listener` is where brokers talk among themselves."""
        self._cluster = cluster
        self._doors = doors
        self._listener = listener
        self._on_process = on_process
        self._also: Collection[BrokerId] = ()
        self._changed = asyncio.Event()
        self._changed.set()

    def on_image(self, _old: ClusterImage, _new: ClusterImage) -> None:
        """Another may be the controller, or be somewhere else."""
        self._changed.set()

    def also(self, brokers: Collection[BrokerId]) -> None:
        """These, too, whatever UpdateMetadata says."""
        self._also = brokers
        self._changed.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        watching: dict[_Watched, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._changed.wait()
                self._changed.clear()
                wanted = self._wanted()
                for watched in [it for it in watching if it not in wanted]:
                    watching.pop(watched).cancel()
                for watched in wanted:
                    if watched not in watching:
                        watching[watched] = tasks.create_task(self._watch(watched))

    def _wanted(self) -> list[_Watched]:
        image = self._cluster.image
        found: dict[_Watched, None] = {}
        for number in (image.controller, *self._also):
            if number is None or number == self._cluster.me:
                continue
            broker = image.brokers.get(number)
            at = broker.endpoint(self._listener) if broker is not None else None
            if broker is not None and at is not None:
                found[_Watched(broker.id, (at.host, at.port))] = None
        return list(found)

    async def _watch(self, watched: _Watched) -> None:
        def gone() -> None:
            log.warning("controller.process_is_gone", controller=watched.broker)
            self._on_process.gone(watched.broker)

        def there() -> None:
            self._on_process.there(watched.broker)

        name = f"broker-{self._cluster.me}-watch"
        await WatchedConnection(self._doors, watched.address, name, gone, on_there=there).keep()
