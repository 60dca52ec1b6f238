"""StopReplica (key 5), version 4: the controller says which replicas to give up, and to delete.

Version 3 brought a leader epoch for each partition; -2 stands for a topic that is being deleted,
which ends every leadership. Skipped: versions below 3.
"""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.controlled.stop_replica import refuse
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.schema import Response


async def handle(
    services: Services, pending: PendingRequest, request: StopReplicaRequest
) -> Response:
    """In the order of the controller's requests."""
    del pending
    return await services.control.serve(request)


API: Final = Api(key=5, versions=range(3, 5), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
