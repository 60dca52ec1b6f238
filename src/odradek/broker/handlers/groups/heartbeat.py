"""Heartbeat (key 12), versions 0 to 4.

A member says that it lives, and hears whether it must join again.
v3 static members. v4 flexible.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import ask_one, refuse_one
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.wire.messages.heartbeat import HeartbeatRequest


def handle(services: Services, pending: PendingRequest, request: HeartbeatRequest) -> None:
    """As the group says."""
    ask_one(services, pending, request)


API: Final = Api(
    key=12,
    versions=range(5),
    handle=handle,
    refuse=refuse_one,
    needs=(Whole(Operation.READ, ResourceType.GROUP, "group_id"),),
)
