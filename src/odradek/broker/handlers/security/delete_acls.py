"""DeleteAcls (key 31), versions 0 to 3: access rules that filters mean are taken back.

Any broker writes it to ZooKeeper; a pattern without rules has no znode there. v1 prefixed patterns
(KIP-290). v2 flexible. v3 users as resources.
"""

from typing import Final

from odradek.broker.access.access_rules import AccessRules
from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.security.acl_rows import InvalidRule, filter_of, rules_of
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: DeleteAclsRequest,
) -> DeleteAclsResponse:
    """Each filter by itself; the rules that it meant are named."""
    rules = rules_of(services)
    return DeleteAclsResponse(filter_results=[await _delete(rules, it) for it in request.filters])


async def _delete(rules: AccessRules, wanted: DeleteAclsFilter) -> DeleteAclsFilterResult:
    try:
        meant = filter_of(wanted)
    except InvalidRule as error:
        return DeleteAclsFilterResult(error.code, str(error))
    rows = []
    for pattern in meant.patterns(rules.decisions.book):
        code, text = ErrorCode.NONE, None
        try:
            gone = await rules.remove(pattern, meant.means)
        except BrokerError as error:
            code, text = error.code, str(error)
            gone = frozenset(filter(meant.means, rules.decisions.book.of(pattern)))
        kind, how, name = pattern
        rows += [DeleteAclsMatchingAcl(code, text, kind, name, how, *rule) for rule in sorted(gone)]
    return DeleteAclsFilterResult(ErrorCode.NONE, None, rows)


def refuse(
    request: DeleteAclsRequest, version: int, code: ErrorCode, message: str
) -> DeleteAclsResponse:
    """Each filter with the code."""
    del version
    return DeleteAclsResponse(
        filter_results=[DeleteAclsFilterResult(code, message) for _ in request.filters]
    )


API: Final = Api(
    key=31, versions=range(4), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
