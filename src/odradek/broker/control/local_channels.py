"""Channels of a controller to itself alone: its own broker is told, all others are not.

What stands behind `Channels`, the queue and the connection of each broker, is not of the loop's
concern: it hands over a message, and the answer comes back as an event.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import structlog

from odradek.controller.events import BrokerAnswered
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId
from odradek.wire.schema import Request, Response

Deliver = Callable[[Any], Awaitable[Response]]

log = structlog.get_logger()


class Channels(Protocol):
    """One queue for each broker that is alive, in the life that it has now."""

    async def run(self) -> None:
        """Sends, until `close`."""
        ...

    def set_brokers(self, live: Mapping[BrokerId, Broker]) -> None:
        """These are alive; a new life has an empty queue."""
        ...

    def send(self, brokers: Iterable[BrokerId], request: Request) -> None:
        """The same request to each of them, behind what waits."""
        ...

    def close(self) -> None:
        """Nothing more is sent or told."""
        ...


class LocalChannels:
    """To this broker itself."""

    def __init__(
        self, me: BrokerId, deliver: Deliver, post: Callable[[BrokerAnswered], None]
    ) -> None:
        self._me = me
        self._deliver = deliver
        self._post = post
        self._broker: Broker | None = None
        self._waiting: deque[tuple[Broker, Request]] = deque()
        self._has_some = asyncio.Event()
        self._is_closed = False

    async def run(self) -> None:
        """Sends, until `close`."""
        while not self._is_closed:
            await self._has_some.wait()
            self._has_some.clear()
            while self._waiting:  # empty once it is closed
                await self._deliver_one(*self._waiting.popleft())

    async def _deliver_one(self, broker: Broker, request: Request) -> None:
        request.broker_epoch = broker.epoch  # type: ignore[attr-defined]
        response = await self._deliver(request)
        if broker is self._broker and not self._is_closed:
            self._post(BrokerAnswered(broker.id, broker.epoch, response))

    def set_brokers(self, live: Mapping[BrokerId, Broker]) -> None:
        """These are alive; a new life has an empty queue."""
        now = live.get(self._me)
        if now is None or self._broker is None or now.epoch != self._broker.epoch:
            self._waiting.clear()
            self._broker = now

    def send(self, brokers: Iterable[BrokerId], request: Request) -> None:
        """The same request to each of them, behind what waits."""
        for broker in brokers:
            if broker == self._me and self._broker is not None:
                self._waiting.append((self._broker, request))
                self._has_some.set()
            else:
                log.debug("controller.message_dropped", broker=broker)

    def close(self) -> None:
        """Nothing more is sent or told."""
        self._is_closed = True
        self._waiting.clear()
        self._has_some.set()
