"""The rules of transactions as a machine that stands on a shard: each event finds its rule."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final

from odradek.coordinator.decision import Call, Decision, Entry, Moment, Note, Turn
from odradek.coordinator.errors import after_failed_append
from odradek.coordinator.transactions import adding, answers, beginning, ending, expiry
from odradek.coordinator.transactions.errors import (
    ConcurrentTransactions,
    TransactionalIdNotFound,
    check_id,
)
from odradek.coordinator.transactions.requests import (
    MAY_WAIT,
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    InitProducer,
    VerifyPartitions,
    may_be_parked,
)
from odradek.coordinator.transactions.settings import LOOK_AGAIN_MS, TransactionSettings
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.transactions import (
    SWEEP,
    Outside,
    Ring,
    Timer,
    Transactions,
    Written,
)
from odradek.coordinator.transactions.values import Ending, Transaction, TransactionKey
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Millis, Timestamp
from odradek.wire.schema import Struct


def _describe(all_: Transactions, call: Call, turn: Turn) -> None:
    request: DescribeTransaction = call.request
    check_id(request.transactional_id)
    found = all_.known.get(request.transactional_id)
    if found is None:
        raise TransactionalIdNotFound
    turn.answer(call.ticket, answers.described(request.transactional_id, found))


Rule = Callable[[Transactions, Call, Turn], None]

RULES: Final[dict[type, Rule]] = {
    InitProducer: beginning.init,
    AddPartitions: adding.add,
    VerifyPartitions: adding.verify,
    EndTransaction: ending.end,
    DescribeTransaction: _describe,
}


class TransactionMachine:
    """The transactional ids of one partition of `__transaction_state`."""

    def __init__(self, settings: TransactionSettings, outside: Outside) -> None:
        self.all = Transactions(settings, outside)
        self.timers = self.all.timers
        self.in_flight = self.all.in_flight
        self._deadlines: dict[str, tuple[Timestamp, Millis]] = {}
        """Of open transactions: by the clock of where each began, and by this broker's own time."""

    def decide(self, call: Call, now: Moment) -> Decision:
        """What follows from a request; one that has to wait for markers is parked."""
        turn = Turn(now)
        RULES[type(call.request)](self.all, call, turn)
        return turn.decision()

    def may_wait(self, request: Any) -> bool:
        """Whether such a request is ever left without an answer."""
        return isinstance(request, MAY_WAIT)

    def waits_to_be_loaded(self, request: Any) -> bool:
        """As for markers."""
        return may_be_parked(request)

    def expire(self, timer: Hashable, now: Moment) -> Iterable[Decision]:
        """What follows from a timer that has rung."""
        assert isinstance(timer, Timer), timer
        match timer.ring:
            case Ring.TIMEOUT:
                return self._on_timeout(timer, now)
            case Ring.LOOK:
                return self._look_again(timer, now)
            case Ring.PARKED:
                return self._on_parked_for_long(timer, now)
            case Ring.SWEEP:
                return expiry.sweep(self.all, now)

    def replay(self, offset: Offset, entry: Entry) -> None:
        """Believes a committed record."""
        del offset
        assert isinstance(entry.key, TransactionKey), entry
        subject = entry.key.subject
        if entry.value is None:
            self.all.known.pop(subject, None)
        else:
            assert isinstance(entry.value, Transaction), entry
            self.all.known[subject] = entry.value
        self.all.unmarked.pop(subject, None)

    def replay_end(self, producer: ProducerId, *, committed: bool) -> None:
        """There are no transactions in the log of transactions."""

    def activated(self, now: Moment) -> Iterable[Decision]:
        """Time-outs go on to run, and what was decided is carried out."""
        self.timers.set(SWEEP, Millis(now.monotonic + self.all.settings.sweep_interval))
        for subject, found in self.all.known.items():
            if not found.state.is_at_rest:
                yield from self._look(subject, now)

    def settled(self, note: Note, now: Moment) -> Iterable[Decision]:
        """A record is committed."""
        assert isinstance(note, Written), note
        return self._look(note.subject, now)

    def failed(self, note: Note, code: ErrorCode, now: Moment) -> Iterable[Decision]:
        """A record is not in the log, or will be there too late: what was is tried again."""
        assert isinstance(note, Written), note
        deadline = Millis(now.monotonic + note.look_again)
        self.timers.set(Timer(Ring.LOOK, note.subject), deadline)
        if not self.all.is_in_flight(note.subject):
            self.all.decided.pop(note.subject, None)
        call = self.all.unpark(note.subject, note.fenced_by)
        if call is not None:
            turn = Turn(now)
            told = self.translate(call.request, code)
            turn.answer(call.ticket, answers.refusal(call.request, told))
            yield turn.decision()

    def marked(
        self, sent: Ending, partitions: Iterable[TopicPartition], now: Moment
    ) -> Iterable[Decision]:
        """These have their markers, or are gone."""
        return ending.marked(self.all, sent, partitions, now)

    def refuse(self, call: Call, code: ErrorCode) -> Struct | ErrorCode:
        """The response that says no more than this."""
        return answers.refusal(call.request, code)

    def translate(self, request: Any, code: ErrorCode) -> ErrorCode:
        """The error with which this request is answered when its append fails."""
        del request
        return after_failed_append(code)

    # -- how it is done ---------------------------------------------------------------------------

    def _look(self, subject: str, now: Moment) -> Iterator[Decision]:
        """What follows from the state as it is, whatever has led to it."""
        found = self.all.known.get(subject)
        timer = Timer(Ring.TIMEOUT, subject)
        if found is not None and found.state is State.ONGOING:
            self.timers.set(timer, self._deadline(subject, found, now))
        else:
            self.timers.cancel(timer)
            self._deadlines.pop(subject, None)
        if self.all.is_in_flight(subject):
            return  # it is looked at once that has settled
        self.all.decided.pop(subject, None)
        if found is not None and found.state.is_prepared:
            yield from ending.go_on(self.all, subject, now)
        else:
            yield from self._release(subject, now)

    def _deadline(self, subject: str, found: Transaction, now: Moment) -> Millis:
        """When its time is up; reckoned once, for clocks are set.

        It began by the clock of the broker that coordinated then. Where that one goes before ours,
        the transaction has no more time than it asked for all the same.
        """
        its_own, deadline = self._deadlines.get(subject, (None, Millis(0)))
        if its_own != found.deadline:
            left = min(max(found.deadline - now.wall, 0), found.timeout)
            deadline = Millis(now.monotonic + left)
            self._deadlines[subject] = found.deadline, deadline
        return deadline

    def _release(self, subject: str, now: Moment) -> Iterator[Decision]:
        """Those that waited are served in their order, until one has to wait again."""
        calls = self.all.parked.pop(subject, None)
        while calls:
            call, turn = calls.popleft(), Turn(now)
            try:
                RULES[type(call.request)](self.all, call, turn)
            except BrokerError as error:
                turn.answer(call.ticket, answers.refusal(call.request, error.code))
            again = self.all.parked.get(subject)
            if again is None:
                self.timers.cancel(Timer(Ring.PARKED, subject, call.ticket))
            else:
                again.extend(calls)
                calls = None
            yield turn.decision()

    def _on_timeout(self, timer: Timer, now: Moment) -> Iterator[Decision]:
        subject, found = timer.subject, self.all.known.get(timer.subject)
        if found is None or found.state is not State.ONGOING:
            return
        if self.all.is_in_flight(subject):
            self.timers.set(timer, Millis(now.monotonic + LOOK_AGAIN_MS))
            return
        turn = Turn(now)
        note = Written(subject, look_again=self.all.settings.abort_again)
        ending.fence(self.all, subject, turn, note)
        yield turn.decision()

    def _look_again(self, timer: Timer, now: Moment) -> Iterable[Decision]:
        if self.all.is_in_flight(timer.subject):
            self.timers.set(timer, Millis(now.monotonic + LOOK_AGAIN_MS))
            return ()
        return self._look(timer.subject, now)

    def _on_parked_for_long(self, timer: Timer, now: Moment) -> Iterator[Decision]:
        call = self.all.unpark(timer.subject, timer.ticket)
        if call is not None:
            turn = Turn(now)
            code = ConcurrentTransactions.code
            turn.answer(call.ticket, answers.refusal(call.request, code))
            yield turn.decision()
