"""JoinGroup (key 11), versions 0 to 9.

A consumer comes into a group, or back to it; it is answered when all the others are there.
v1 a time for rebalances. v4 a new member is given an id and asked to come back with it (KIP-394).
v5 static members. v6 flexible. v7 the protocol's type. v8 a reason. v9 a leader can be told to
assign nothing (KIP-814).
Skipped: the reason is not kept.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import ask_one, refuse_one
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.wire.messages.join_group import JoinGroupRequest


def handle(services: Services, pending: PendingRequest, request: JoinGroupRequest) -> None:
    """As the group says, and when it says so."""
    ask_one(services, pending, request)


API: Final = Api(
    key=11,
    versions=range(10),
    handle=handle,
    refuse=refuse_one,
    needs=(Whole(Operation.READ, ResourceType.GROUP, "group_id"),),
)
