"""DescribeTransactions (key 65), version 0: none of them is known."""

from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)


def handle(
    services: Services, pending: PendingRequest, request: DescribeTransactionsRequest
) -> None:
    """There is no coordinator of transactions, and so no transaction."""
    del services
    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    pending.answer(refuse(request, pending.version, code, code.sentence))


def refuse(
    request: DescribeTransactionsRequest, version: int, code: ErrorCode, message: str
) -> DescribeTransactionsResponse:
    """Each id with the code."""
    del version, message
    return DescribeTransactionsResponse(
        transaction_states=[TransactionState(code, it) for it in request.transactional_ids]
    )


API: Final = Api(
    key=65,
    versions=range(1),
    handle=handle,
    refuse=refuse,
    needs=(
        Each(
            Operation.DESCRIBE,
            ResourceType.TRANSACTIONAL_ID,
            "transactional_ids",
            None,
            "transaction_states",
        ),
    ),
)
