"""EndTxn, and what follows: the record that decides, the markers, the record that all have them.

In version 1 a repeated request cannot be told from a late one, so it is answered by the state that
it finds. In version 2 the record that decides raises the epoch, and the epoch of a request says
which transaction it means.
"""

from collections.abc import Iterable, Iterator

from odradek.coordinator.decision import Call, Decision, Moment, Turn
from odradek.coordinator.transactions import answers
from odradek.coordinator.transactions.errors import (
    InvalidTransactionState,
    ProducerFenced,
    UnknownProducer,
    check_id,
)
from odradek.coordinator.transactions.requests import EndTransaction
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.transactions import Transactions, Written
from odradek.coordinator.transactions.values import (
    EPOCH_MAX,
    NEVER,
    Ending,
    Transaction,
)
from odradek.model.ids import NO_PRODUCER, TopicPartition
from odradek.model.positions import NO_PRODUCER_EPOCH
from odradek.records.control import EPOCH_FOR_EACH_SINCE


def end(all_: Transactions, call: Call, turn: Turn) -> None:
    """Answered once it is decided; markers follow."""
    request: EndTransaction = call.request
    subject = request.transactional_id
    if request.version >= EPOCH_FOR_EACH_SINCE:
        found, is_repeated = _find_by_epoch(all_, request)
    else:
        found = all_.find(subject, request.identity)
        is_repeated = found.state is not State.EMPTY
    if all_.is_in_flight(subject):
        all_.park(subject, call, turn.now)
        return
    if found.state is State.ONGOING:
        _prepare(all_, found, call, turn)
    elif is_repeated:
        _check_outcome(found, request)
        if found.state.is_prepared:
            all_.park(subject, call, turn.now)
        else:
            turn.answer(call.ticket, answers.ended(found.identity))
    elif found.state.is_prepared:
        all_.park(subject, call, turn.now)
    elif request.version >= EPOCH_FOR_EACH_SINCE and not request.is_committed:
        _prepare(all_, found._replace(partitions=frozenset(), started_at=NEVER), call, turn)
    else:
        raise InvalidTransactionState(f"{subject!r} has no transaction to end")


def _find_by_epoch(all_: Transactions, request: EndTransaction) -> tuple[Transaction, bool]:
    """The transaction that is meant, and whether it was decided by this request before."""
    check_id(request.transactional_id)
    found, asked = all_.known.get(request.transactional_id), request.identity
    if found is None:
        raise UnknownProducer(f"{request.transactional_id!r} is not known")
    if found.is_awaited_by(asked):
        return found, False
    is_rotated = (
        found.state.is_at_rest
        and found.version >= EPOCH_FOR_EACH_SINCE
        and found.previous_producer_id == asked.producer_id
        and asked.producer_epoch == EPOCH_MAX - 1
        and found.identity.producer_epoch == 0
    )
    if is_rotated:
        return found, True
    if found.identity.producer_id != asked.producer_id:
        raise UnknownProducer(f"{request.transactional_id!r} has another producer id")
    is_never_given = found.identity.only_fences and found.next_producer_id == NO_PRODUCER
    is_raised = (
        found.version >= EPOCH_FOR_EACH_SINCE
        and found.state not in {State.EMPTY, State.ONGOING}
        and found.identity.producer_epoch == asked.producer_epoch + 1
        and not is_never_given
    )
    is_of_now = not found.state.is_prepared and found.identity == asked and not asked.only_fences
    if not is_raised and not is_of_now:
        raise ProducerFenced(
            f"{request.transactional_id!r} has producer epoch {found.identity.producer_epoch}"
        )
    return found, is_raised


def _check_outcome(found: Transaction, request: EndTransaction) -> None:
    is_committed = found.state in {State.PREPARE_COMMIT, State.COMPLETE_COMMIT}
    if is_committed != request.is_committed:
        outcome = "committed" if is_committed else "aborted"
        if request.version >= EPOCH_FOR_EACH_SINCE and request.is_committed:
            # a producer that knows its outcome asks for no other: the coordinator has aborted it
            raise ProducerFenced("the transaction was aborted, for its time was up")
        raise InvalidTransactionState(f"the transaction has already been {outcome}")


def _prepare(all_: Transactions, found: Transaction, call: Call, turn: Turn) -> None:
    """Decides; in version 2 the next transaction has another epoch, or another producer id."""
    request: EndTransaction = call.request
    identity, last, following = found.identity, found.last_epoch, NO_PRODUCER
    if request.version >= EPOCH_FOR_EACH_SINCE:
        last = identity.producer_epoch
        following = all_.new_id() if identity.is_used_up else NO_PRODUCER
        identity = identity.fenced()
    value = found._replace(
        identity=identity,
        state=State.PREPARE_COMMIT if request.is_committed else State.PREPARE_ABORT,
        updated_at=turn.now.wall,
        started_at=turn.now.wall if found.started_at == NEVER else found.started_at,
        next_producer_id=following,
        version=request.version,
        last_epoch=last,
    )
    all_.write(request.transactional_id, value, turn)
    turn.answer(call.ticket, answers.ended(value.following))


def fence(all_: Transactions, subject: str, turn: Turn, note: Written) -> None:
    """Aborts the open transaction under an epoch that no producer has: its producer is fenced."""
    found = all_.known[subject]
    value = found._replace(
        identity=found.identity.fenced(),
        state=State.PREPARE_ABORT,
        updated_at=turn.now.wall,
        version=EPOCH_FOR_EACH_SINCE if all_.outside.level() >= EPOCH_FOR_EACH_SINCE else 0,
        last_epoch=NO_PRODUCER_EPOCH,
    )
    all_.write(subject, value, turn, note)


def go_on(all_: Transactions, subject: str, now: Moment) -> Iterator[Decision]:
    """What follows from a record that decides: markers, or if all have theirs, that it is so."""
    found = all_.known[subject]
    if subject not in all_.unmarked:
        all_.unmarked[subject] = set(found.partitions)
        if found.partitions:
            yield Decision(send=(_markers(subject, found),))
    if not all_.unmarked[subject]:
        turn = Turn(now)
        all_.write(subject, _completed(found, now), turn)
        yield turn.decision()


def marked(
    all_: Transactions, ending: Ending, partitions: Iterable[TopicPartition], now: Moment
) -> Iterator[Decision]:
    """Their leaders have the markers, or the partitions are gone."""
    subject = ending.transactional_id
    found, left = all_.known.get(subject), all_.unmarked.get(subject)
    if found is None or left is None or found.identity != ending.identity:
        return
    left.difference_update(partitions)
    if not left and not all_.is_in_flight(subject):
        yield from go_on(all_, subject, now)


def _markers(subject: str, found: Transaction) -> Ending:
    is_committed = found.state is State.PREPARE_COMMIT
    return Ending(subject, found.identity, is_committed, found.version, found.partitions)


def _completed(found: Transaction, now: Moment) -> Transaction:
    is_committed = found.state is State.PREPARE_COMMIT
    is_rotated = found.next_producer_id != NO_PRODUCER
    return found._replace(
        identity=found.following,
        state=State.COMPLETE_COMMIT if is_committed else State.COMPLETE_ABORT,
        updated_at=now.wall,
        partitions=frozenset(),
        previous_producer_id=found.identity.producer_id
        if is_rotated
        else found.previous_producer_id,
        next_producer_id=NO_PRODUCER,
    )
