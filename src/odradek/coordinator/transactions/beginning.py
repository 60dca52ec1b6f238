"""InitProducerId: who a producer is from now on, and who it is no more.

A new process gets a higher epoch, and the transaction that the one before has left open is aborted
first, under an epoch that no producer is given. A producer that has met an error, and wants to go
on, says who it was (KIP-360): it gets a higher epoch if it is still that one. If its first request
was answered and the answer lost, the second gets the same answer.
"""

from odradek.coordinator.decision import Call, Moment, Turn
from odradek.coordinator.transactions import answers
from odradek.coordinator.transactions.ending import fence
from odradek.coordinator.transactions.errors import (
    InvalidTransactionTimeout,
    ProducerFenced,
    check_id,
)
from odradek.coordinator.transactions.requests import InitProducer
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.transactions import Transactions, Written
from odradek.coordinator.transactions.values import NEVER, Identity, Transaction
from odradek.model.ids import NO_PRODUCER
from odradek.model.positions import NO_PRODUCER_EPOCH, ProducerEpoch


def init(all_: Transactions, call: Call, turn: Turn) -> None:
    """Answered once the new identity is committed."""
    request: InitProducer = call.request
    subject = request.transactional_id
    check_id(subject)
    if not 0 < request.timeout <= all_.settings.timeout_max:
        raise InvalidTransactionTimeout(
            f"a time-out of {request.timeout} ms is not between 1 and {all_.settings.timeout_max}"
        )
    if all_.is_in_flight(subject):
        all_.park(subject, call, turn.now)
        return
    found = all_.known.get(subject)
    if found is None:
        value = _new(all_, request, turn.now)
    else:
        _check(found, request.expected)
        if found.state.is_prepared:
            all_.park(subject, call, turn.now)
            return
        if found.state is State.ONGOING:
            fence(all_, subject, turn, Written(subject, fenced_by=call.ticket))
            all_.park(subject, call, turn.now)
            return
        value = _next(all_, found, request, turn.now)
    all_.write(subject, value, turn)
    turn.answer(call.ticket, answers.began(value.identity))


def _new(all_: Transactions, request: InitProducer, now: Moment) -> Transaction:
    identity = Identity(all_.new_id(), ProducerEpoch(0))
    return Transaction(identity, request.timeout, State.EMPTY, now.wall)


def _check(found: Transaction, expected: Identity | None) -> None:
    """Whether the producer may be the one that it says."""
    if expected is None or found.is_awaited_by(expected):
        return
    is_rotated = expected.producer_id == found.previous_producer_id and expected.is_used_up
    is_of_now = expected.producer_id == found.identity.producer_id
    epochs = {found.identity.producer_epoch, found.last_epoch}
    if not (is_of_now or is_rotated) or expected.producer_epoch not in epochs:
        producer_id, epoch = found.identity
        raise ProducerFenced(f"the producer id is {producer_id} now, with epoch {epoch}")


def _next(
    all_: Transactions, found: Transaction, request: InitProducer, now: Moment
) -> Transaction:
    """The identity behind this one; a repeated request gets the same."""
    expected, identity = request.expected, found.identity
    last = NO_PRODUCER_EPOCH if expected is None else identity.producer_epoch
    is_repeated = expected is not None and expected.producer_epoch != identity.producer_epoch
    previous = found.previous_producer_id
    if is_repeated:
        last = found.last_epoch
    elif identity.is_used_up:
        previous = identity.producer_id
        identity = Identity(all_.new_id(), ProducerEpoch(0))
    else:
        identity = identity.fenced()
    return found._replace(
        identity=identity,
        timeout=request.timeout,
        state=State.EMPTY,
        updated_at=now.wall,
        partitions=frozenset(),
        started_at=NEVER,
        previous_producer_id=previous,
        next_producer_id=NO_PRODUCER,
        last_epoch=last,
        version=0,
    )
