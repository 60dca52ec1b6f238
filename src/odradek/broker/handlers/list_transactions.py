"""ListTransactions (key 66), versions 0 and 1: none, as there is no coordinator of transactions."""

from typing import Final

from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

STATES: Final = frozenset(
    {
        *("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"),
        *("Dead", "PrepareEpochFence"),
    }
)


def handle(services: Services, pending: PendingRequest, request: ListTransactionsRequest) -> None:
    """No transaction is open; states that do not exist are named."""
    del services
    unknown = [state for state in request.state_filters if state not in STATES]
    pending.answer(ListTransactionsResponse(unknown_state_filters=unknown))


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
