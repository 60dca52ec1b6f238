"""The controller's channel to one life of a broker: sends one request at a time, in order.

A request is sent again until it is answered or the channel is closed; a broker that is slow, cut
off or stopped holds up nobody but itself. The channel keeps its connection open while there is
nothing to send: its end is how the death of a process is noticed. When the other side closed it
and a fresh connection is refused, no process is there any more. A time-out proves nothing.

To itself a controller has a channel, too: the same queue, the same order, without a socket.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import structlog

from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.peers.connection import Connection
from odradek.peers.control_message import ControlMessage, ControlRequest
from odradek.peers.control_queue import ControlQueue, Sender
from odradek.peers.errors import ClosedByPeer, ConnectionGone, ConnectionRefused
from odradek.ports import Address, Clock, Network
from odradek.wire.schema import Response

PAUSE_MIN: Final = Millis(10)
PAUSE_MAX: Final = Millis(250)
SETTLED: Final = Millis(1 * SECOND)
"""A connection that lasted so long may be made again without a pause."""

log = structlog.get_logger()


class BrokerLife(NamedTuple):
    """One registration of a broker: what a channel belongs to."""

    id: BrokerId
    epoch: BrokerEpoch


class ControlAnswer(NamedTuple):
    """What one life of a broker answered, and to what."""

    broker: BrokerLife
    request: ControlRequest
    response: Response


class ProcessIsGone(NamedTuple):
    """Its connection was closed by the other side, and a fresh one was refused."""

    broker: BrokerLife


ChannelEvent = ControlAnswer | ProcessIsGone


class Line(Protocol):
    """How requests reach the broker."""

    async def ask(self, message: ControlMessage) -> Response:
        """Its answer; returns when there is one."""
        ...

    async def keep(self) -> None:
        """Keeps the way open, until it is cancelled."""
        ...


@dataclass(frozen=True, slots=True)
class ChannelSettings:
    """How a controller talks to brokers."""

    client_id: str
    timeout_ms: Millis = Millis(30 * SECOND)  # controller.socket.timeout.ms


class BrokerChannel:
    """One life of a broker, and what it is still to be told."""

    def __init__(
        self, broker: BrokerLife, sender: Sender, line: Line, post: Callable[[ChannelEvent], None]
    ) -> None:
        self.broker = broker
        self._queue = ControlQueue(sender)
        self._line = line
        self._post = post
        self._waiting = asyncio.Event()

    @property
    def backlog(self) -> int:
        """The count of partitions that wait."""
        return len(self._queue)

    def send(self, message: ControlMessage) -> None:
        """Behind all that waits."""
        self._queue.add(message)
        self._waiting.set()

    async def run(self) -> None:
        """Sends until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._line.keep())
            while True:
                await self._waiting.wait()
                self._waiting.clear()
                while (message := self._queue.take()) is not None:
                    response = await self._line.ask(message)
                    self._post(ControlAnswer(self.broker, message.request, response))


class LocalLine:
    """To the broker that is the controller."""

    def __init__(
        self, broker: BrokerLife, deliver: Callable[[ControlRequest], Awaitable[Any]]
    ) -> None:
        self._broker = broker
        self._deliver = deliver

    async def ask(self, message: ControlMessage) -> Response:
        """As the network's handlers answer."""
        response: Response = await self._deliver(message.request_for(self._broker.epoch))
        return response

    async def keep(self) -> None:
        """There is nothing to keep."""


class NetworkLine:
    """Over a connection that is kept, and made again when it is gone."""

    def __init__(
        self,
        broker: BrokerLife,
        address: Address,
        doors: tuple[Network, Clock],
        settings: ChannelSettings,
        *,
        post: Callable[[ChannelEvent], None],
    ) -> None:
        self._broker = broker
        self._address = address
        self._network, self._clock = doors
        self._settings = settings
        self._post = post
        self._connection: Connection | None = None
        self._connected = asyncio.Event()

    async def ask(self, message: ControlMessage) -> Response:
        """Asks again on each new connection, until one brings the answer."""
        request = message.encoded_for(self._broker.epoch)
        while True:
            await self._connected.wait()
            assert self._connection is not None, "it is connected"
            try:
                answer: Response = await self._connection.send(
                    request, timeout_ms=self._settings.timeout_ms
                )
            except ConnectionGone as error:
                self._connected.clear()
                log.info("controller.not_answered", broker=self._broker.id, reason=str(error))
            else:
                return answer

    async def keep(self) -> None:
        """Connects whenever there is no connection."""
        try:
            await self._keep_connected()
        finally:
            if self._connection is not None:
                self._connection.close()

    async def _keep_connected(self) -> None:
        pause = PAUSE_MIN
        last_end: ConnectionGone | None = None
        while True:
            began = self._clock.monotonic()
            try:
                last_end = await self._one_connection()
            except ConnectionRefused:
                if isinstance(last_end, ClosedByPeer):
                    log.info("controller.process_is_gone", broker=self._broker.id)
                    self._post(ProcessIsGone(self._broker))
                    last_end = None  # once for each connection that there was
            except ConnectionGone as error:
                log.info("controller.not_connected", broker=self._broker.id, reason=str(error))
            else:
                if self._clock.monotonic() - began >= SETTLED:
                    pause = PAUSE_MIN
                    continue
            await self._clock.sleep_until(Millis(self._clock.monotonic() + pause))
            pause = min(Millis(2 * pause), PAUSE_MAX)

    async def _one_connection(self) -> ConnectionGone:
        """From its beginning to its end: why it ended."""
        ended: asyncio.Future[ConnectionGone] = asyncio.get_running_loop().create_future()

        def on_end(reason: ConnectionGone) -> None:
            self._connected.clear()
            if not ended.done():
                ended.set_result(reason)

        connection = Connection(self._clock, self._address, self._settings.client_id, on_end)
        self._connection = await connection.open(self._network)
        self._connected.set()
        return await ended
