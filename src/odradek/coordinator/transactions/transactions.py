"""The state that all rules share: what was written, what is under way, who waits, timers."""

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from odradek.coordinator.deadlines import Deadlines
from odradek.coordinator.decision import Call, Entry, Moment, Ticket, Turn
from odradek.coordinator.in_flight import InFlight
from odradek.coordinator.transactions.errors import (
    ConcurrentTransactions,
    NoProducerId,
    ProducerFenced,
    UnknownProducer,
    check_id,
)
from odradek.coordinator.transactions.requests import may_be_parked
from odradek.coordinator.transactions.settings import (
    LOOK_AGAIN_MS,
    PARKED_MS_MAX,
    TransactionSettings,
)
from odradek.coordinator.transactions.states import PREDECESSORS, State
from odradek.coordinator.transactions.values import Identity, Transaction, TransactionKey
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.units import Millis

NO_TICKET: Final = Ticket(0)


class Ring(Enum):
    """What a timer is for."""

    TIMEOUT = "a transaction has been open for as long as it may"
    LOOK = "a record was not written, or it is not known whether it was"
    PARKED = "a request has waited for markers as long as it may"
    SWEEP = "time to look for ids that have expired"


class Timer(NamedTuple):
    """One timer; the id is empty where it is about none."""

    ring: Ring
    subject: str = ""
    ticket: Ticket = NO_TICKET


SWEEP: Final = Timer(Ring.SWEEP)


class Written(NamedTuple):
    """A record of a transactional id is on its way."""

    subject: str
    fenced_by: Ticket = NO_TICKET  # a request that waits for the end of what the record aborts
    look_again: Millis = LOOK_AGAIN_MS  # if it fails


class Outside(NamedTuple):
    """What rules ask beyond their own state."""

    take_id: Callable[[], ProducerId | None]  # one that no producer has had; None: none at hand
    level: Callable[[], int]  # `transaction.version` of the cluster


class Transactions:
    """Everything known of the transactional ids of one partition."""

    __slots__ = (
        "decided",
        "in_flight",
        "known",
        "outside",
        "parked",
        "settings",
        "timers",
        "to_sweep",
        "unmarked",
    )

    def __init__(self, settings: TransactionSettings, outside: Outside) -> None:
        self.settings = settings
        self.outside = outside
        self.known: dict[str, Transaction] = {}  # hard state
        self.decided: dict[str, Transaction] = {}  # the newest record that is in flight
        self.unmarked: dict[str, set[TopicPartition]] = {}  # of what is prepared
        self.parked: dict[str, deque[Call]] = {}  # no deque is empty
        self.timers = Deadlines()
        self.in_flight = InFlight()
        self.to_sweep: list[str] = []  # ids of which it is still to be seen whether they expired

    def is_in_flight(self, subject: str) -> bool:
        """Whether a record of it is on its way."""
        return TransactionKey(subject) in self.in_flight

    def find(self, subject: str, identity: Identity) -> Transaction:
        """The producer's transaction, or an error that says why it has none."""
        check_id(subject)
        found = self.known.get(subject)
        if found is not None and found.is_awaited_by(identity):
            return found
        if found is None or found.identity.producer_id != identity.producer_id:
            raise UnknownProducer(f"{subject!r} has another producer id, or none")
        if found.identity != identity or identity.only_fences:
            raise ProducerFenced(f"{subject!r} has producer epoch {found.identity.producer_epoch}")
        return found

    def write(
        self, subject: str, value: Transaction, turn: Turn, note: Written | None = None
    ) -> None:
        """To the log; it is believed when it is committed."""
        before = self.decided.get(subject) or self.known.get(subject)
        assert (
            value.state is State.EMPTY
            if before is None
            else before.state in PREDECESSORS[value.state]
        ), (before, value)
        turn.records.append(Entry(TransactionKey(subject), value))
        turn.note = note or Written(subject)
        self.decided[subject] = value

    def new_id(self) -> ProducerId:
        """A producer id that no producer has had."""
        found = self.outside.take_id()
        if found is None:
            raise NoProducerId("the controller has given no more producer ids yet")
        return found

    def park(self, subject: str, call: Call, now: Moment) -> None:
        """The request waits until the transaction before has ended; a broker's never does."""
        if not may_be_parked(call.request):
            raise ConcurrentTransactions("the transaction before is still being ended")
        self.parked.setdefault(subject, deque()).append(call)
        timer = Timer(Ring.PARKED, subject, call.ticket)
        if timer not in self.timers:
            self.timers.set(timer, Millis(now.monotonic + PARKED_MS_MAX))

    def unpark(self, subject: str, ticket: Ticket) -> Call | None:
        """The request waits no more; None if it did not."""
        calls = self.parked.get(subject, ())
        found = next((call for call in calls if call.ticket == ticket), None)
        if found is not None:
            rest = deque(call for call in calls if call is not found)
            if rest:
                self.parked[subject] = rest
            else:
                del self.parked[subject]
            self.timers.cancel(Timer(Ring.PARKED, subject, ticket))
        return found
