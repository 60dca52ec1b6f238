"""The runtime for one partition of an internal topic, while this broker leads it.

It knows nothing of groups or transactions: it keeps who waits for an answer, sends records to the
log, and replays them when they are committed. A shard lives as long as one leadership. First it
loads; requests are refused meanwhile, or wait for a moment where the rules say so: after an
election that takes less time than a client's pauses, which grow. It becomes active once all that
it read is below the high watermark, so that it never shows a client what another leader might not
have.

Invariants: writes settle in the order in which they were decided. A ticket is answered once.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from odradek.coordinator.deadlines import Deadlines
from odradek.coordinator.decision import (
    NO_EFFECTS,
    Answer,
    Append,
    Call,
    CoordinatorEffects,
    Decision,
    Entry,
    Moment,
    Note,
    Ticket,
)
from odradek.coordinator.errors import (
    CoordinatorBusy,
    CoordinatorLoading,
    CoordinatorUnreadable,
    NotCoordinator,
)
from odradek.coordinator.in_flight import InFlight
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import SECOND, Millis
from odradek.records.control import TransactionEnd
from odradek.wire.schema import Struct

WAITING_MAX: Final = 1 << 16  # requests that one partition leaves unanswered, at about 1 KB each

LOADING_MS_MAX: Final = Millis(SECOND)
"""For how long a request waits for the log to be read, at most: others of its connection wait."""


class Machine(Protocol):
    """The rules: they decide, and believe what they are told to replay."""

    timers: Deadlines
    in_flight: InFlight

    def decide(self, call: Call, now: Moment) -> Decision:
        """What follows from a request. A BrokerError refuses it, and nothing has changed."""
        ...

    def may_wait(self, request: Any) -> bool:
        """Whether such a request is ever left without an answer."""
        ...

    def waits_to_be_loaded(self, request: Any) -> bool:
        """Whether it is left for a moment without one while the log is read."""
        ...

    def expire(self, timer: Hashable, now: Moment) -> Iterable[Decision]:
        """What follows from a timer that has rung."""
        ...

    def replay(self, offset: Offset, entry: Entry) -> None:
        """Believes a committed record. Nothing else changes hard state."""
        ...

    def replay_end(self, producer: ProducerId, *, committed: bool) -> None:
        """Believes, or forgets, what a producer's transaction has held back."""
        ...

    def activated(self, now: Moment) -> Iterable[Decision]:
        """All was replayed; soft state and timers begin."""
        ...

    def settled(self, note: Note, now: Moment) -> Iterable[Decision]:
        """What follows from records that were committed."""
        ...

    def failed(self, note: Note, code: ErrorCode, now: Moment) -> Iterable[Decision]:
        """What follows from records that never reached the log, or have not been committed yet."""
        ...

    def refuse(self, call: Call, code: ErrorCode) -> Struct | ErrorCode:
        """The response that says no more than this."""
        ...

    def translate(self, request: Any, code: ErrorCode) -> ErrorCode:
        """The error with which this request is answered when its append fails."""
        ...


@dataclass(slots=True, eq=False)
class Write:
    """Records on their way, and what depends on them."""

    number: int
    records: tuple[Entry, ...]
    answers: tuple[Answer, ...]
    note: Note | None
    deadline: Millis  # until it is committed, or the answers say that it takes too long
    end: TransactionEnd | None = None  # in place of records
    base_offset: Offset | None = None  # None until it was appended

    def committed_at(self, high_watermark: Offset) -> bool:
        """Whether all its records are below."""
        count = len(self.records) if self.end is None else 1
        return self.base_offset is not None and self.base_offset + count <= high_watermark


class Shard:
    """One leadership of one partition: who waits, what is in flight, and the rules' machine."""

    def __init__(
        self, machine: Machine, write_timeout: Millis, waiting_max: int = WAITING_MAX
    ) -> None:
        self.machine = machine
        self.write_timeout = write_timeout
        self.waiting_max = waiting_max
        self.active = False
        self.unreadable: str | None = None  # why its log cannot be read, as far as is known
        self.waiting: dict[Ticket, Call] = {}  # every call without an answer
        self._loaded_to: Offset | None = None  # the log's end when all of it had been read
        self._events: list[Callable[[Moment], Iterable[Decision]]] = []  # until it is active
        self._early: deque[tuple[Millis, Call]] = deque()  # likewise, or until this time
        self._writes: deque[Write] = deque()  # in the order of the log
        self._unappended: deque[Write] = deque()  # those of them that are not in the log yet
        self._impatient: deque[Write] = deque()  # those whose deadline still counts
        self._numbers = 0
        self._effects: list[Append] = []
        self._sends: tuple[Any, ...] = ()
        self._answers: list[Answer] = []

    # -- loading ----------------------------------------------------------------------------------

    def load(self, offset: Offset, entry: Entry) -> None:
        """Replays the next record of the log."""
        assert not self.active, offset
        self.machine.replay(offset, entry)

    def load_end(self, producer: ProducerId, *, committed: bool) -> None:
        """Replays the end of a transaction."""
        assert not self.active, producer
        self.machine.replay_end(producer, committed=committed)

    def begin_again(self, machine: Machine, *, unreadable: str | None) -> None:
        """The log could not be read whole: nothing of it counts, and it is read once more.

        `unreadable` says why, once it is to be told to clients.
        """
        assert not self.active, "it was read whole"
        self.machine = machine
        self.unreadable = unreadable

    def loaded(self, log_end_offset: Offset) -> None:
        """All of the log was replayed; `committed` makes the shard active when it gets there."""
        self.unreadable = None
        self._loaded_to = log_end_offset

    # -- what happens -----------------------------------------------------------------------------

    def on_call(self, call: Call, now: Moment) -> CoordinatorEffects:
        """A request: answered at once, or when records are committed, or when its time comes."""
        assert call.ticket not in self.waiting, call
        self.waiting[call.ticket] = call
        if not self.active and self._may_come_early(call):
            self._early.append((Millis(now.monotonic + LOADING_MS_MAX), call))
        else:
            self._answer(call, now)
        return self._take_effects()

    def _may_come_early(self, call: Call) -> bool:
        if self.unreadable is not None or isinstance(call.request, TransactionEnd):
            return False
        is_full = len(self.waiting) > self.waiting_max
        return not is_full and self.machine.waits_to_be_loaded(call.request)

    def _answer(self, call: Call, now: Moment) -> None:
        try:
            decision = self._decide(call, now)
        except BrokerError as error:
            self._release((Answer(call.ticket, self._refuse(call, error.code)),))
        else:
            self._carry_out(decision, now)

    def _decide(self, call: Call, now: Moment) -> Decision:
        """The end of a transaction needs no rules: the log checks it, and answers for it."""
        if self.unreadable is not None:
            raise CoordinatorUnreadable(self.unreadable)
        if not self.active:
            raise CoordinatorLoading
        is_end = isinstance(call.request, TransactionEnd)
        is_full = len(self.waiting) > self.waiting_max  # with this one
        if is_full and (is_end or self.machine.may_wait(call.request)):
            raise CoordinatorBusy
        if is_end:
            return Decision(answers=(Answer(call.ticket, ErrorCode.NONE),), end=call.request)
        return self.machine.decide(call, now)

    def on_event(
        self, decide: Callable[[Moment], Iterable[Decision]], now: Moment
    ) -> CoordinatorEffects:
        """Something that was no request: the rules decide, as soon as they know everything."""
        if self.active:
            self._carry_out_all(decide(now), now)
        else:
            self._events.append(decide)
        return self._take_effects()

    def appended(self, number: int, base_offset: Offset) -> None:
        """The records are in this log, one behind the other from this offset."""
        write = self._unappended.popleft()
        assert write.number == number, (write.number, number)
        write.base_offset = base_offset

    def append_failed(self, number: int, code: ErrorCode, now: Moment) -> CoordinatorEffects:
        """The records are not in the log, and will not be."""
        write = self._unappended.popleft()
        assert write.number == number, (write.number, number)
        self._writes.remove(write)
        self.machine.in_flight.remove(write.records)
        self._give_up(write, code, now)
        return self._take_effects()

    def committed(self, high_watermark: Offset, now: Moment) -> CoordinatorEffects:
        """All below is safe: replay it, answer for it, and go on from there."""
        if not self.active:
            if self._loaded_to is None or high_watermark < self._loaded_to:
                return NO_EFFECTS
            self.active = True
            self._carry_out_all(self.machine.activated(now), now)
            for decide in self._events:
                self._carry_out_all(decide(now), now)
            self._events.clear()
            while self._early:
                self._answer(self._early.popleft()[1], now)
        while self._writes and self._writes[0].committed_at(high_watermark):
            self._settle(self._writes.popleft(), now)
        return self._take_effects()

    def tick(self, now: Moment) -> CoordinatorEffects:
        """Timers that have rung, and writes that take too long."""
        while self._early and self._early[0][0] <= now.monotonic:
            self._answer(self._early.popleft()[1], now)
        for timer in self.machine.timers.pop_due(now.monotonic):
            self._carry_out_all(self.machine.expire(timer, now), now)
        while (write := self._most_impatient()) and write.deadline <= now.monotonic:
            self._impatient.popleft()
            self._give_up(write, ErrorCode.REQUEST_TIMED_OUT, now)
        return self._take_effects()

    def next_deadline(self) -> Millis | None:
        """`tick` has nothing to do before this."""
        deadline, write = self.machine.timers.next(), self._most_impatient()
        if write is not None and (deadline is None or write.deadline < deadline):
            deadline = write.deadline
        if self._early and (deadline is None or self._early[0][0] < deadline):
            deadline = self._early[0][0]
        return deadline

    def resign(self) -> CoordinatorEffects:
        """This broker leads no longer: every waiting call is answered NOT_COORDINATOR."""
        calls = tuple(self.waiting.values())
        self.waiting.clear()
        self._early.clear()
        return CoordinatorEffects(
            answer=tuple(
                Answer(call.ticket, self._refuse(call, NotCoordinator.code)) for call in calls
            )
        )

    # -- how it is done ---------------------------------------------------------------------------

    def _carry_out_all(self, decisions: Iterable[Decision], now: Moment) -> None:
        for decision in decisions:
            self._carry_out(decision, now)

    def _carry_out(self, decision: Decision, now: Moment) -> None:
        if not decision.records and decision.end is None:
            assert decision.note is None, decision
            self._sends += decision.send
            self._release(decision.answers)
            return
        assert not decision.send, decision
        self._numbers += 1
        deadline = Millis(now.monotonic + self.write_timeout)
        write = Write(
            self._numbers,
            decision.records,
            decision.answers,
            decision.note,
            deadline,
            decision.end,
        )
        self._writes.append(write)
        self._unappended.append(write)
        self._impatient.append(write)
        self.machine.in_flight.add(write.records)
        self._effects.append(Append(write.number, write.records, decision.within, write.end))

    def _settle(self, write: Write, now: Moment) -> None:
        assert write.base_offset is not None, write.number
        for offset, entry in enumerate(write.records, write.base_offset):
            self.machine.replay(Offset(offset), entry)
        if write.end is not None:
            producer = ProducerId(write.end.producer_id)
            self.machine.replay_end(producer, committed=write.end.marker.committed)
        self.machine.in_flight.remove(write.records)
        self._release(write.answers)
        note, write.note, write.answers = write.note, None, ()
        if note is not None:
            self._carry_out_all(self.machine.settled(note, now), now)

    def _give_up(self, write: Write, code: ErrorCode, now: Moment) -> None:
        """Answers its calls with the error; its records are still replayed once committed."""
        for answer in write.answers:
            call = self.waiting[answer.ticket]
            is_end = isinstance(call.request, TransactionEnd)
            told = code if is_end else self.machine.translate(call.request, code)
            self._release((Answer(answer.ticket, self._refuse(call, told)),))
        note, write.note, write.answers = write.note, None, ()
        if note is not None:
            self._carry_out_all(self.machine.failed(note, code, now), now)

    def _refuse(self, call: Call, code: ErrorCode) -> Struct | ErrorCode:
        is_end = isinstance(call.request, TransactionEnd)
        return code if is_end else self.machine.refuse(call, code)

    def _most_impatient(self) -> Write | None:
        while self._impatient:
            write = self._impatient[0]
            if write.answers or write.note is not None:
                return write
            self._impatient.popleft()
        return None

    def _release(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            assert answer.ticket in self.waiting, answer
            del self.waiting[answer.ticket]
            self._answers.append(answer)

    def _take_effects(self) -> CoordinatorEffects:
        effects = CoordinatorEffects(tuple(self._effects), self._sends, tuple(self._answers))
        self._effects, self._sends, self._answers = [], (), []
        return effects
