"""LeaveGroup (key 13), versions 0 to 5.

Members go: one by itself, or several by an operator's hand. v3 several, and static ones by their
names. v4 flexible. v5 a reason.
Skipped: the reason is not kept.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import ask_one, refuse_one
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.wire.messages.leave_group import LeaveGroupRequest


def handle(services: Services, pending: PendingRequest, request: LeaveGroupRequest) -> None:
    """As the group says."""
    ask_one(services, pending, request)


API: Final = Api(
    key=13,
    versions=range(6),
    handle=handle,
    refuse=refuse_one,
    needs=(Whole(Operation.READ, ResourceType.GROUP, "group_id"),),
)
