"""UpdateMetadata (key 6), version 8: the controller says who is alive, and who leads what.

Version 5 brought broker epochs, 7 topic ids, 8 the mark of a full update.
Skipped: versions below 7, which name no topic ids.
"""

from typing import Final

from odradek.broker.access.need import BROKERS_ALONE
from odradek.broker.controlled.update_metadata import refuse
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.wire.schema import Response


async def handle(
    services: Services, pending: PendingRequest, request: UpdateMetadataRequest
) -> Response:
    """In the order of the controller's requests."""
    del pending
    return await services.control.serve(request)


API: Final = Api(key=6, versions=range(7, 9), handle=handle, refuse=refuse, needs=BROKERS_ALONE)
