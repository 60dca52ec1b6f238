"""CreateAcls (key 30), versions 0 to 3: access rules are added.

Any broker writes them to ZooKeeper, and they count there at once; the others hear of it. One that
exists is made again. v1 prefixed patterns (KIP-290). v2 flexible. v3 users as resources.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.security.acl_rows import InvalidRule, rule_of, rules_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, Pattern, Rule
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: CreateAclsRequest,
) -> CreateAclsResponse:
    """The rules of one resource are written together; each has an outcome of its own."""
    rules = rules_of(services)
    results = [AclCreationResult(ErrorCode.NONE, None) for _ in request.creations]
    wanted: dict[Pattern, list[tuple[Rule, AclCreationResult]]] = {}
    for row, result in zip(request.creations, results, strict=True):
        try:
            pattern, rule = rule_of(row)
            wanted.setdefault(pattern, []).append((rule, result))
        except InvalidRule as error:
            result.error_code, result.error_message = error.code, str(error)
    for pattern, rows in wanted.items():
        try:
            await rules.add(pattern, frozenset(rule for rule, _ in rows))
        except BrokerError as error:
            for _, result in rows:
                result.error_code, result.error_message = error.code, str(error)
    return CreateAclsResponse(results=results)


def refuse(
    request: CreateAclsRequest, version: int, code: ErrorCode, message: str
) -> CreateAclsResponse:
    """Each creation with the code."""
    del version
    return CreateAclsResponse(results=[AclCreationResult(code, message) for _ in request.creations])


API: Final = Api(
    key=30, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
