"""DescribeTransactions (key 65), version 0: what a coordinator knows of transactional ids.

Topics that the client may not see are left out of a transaction.
"""

from typing import Final

from odradek.broker.access.need import Each, Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions.requests import DescribeTransaction
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
    """Each id where it is coordinated; those of other coordinators are refused."""

    def answer(found: list[TransactionState]) -> None:
        for state in found:
            _leave_out(services, pending, state)
        pending.answer(DescribeTransactionsResponse(transaction_states=found))

    parts = [(it, DescribeTransaction(it)) for it in request.transactional_ids]
    services.transactions.ask(pending, parts, answer)


def _leave_out(services: Services, pending: PendingRequest, state: TransactionState) -> None:
    access = services.access
    if access is not None:
        state.topics = [
            it
            for it in state.topics
            if access.may(pending.connection, Operation.DESCRIBE, ResourceType.TOPIC, it.topic)
        ]


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
        Served(Operation.DESCRIBE, ResourceType.TOPIC, "that topic is left out"),
    ),
)
