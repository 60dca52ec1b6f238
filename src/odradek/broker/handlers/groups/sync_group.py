"""SyncGroup (key 14), versions 0 to 5.

A member collects its assignment; the leader brings those of all.
v3 static members. v4 flexible. v5 says which protocol it means (KIP-559), and must.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import ask_one, refuse_one
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.groups.errors import InconsistentGroupProtocol
from odradek.model.access import Operation, ResourceType
from odradek.wire.messages.sync_group import SyncGroupRequest

PROTOCOL_SINCE: Final = 5


def handle(services: Services, pending: PendingRequest, request: SyncGroupRequest) -> None:
    """As the group says, once the leader has spoken."""
    if pending.version >= PROTOCOL_SINCE and None in {
        request.protocol_type,
        request.protocol_name,
    }:
        raise InconsistentGroupProtocol("protocol type and protocol name are required")
    ask_one(services, pending, request)


API: Final = Api(
    key=14,
    versions=range(6),
    handle=handle,
    refuse=refuse_one,
    needs=(Whole(Operation.READ, ResourceType.GROUP, "group_id"),),
)
