"""A broker ends: from above, and no longer than it says itself.

What it leads goes to others first, as long as there is somebody who could take it: without
ZooKeeper nobody is elected, so once that has been away for a moment nothing is waited for. Then no
request of a client is begun any more, and who waits is answered, to go elsewhere. Leaderships end,
everything is made durable, and the last that goes is the session, by which others learn of it.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from odradek.broker.control.controlled_shutdown import give_up_leaderships
from odradek.broker.parts import Parts
from odradek.broker.timers import Timer
from odradek.model.units import SECOND, Millis
from odradek.zookeeper.client.states import Status

REQUESTS_PATIENCE: Final = Millis(SECOND)
"""How long requests that are under way may take to be answered by what they wait for."""
ZOOKEEPER_PATIENCE: Final = Millis(2 * SECOND)
"""How long ZooKeeper may be away before no broker is thought to take over."""
ZOOKEEPER_LOOK: Final = Millis(100)
REQUESTS_LOOK: Final = Millis(10)

log = structlog.get_logger()


class Stopping:
    """The end of one broker; a line each second says what it waits for."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._services = parts.services
        self._session = parts.ground.session
        self._clock = parts.services.doors.clock
        self._begun = self._clock.monotonic()
        self._waits_for = ""
        self._renewal: Timer

    async def run(self) -> None:
        """Returns once everything is closed but the connections of clients."""
        services, dispatch, session = self._services, self._parts.dispatch, self._session
        log.info("broker.stopping", broker=services.broker_id)
        self._remind_later()
        self._waits_for = "others to take over"
        await self._while_zookeeper_is_there(self._hand_over())
        self._waits_for = "requests"
        services.socket_server.close_listeners()
        dispatch.close()
        services.cluster.close()
        services.groups.close()
        services.transactions.close()
        await self._finish_requests()
        dispatch.give_up()
        services.replica_fetchers.close()
        session.stop_registering()
        self._waits_for = "log dirs"
        await services.replicas.close(services.cluster.broker_epoch)
        services.controller.resign()
        self._waits_for = "the end of the ZooKeeper session"
        with suppress(TimeoutError):
            await session.close()

    def _remind_later(self) -> None:
        """Once a second, until all timers are closed."""
        self._services.timers.at(Millis(self._clock.monotonic() + SECOND), self._remind)

    def _remind(self) -> None:
        millis = self._clock.monotonic() - self._begun
        log.info("broker.stop_waits", waits_for=self._waits_for, millis=millis)
        self._remind_later()

    # Who takes over

    async def _hand_over(self) -> None:
        services = self._services
        config = services.settings.broker
        await give_up_leaderships(services.cluster, services.to_controller, config)
        await services.controller.leave()

    async def _while_zookeeper_is_there(self, work: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(ZOOKEEPER_PATIENCE / SECOND) as patience:
                self._renew(patience)
                await work
        except TimeoutError:
            log.warning("controlled_shutdown.failed", error="ZooKeeper is away")
        finally:
            self._renewal.cancel()

    def _renew(self, patience: asyncio.Timeout) -> None:
        """It begins anew as long as ZooKeeper is there."""
        if patience.expired():
            return
        if self._session.client.status is Status.CONNECTED:
            now = asyncio.get_running_loop().time()
            patience.reschedule(now + ZOOKEEPER_PATIENCE / SECOND)
        at = Millis(self._clock.monotonic() + ZOOKEEPER_LOOK)
        self._renewal = self._services.timers.at(at, partial(self._renew, patience))

    # Who waits

    async def _finish_requests(self) -> None:
        """Those that only wait for more to read are not waited for."""
        server, fetches = self._services.socket_server, self._services.fetches
        give_up = self._clock.monotonic() + REQUESTS_PATIENCE
        while (now := self._clock.monotonic()) < give_up:
            if server.open_requests <= fetches.waiting:
                return
            await self._clock.sleep_until(Millis(now + REQUESTS_LOOK))
