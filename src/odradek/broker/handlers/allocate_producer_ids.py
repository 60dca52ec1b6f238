"""AllocateProducerIds (key 67), version 0: a broker gets a block of producer ids (KIP-730)."""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import ProducerIdsAsked
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def handle(
    services: Services, _pending: PendingRequest, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    """The next block."""
    return await serve(services.controller, request)


async def serve(
    controller: ControllerLoop, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    """Likewise, for a broker in this process."""
    broker, epoch = BrokerId(request.broker_id), BrokerEpoch(request.broker_epoch)
    block = await controller.ask(ProducerIdsAsked(broker, epoch))
    return AllocateProducerIdsResponse(
        producer_id_start=block.first, producer_id_len=block.last - block.first + 1
    )


def refuse(
    _request: AllocateProducerIdsRequest, _version: int, code: ErrorCode, _text: str
) -> AllocateProducerIdsResponse:
    """The whole request."""
    return AllocateProducerIdsResponse(error_code=code)


API: Final = Api(key=67, versions=range(1), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
