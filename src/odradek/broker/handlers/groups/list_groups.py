"""ListGroups (key 16), versions 0 to 5.

The groups that this broker coordinates; a client that wants all asks every broker.
v3 flexible. v4 by state (KIP-518). v5 by type (KIP-848); all are classic ones.
"""

from typing import Final

from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(services: Services, pending: PendingRequest, request: ListGroupsRequest) -> None:
    """As far as they are known; an error says that some are still being read, or led elsewhere.

    Or that the log of some cannot be read: a client that waited would wait for an operator.

    A broker that coordinates nothing has no lease to lose: it may never have been given a role.
    """
    found, loading = services.groups.list_groups(request.states_filter, request.types_filter)
    code = ErrorCode.NONE
    if loading:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    elif any(services.groups.unreadable()):
        code = ErrorCode.KAFKA_STORAGE_ERROR
    if (found or code) and not services.groups.may_answer():
        found, code = [], ErrorCode.COORDINATOR_NOT_AVAILABLE
    access, client, describe = services.access, pending.connection, Operation.DESCRIBE
    if access is not None and not access.may_on_cluster(client, describe):
        kind = ResourceType.GROUP
        found = [it for it in found if access.may(client, describe, kind, it.group_id)]
    pending.answer(ListGroupsResponse(error_code=code, groups=found))


def refuse(
    request: ListGroupsRequest, version: int, code: ErrorCode, message: str
) -> ListGroupsResponse:
    """No groups."""
    del request, version, message
    return ListGroupsResponse(error_code=code)


API: Final = Api(
    key=16,
    versions=range(6),
    handle=handle,
    refuse=refuse,
    needs=(Served(Operation.DESCRIBE, ResourceType.CLUSTER, "only groups that it may describe"),),
)
