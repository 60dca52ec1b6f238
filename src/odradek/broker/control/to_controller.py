"""The way to the controller: to another broker by its connection, to this one by a call.

It asks the broker that UpdateMetadata named last. A broker that is the controller no more answers
NOT_CONTROLLER; the caller asks again after a pause, and by then another may have been named.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.wire.schema import Request, Response


class NoController(BrokerError):
    """No broker is known to be the controller now."""

    code = ErrorCode.NOT_CONTROLLER


class Brokers(Protocol):
    """Connections to the other brokers."""

    async def ask(self, broker: BrokerId, request: Request) -> Response:
        """The answer, at the version that brokers speak; a BrokerError if there is none."""
        ...


class ControllerRequests:
    """Asks the controller, wherever it is."""

    def __init__(
        self,
        cluster: MetadataCache,
        brokers: Brokers,
        local: Callable[[Request], Awaitable[Response]],
    ) -> None:
        """`local`: of this broker's own controller."""
        self._local = local
        self._cluster = cluster
        self._brokers = brokers

    async def ask(self, request: Request) -> Response:
        """The controller's answer; a BrokerError if there is none."""
        controller = self._cluster.image.controller
        if controller is None:
            raise NoController("no controller is known")
        if controller == self._cluster.me:
            return await self._local(request)
        return await self._brokers.ask(controller, request)
