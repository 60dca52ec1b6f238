"""DescribeAcls (key 29), versions 0 to 3: the access rules that a filter means.

v1 prefixed patterns, and those that are about a name (KIP-290). v2 flexible. v3 users as resources.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.security.acl_rows import filter_of, rules_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


def handle(services: Services, pending: PendingRequest, request: DescribeAclsRequest) -> None:
    """As this broker knows them."""
    book = rules_of(services).decisions.book
    resources = [
        DescribeAclsResource(
            pattern.resource_type,
            pattern.name,
            pattern.type,
            [AclDescription(*rule) for rule in sorted(rules)],
        )
        for pattern, rules in filter_of(request).find(book)
    ]
    pending.answer(DescribeAclsResponse(error_message=None, resources=resources))


def refuse(
    request: DescribeAclsRequest, version: int, code: ErrorCode, message: str
) -> DescribeAclsResponse:
    """The code and its reason."""
    del request, version
    return DescribeAclsResponse(error_code=code, error_message=message)


API: Final = Api(
    key=29, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.DESCRIBE),)
)
