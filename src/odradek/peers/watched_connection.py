"""A connection that is kept open, so that its end tells when a process has died.

When the other side closes it, a fresh one is tried at once. If that is refused, no process is there
any more: its kernel closed the connection, and the port is closed. If it is accepted, the other
side only closed a connection. A time-out, of a request or of an attempt, proves nothing. Neither
does a refusal before anything was connected: a broker registers before it listens.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from odradek.model.units import SECOND, Millis
from odradek.peers.connection import Connection
from odradek.peers.errors import ClosedByPeer, ConnectionGone, ConnectionRefused
from odradek.ports import Address, Clock, Network

PAUSE_MIN: Final = Millis(10)
PAUSE_MAX: Final = Millis(250)
SETTLED: Final = Millis(1 * SECOND)
"""A connection that lasted so long is made again without a pause."""
assert PAUSE_MIN < PAUSE_MAX < SETTLED, "a process that hangs up at once is asked ever more seldom"

log = structlog.get_logger()


class WatchedConnection:
    """To one address. `on_gone` is called once for each connection that a refusal followed.

    `on_there` is called whenever there is a connection.
    """

    def __init__(
        self,
        doors: tuple[Network, Clock],
        address: Address,
        client_id: str,
        on_gone: Callable[[], None],
        *,
        on_there: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self._network, self._clock = doors
        self._client_id = client_id
        self._on_gone = on_gone
        self._on_there = on_there
        self._connection: Connection | None = None
        self._is_connected = asyncio.Event()

    async def connected(self) -> Connection:
        """The connection that is open, as soon as there is one."""
        while True:
            await self._is_connected.wait()
            connection = self._connection
            if connection is not None and connection.is_open:
                return connection
            self._is_connected.clear()

    async def keep(self) -> None:
        """Connects whenever there is no connection, until it is cancelled."""
        try:
            await self._keep()
        finally:
            if self._connection is not None:
                self._connection.close()

    async def _keep(self) -> None:
        pause = PAUSE_MIN
        last_end: ConnectionGone | None = None
        while True:
            began = self._clock.monotonic()
            try:
                last_end = await self._one_connection()
            except ConnectionRefused:
                if isinstance(last_end, ClosedByPeer):
                    self._on_gone()
                last_end = None  # said once for each connection that there was
            except ConnectionGone as error:
                log.debug("peer.not_connected", reason=str(error))
            else:
                log.debug("peer.disconnected", reason=str(last_end))
                if self._clock.monotonic() - began >= SETTLED:
                    pause = PAUSE_MIN
                    continue
            await self._clock.sleep_until(Millis(self._clock.monotonic() + pause))
            pause = min(Millis(2 * pause), PAUSE_MAX)

    async def _one_connection(self) -> ConnectionGone:
        """From its beginning to its end: why it ended."""
        ended: asyncio.Future[ConnectionGone] = asyncio.get_running_loop().create_future()

        def on_end(reason: ConnectionGone) -> None:
            self._is_connected.clear()
            if not ended.done():
                ended.set_result(reason)

        connection = Connection(self._clock, self.address, self._client_id, on_end)
        self._connection = await connection.open(self._network)
        self._is_connected.set()
        self._on_there()
        return await ended
