"""DeleteGroups (key 42), versions 0 to 2.

Groups without members are forgotten, with their positions. v2 flexible.
"""

from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.groups.requests import DeleteGroup
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def handle(services: Services, pending: PendingRequest, request: DeleteGroupsRequest) -> None:
    """Each group where it lives; one that is named twice is deleted once."""
    parts = [(name, DeleteGroup(name)) for name in dict.fromkeys(request.groups_names)]
    services.groups.ask(
        pending, parts, lambda found: pending.answer(DeleteGroupsResponse(results=found))
    )


def refuse(
    request: DeleteGroupsRequest, version: int, code: ErrorCode, message: str
) -> DeleteGroupsResponse:
    """The code for each group."""
    del version, message
    results = [DeletableGroupResult(name, code) for name in dict.fromkeys(request.groups_names)]
    return DeleteGroupsResponse(results=results)


API: Final = Api(
    key=42,
    versions=range(3),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.DELETE, ResourceType.GROUP, "groups_names", None, "results"),),
)
