"""Producer ids, a block of a thousand at a time from the controller."""

import asyncio

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId
from odradek.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


class NoProducerIds(BrokerError):
    """The controller cannot be asked for producer ids now; clients try again."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class ProducerIds:
    """Each is given out once in the life of a cluster."""

    def __init__(self, cluster: MetadataCache, to_controller: ControllerRequests) -> None:
        self._cluster = cluster
        self._to_controller = to_controller
        self._next = 0
        self._end = 0  # exclusive
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> ProducerId:
        """The next one."""
        while (found := self.take()) is None:
            await self.fill()
        return found

    @property
    def is_empty(self) -> bool:
        """Whether the controller has to be asked before there is a next one."""
        return self._next == self._end

    def take(self) -> ProducerId | None:
        """The next one, if it is at hand."""
        if self.is_empty:
            return None
        self._next += 1
        return ProducerId(self._next - 1)

    async def fill(self) -> None:
        """Asks the controller, unless there are some, or it was asked already."""
        async with self._one_at_a_time:
            if self.is_empty:
                await self._take_block()

    async def _take_block(self) -> None:
        request = AllocateProducerIdsRequest(self._cluster.me, self._cluster.broker_epoch)
        try:
            response = await self._to_controller.ask(request)
        except BrokerError as error:
            raise NoProducerIds(str(error)) from error
        assert isinstance(response, AllocateProducerIdsResponse), response
        if response.error_code != ErrorCode.NONE:
            raise NoProducerIds(f"the controller answers {ErrorCode(response.error_code).name}")
        self._next = response.producer_id_start
        self._end = self._next + response.producer_id_len
