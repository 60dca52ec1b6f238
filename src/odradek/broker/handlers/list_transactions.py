"""ListTransactions (key 66), versions 0 and 1: the transactional ids that are coordinated here.

v1 those alone whose transaction has been open for so long. Where a log cannot be read, the answer
has those of the others, and an error: a client that waited would wait for an operator.
Skipped: v2, patterns: a client could send one that takes for ever.
"""

from typing import Final

from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.values import Transaction
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Timestamp
from odradek.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

STATES: Final = frozenset(state.title for state in State)


class MayBeReplaced(BrokerError):
    """Another broker may coordinate these ids by now."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class StillLoading(BrokerError):
    """Some ids are not known yet."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def handle(services: Services, pending: PendingRequest, request: ListTransactionsRequest) -> None:
    """All of them, or those that were asked for; states that do not exist are named.

    A broker that coordinates nothing has no lease to lose: it may never have been given a role.
    """
    transactions = services.transactions
    known, is_loading = [*transactions.all_known()], transactions.is_loading
    is_unreadable = any(transactions.unreadable())
    if (known or is_loading or is_unreadable) and not transactions.may_answer():
        raise MayBeReplaced("this broker may coordinate transactions no more")
    if is_loading:
        raise StillLoading("transactions are still being read")
    access, client, now = services.access, pending.connection, services.doors.clock.wall()
    found = [
        TransactionState(name, it.identity.producer_id, it.state.title)
        for name, it in known
        if _is_asked(request, it, now)
        and (
            access is None
            or access.may(client, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, name)
        )
    ]
    unknown = [state for state in request.state_filters if state not in STATES]
    code = ErrorCode.KAFKA_STORAGE_ERROR if is_unreadable else ErrorCode.NONE
    pending.answer(ListTransactionsResponse(0, code, unknown, found))


def _is_asked(request: ListTransactionsRequest, it: Transaction, now: Timestamp) -> bool:
    if request.producer_id_filters and it.identity.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and it.state.title not in request.state_filters:
        return False
    if request.duration_filter < 0:
        return True
    return not it.state.is_at_rest and now - it.started_at > request.duration_filter


def refuse(
    request: ListTransactionsRequest, version: int, code: ErrorCode, message: str
) -> ListTransactionsResponse:
    """Nothing but the code."""
    del request, version, message
    return ListTransactionsResponse(error_code=code)


API: Final = Api(
    key=66,
    versions=range(2),
    handle=handle,
    refuse=refuse,
    needs=(Served(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "that id is left out"),),
)
