"""The controller's channels to all brokers, this one included, as its loop uses them.

`peers` has the queues and the connections; here brokers get their addresses, and what happens on a
channel becomes an event of the loop.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

import structlog

from odradek.controller.candidacy import ControllerLease
from odradek.controller.events import BrokerAnswered, ProcessIsGone
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.ids import BrokerId
from odradek.peers.broker_channel import (
    BrokerLife,
    ChannelEvent,
    ChannelSettings,
    ControlAnswer,
)
from odradek.peers.control_queue import Sender
from odradek.peers.controller_channels import ControllerChannels
from odradek.ports import Clock, Network
from odradek.wire.schema import Request, Response

log = structlog.get_logger()

Deliver = Callable[[Any], Awaitable[Response]]
Post = Callable[[BrokerAnswered | ProcessIsGone], None]


class ChannelsDeps(NamedTuple):
    """What a controller's channels need of its broker."""

    me: BrokerId
    network: Network
    clock: Clock
    find: Callable[[Broker], Endpoint | None]  # where a controller reaches a broker
    deliver: Deliver  # to this broker itself
    settings: ChannelSettings


class BrokerChannels:
    """Of one controller epoch."""

    def __init__(self, deps: ChannelsDeps, lease: ControllerLease, post: Post) -> None:
        self._find = deps.find
        self._post = post
        self._channels = ControllerChannels(
            (deps.network, deps.clock),
            Sender(deps.me, lease.epoch),
            deps.deliver,
            self._on_event,
            settings=deps.settings,
        )

    async def run(self) -> None:
        """Sends, until `close`."""
        await self._channels.run()

    def set_brokers(self, live: Mapping[BrokerId, Broker]) -> None:
        """These are alive; a new life has an empty queue."""
        lives = {}
        for broker in live.values():
            at = self._find(broker)
            if at is None:
                log.warning("controller.broker_has_no_listener", broker=broker.id)
            else:
                lives[BrokerLife(broker.id, broker.epoch)] = (at.host, at.port)
        self._channels.set_brokers(lives)

    def send(self, brokers: Iterable[BrokerId], request: Request) -> None:
        """The same request to each of them, behind what waits."""
        self._channels.send(brokers, request)  # type: ignore[arg-type]  # one of the three

    def backlogs(self) -> Mapping[BrokerId, int]:
        """The count of partitions that each broker is still to be told of."""
        return self._channels.backlog()

    def close(self) -> None:
        """Nothing more is sent or told."""
        self._channels.close()

    def _on_event(self, event: ChannelEvent) -> None:
        broker, epoch = event.broker
        if isinstance(event, ControlAnswer):
            self._post(BrokerAnswered(broker, epoch, event.request, event.response))
        else:
            self._post(ProcessIsGone(broker, epoch))
