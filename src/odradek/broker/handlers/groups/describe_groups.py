"""DescribeGroups (key 15), versions 0 to 6.

Who is in a group, and what each member reads. v3 what the client may do with it. v4 static members.
v5 flexible. v6 GROUP_ID_NOT_FOUND with a sentence (KIP-1043).
"""

from typing import Final

from odradek.broker.access.authorizer import ALL_ON
from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.groups.requests import DescribeGroup
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

MESSAGE_SINCE: Final = 6


def handle(services: Services, pending: PendingRequest, request: DescribeGroupsRequest) -> None:
    """Each group where it lives."""
    access, kind = services.access, ResourceType.GROUP

    def answer(found: list[DescribedGroup]) -> None:
        if request.include_authorized_operations:
            for group in found:
                if not group.error_code:
                    group.authorized_operations = (
                        ALL_ON[kind]
                        if access is None
                        else access.operations(pending.connection, kind, group.group_id)
                    )
        pending.answer(DescribeGroupsResponse(groups=found))

    services.groups.ask(pending, [(name, DescribeGroup(name)) for name in request.groups], answer)


def refuse(
    request: DescribeGroupsRequest, version: int, code: ErrorCode, message: str
) -> DescribeGroupsResponse:
    """The code for each group."""
    text = message if version >= MESSAGE_SINCE else None
    return DescribeGroupsResponse(
        groups=[DescribedGroup(code, text, name) for name in request.groups]
    )


API: Final = Api(
    key=15,
    versions=range(7),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.DESCRIBE, ResourceType.GROUP, "groups", None, "groups"),),
)
