"""EndTxn (key 26), versions 0 to 5: a transaction is committed, or aborted.

Answered once it is decided; the markers that make it visible follow.
v2 PRODUCER_FENCED. v3 flexible. v4 TRANSACTION_ABORTABLE: not given here.
v5 version 2 of transactions (KIP-890): the answer says who the producer is in its next one.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.transactions import identity_of, known_code
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions.requests import EndTransaction
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.records.control import EPOCH_FOR_EACH_SINCE
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

FENCED_SINCE: Final = 2
EPOCH_FOR_EACH_IN: Final = 5


def handle(services: Services, pending: PendingRequest, request: EndTxnRequest) -> None:
    """As the coordinator says."""
    name = request.transactional_id
    version = EPOCH_FOR_EACH_SINCE if pending.version >= EPOCH_FOR_EACH_IN else 0
    asked = EndTransaction(name, identity_of(request), request.committed, version)

    def answer(response: EndTxnResponse) -> None:
        response.error_code = known_code(response.error_code, pending.version, FENCED_SINCE)
        pending.answer(response)

    if version >= EPOCH_FOR_EACH_SINCE and asked.identity.is_used_up:
        services.transactions.ask_with_ids(pending, (name, asked), answer)
    else:
        services.transactions.ask(pending, ((name, asked),), lambda found: answer(found[0]))


def refuse(request: EndTxnRequest, version: int, code: ErrorCode, message: str) -> EndTxnResponse:
    """Nothing but the code."""
    del request, version, message
    return EndTxnResponse(error_code=code)


API: Final = Api(
    key=26,
    versions=range(6),
    handle=handle,
    refuse=refuse,
    needs=(Whole(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id"),),
)
