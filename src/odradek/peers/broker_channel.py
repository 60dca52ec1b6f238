"""The controller's channel to one life of a broker: sends one request at a time, in order.

A request is sent again until it is answered or the channel is closed; a broker that is slow, cut
off or stopped holds up only itself. The channel keeps its connection open while there is
nothing to send: its end is how the death of a process is noticed (`watched_connection`).

To itself a controller has a channel, too: the same queue, the same order, without a socket.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import structlog

from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.model.units import SECOND, Millis
from odradek.peers.control_message import ControlMessage, ControlRequest
from odradek.peers.control_queue import ControlQueue, Sender
from odradek.peers.errors import ConnectionGone
from odradek.peers.watched_connection import WatchedConnection
from odradek.ports import Address, Clock, Network
from odradek.wire.schema import Response

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
        self._timeout_ms = settings.timeout_ms
        self._post = post
        self._connection = WatchedConnection(doors, address, settings.client_id, self._gone)

    async def ask(self, message: ControlMessage) -> Response:
        """Asks again on each new connection, until one brings the answer."""
        request = message.encoded_for(self._broker.epoch)
        while True:
            connection = await self._connection.connected()
            try:
                answer: Response = await connection.send(request, timeout_ms=self._timeout_ms)
            except ConnectionGone as error:
                log.info("controller.not_answered", broker=self._broker.id, reason=str(error))
            else:
                return answer

    async def keep(self) -> None:
        """Also while there is nothing to ask."""
        await self._connection.keep()

    def _gone(self) -> None:
        log.warning("controller.process_is_gone", broker=self._broker.id)
        self._post(ProcessIsGone(self._broker))
