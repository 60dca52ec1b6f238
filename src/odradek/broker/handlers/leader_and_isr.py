"""LeaderAndIsr (key 4), version 7: the controller says who leads the partitions that we hold.

Version 2 brought broker epochs, 3 the replicas that are added and removed, 5 topic ids, 6 the mark
of a recovery. Skipped: versions below 5, which name no topic ids.
"""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.controlled.leader_and_isr import refuse
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.schema import Response


async def handle(
    services: Services, pending: PendingRequest, request: LeaderAndIsrRequest
) -> Response:
    """In the order of the controller's requests."""
    del pending
    return await services.control.serve(request)


API: Final = Api(key=4, versions=range(5, 8), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
