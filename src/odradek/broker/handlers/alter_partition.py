"""AlterPartition (key 56), versions 0 to 3: a leader asks the controller for another ISR.

v1 the mark of a recovery. v2 topic ids, INELIGIBLE_REPLICA. v3 the broker epochs of the members.
A request whose connection was closed before its turn came is dropped: the leader that sent it asks
again on another, and the older copy must not take effect behind the newer one.
"""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.control.controller_loop import ControllerLoop
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import AlterPartitionAsked
from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse


async def handle(
    services: Services, pending: PendingRequest, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    """The controller's answer, partition by partition."""
    event = AlterPartitionAsked(request, pending.version)
    response: AlterPartitionResponse = await services.controller.ask(
        event, lambda: not pending.connection.is_over
    )
    return response


async def serve(
    controller: ControllerLoop, request: AlterPartitionRequest, version: int
) -> AlterPartitionResponse:
    """For a leader in this process."""
    response: AlterPartitionResponse = await controller.ask(AlterPartitionAsked(request, version))
    return response


def refuse(
    _request: AlterPartitionRequest, _version: int, code: ErrorCode, _text: str
) -> AlterPartitionResponse:
    """The whole request."""
    return AlterPartitionResponse(error_code=code)


API: Final = Api(key=56, versions=range(4), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
