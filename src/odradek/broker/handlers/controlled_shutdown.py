"""ControlledShutdown (key 7), versions 0 to 3: a broker that stops gives its leaderships away.

The answer names the partitions that it still leads although other brokers that live, and do not
stop as well, hold replicas of them. v2 the broker epoch. v3 flexible.
"""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import ControlledShutdownAsked
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)


async def handle(
    services: Services, _pending: PendingRequest, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """Once what can move has moved."""
    return await serve(services.controller, request)


async def serve(
    controller: ControllerLoop, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """Likewise, for a broker in this process."""
    broker, epoch = BrokerId(request.broker_id), BrokerEpoch(request.broker_epoch)
    remaining = await controller.ask(ControlledShutdownAsked(broker, epoch))
    return ControlledShutdownResponse(
        remaining_partitions=[RemainingPartition(it.topic, it.partition) for it in remaining]
    )


def refuse(
    _request: ControlledShutdownRequest, _version: int, code: ErrorCode, _text: str
) -> ControlledShutdownResponse:
    """The whole request."""
    return ControlledShutdownResponse(error_code=code)


API: Final = Api(key=7, versions=range(4), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
