"""The controller's channels: one for each life of each registered broker, itself included."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from odradek.model.ids import BrokerId
from odradek.peers.broker_channel import (
    BrokerChannel,
    BrokerLife,
    ChannelEvent,
    ChannelSettings,
    Line,
    LocalLine,
    NetworkLine,
)
from odradek.peers.control_message import ControlMessage, ControlRequest
from odradek.peers.control_queue import Sender
from odradek.ports import Address, Clock, Network

Deliver = Callable[[ControlRequest], Awaitable[Any]]


class ControllerChannels:
    """Of one controller epoch. `run` it in a task; what happens is told to `post`, on the loop."""

    def __init__(
        self,
        doors: tuple[Network, Clock],
        sender: Sender,
        deliver: Deliver,
        post: Callable[[ChannelEvent], None],
        *,
        settings: ChannelSettings,
    ) -> None:
        """`deliver` hands a request to the handlers of this broker itself."""
        self._doors = doors
        self._sender = sender
        self._deliver = deliver
        self._post = post
        self._settings = settings
        self._channels: dict[BrokerId, BrokerChannel] = {}
        self._tasks: dict[BrokerLife, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._closed = asyncio.Event()

    async def run(self) -> None:
        """Until `close`, or until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for channel in self._channels.values():
                self._start(channel)
            await self._closed.wait()

    def close(self) -> None:
        """Nothing more is sent or told: the controller epoch is over."""
        for broker in list(self._channels):
            self._end(broker)
        self._group = None
        self._closed.set()

    def set_brokers(self, live: Mapping[BrokerLife, Address]) -> None:
        """These are registered now; a new life of a broker gets a new channel, an empty queue."""
        for broker, channel in list(self._channels.items()):
            if channel.broker not in live:
                self._end(broker)
        for life, address in live.items():
            if life.id not in self._channels:
                channel = BrokerChannel(life, self._sender, self._line(life, address), self._post)
                self._channels[life.id] = channel
                self._start(channel)

    def send(self, brokers: Iterable[BrokerId], request: ControlRequest) -> None:
        """The same request to each of them; a broker that is not registered is not told."""
        message = ControlMessage(request)
        for broker in brokers:
            channel = self._channels.get(broker)
            if channel is not None:
                channel.send(message)

    def backlog(self) -> dict[BrokerId, int]:
        """By broker the count of partitions that wait in its queue."""
        return {broker: channel.backlog for broker, channel in self._channels.items()}

    def _line(self, life: BrokerLife, address: Address) -> Line:
        if life.id == self._sender.controller_id:
            return LocalLine(life, self._deliver)
        return NetworkLine(life, address, self._doors, self._settings, post=self._post)

    def _start(self, channel: BrokerChannel) -> None:
        if self._group is not None:
            self._tasks[channel.broker] = self._group.create_task(channel.run())

    def _end(self, broker: BrokerId) -> None:
        channel = self._channels.pop(broker)
        task = self._tasks.pop(channel.broker, None)
        if task is not None:
            task.cancel()
