"""AddPartitionsToTxn and AddOffsetsToTxn: where the transaction will have records.

A partition is written down before its leader takes a record, so a coordinator that ends the
transaction knows to which leaders markers are due. Leaders ask whether it was; for producers in
version 2 they have it added.
"""

from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.transactions import answers
from odradek.coordinator.transactions.errors import ConcurrentTransactions
from odradek.coordinator.transactions.requests import AddPartitions, VerifyPartitions
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.transactions import Transactions
from odradek.model.errors import ErrorCode
from odradek.records.control import EPOCH_FOR_EACH_SINCE


def add(all_: Transactions, call: Call, turn: Turn) -> None:
    """Answered once they are committed.

    Those that are added at a time do not wait for each other: each record has what the one before
    it has.
    """
    request: AddPartitions = call.request
    subject = request.transactional_id
    found = all_.find(subject, request.identity)
    if all_.is_in_flight(subject):
        decided = all_.decided.get(subject)
        if decided is None or decided.state is not State.ONGOING:
            all_.park(subject, call, turn.now)
            return
        found = decided
    if found.state.is_prepared:
        all_.park(subject, call, turn.now)
        return
    if found.state is State.ONGOING and request.partitions <= all_.known[subject].partitions:
        turn.answer(call.ticket, ErrorCode.NONE)
        return
    is_first = found.state is not State.ONGOING
    value = found._replace(
        state=State.ONGOING,
        updated_at=turn.now.wall,
        started_at=turn.now.wall if is_first else found.started_at,
        partitions=found.partitions | request.partitions,
        version=EPOCH_FOR_EACH_SINCE if request.is_of_broker else 0,
    )
    all_.write(subject, value, turn)
    turn.answer(call.ticket, ErrorCode.NONE)


def verify(all_: Transactions, call: Call, turn: Turn) -> None:
    """For each partition, whether it is in the open transaction; asked by its leader."""
    request: VerifyPartitions = call.request
    found = all_.find(request.transactional_id, request.identity)
    if found.state.is_prepared:
        raise ConcurrentTransactions("the transaction is being ended")
    is_open = found.state is State.ONGOING
    codes = {
        partition: ErrorCode.NONE
        if is_open and partition in found.partitions
        else ErrorCode.TRANSACTION_ABORTABLE
        for partition in sorted(request.partitions)
    }
    turn.answer(call.ticket, answers.results(request.transactional_id, codes))
