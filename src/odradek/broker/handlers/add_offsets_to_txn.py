"""AddOffsetsToTxn (key 25), versions 0 to 4: a transaction will commit positions of a group.

The partition of `__consumer_offsets` in which the group is kept joins the transaction.
v2 PRODUCER_FENCED. v3 flexible. v4 TRANSACTION_ABORTABLE: not given here.
"""

from functools import partial
from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.transactions import identity_of, known_code
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions.requests import AddPartitions
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)

FENCED_SINCE: Final = 2


class NoGroupTopic(BrokerError):
    """The topic for groups could not be made yet; the producer asks again."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


def handle(services: Services, pending: PendingRequest, request: AddOffsetsToTxnRequest) -> None:
    """Once it is written that the partition is in the transaction.

    Producers look for the group's coordinator afterwards, and so the first has the topic made.
    """
    ask = partial(_ask, services, pending, request)
    if services.groups.partition_of(request.group_id) is not None:
        ask()
        return
    make_topic = partial(services.auto_topics.ensure, GROUP_METADATA_TOPIC)
    if not services.transactions.prepare(pending, make_topic, ask):
        raise NoGroupTopic("the broker stops")


def _ask(services: Services, pending: PendingRequest, request: AddOffsetsToTxnRequest) -> None:
    partition = services.groups.partition_of(request.group_id)
    if partition is None:
        pending.answer(AddOffsetsToTxnResponse(error_code=NoGroupTopic.code))
        return
    name = request.transactional_id
    asked = AddPartitions(name, identity_of(request), frozenset({partition}))

    def answer(found: list[ErrorCode]) -> None:
        code = known_code(found[0], pending.version, FENCED_SINCE)
        pending.answer(AddOffsetsToTxnResponse(error_code=code))

    services.transactions.ask(pending, ((name, asked),), answer)


def refuse(
    request: AddOffsetsToTxnRequest, version: int, code: ErrorCode, message: str
) -> AddOffsetsToTxnResponse:
    """Nothing but the code."""
    del request, version, message
    return AddOffsetsToTxnResponse(error_code=code)


API: Final = Api(
    key=25,
    versions=range(5),
    handle=handle,
    refuse=refuse,
    needs=(
        Whole(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "transactional_id"),
        Whole(Operation.READ, ResourceType.GROUP, "group_id"),
    ),
)
