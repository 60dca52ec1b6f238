"""The values that pass between the shell, the runtime and the rules.

The order of fields is a contract: what comes first is carried out first.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple, NewType, Protocol

from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId
from odradek.model.units import Millis, Timestamp
from odradek.records.control import TransactionEnd
from odradek.wire.schema import Struct

Ticket = NewType("Ticket", int)
"""The shell's number for a request that must be answered once, now or later."""

Note = Hashable
"""What the rules want to hear again when their records are committed, or failed."""


class Moment(NamedTuple):
    """Now, on both clocks: one measures durations, the other stamps records."""

    monotonic: Millis
    wall: Timestamp


class Caller(NamedTuple):
    """Who asks, as far as it is recorded for people to see."""

    client_id: str
    host: str


@dataclass(frozen=True, slots=True)
class Call:
    """One request about one group, or one transactional id."""

    ticket: Ticket
    request: Any  # a wire request, or one that was cut out of a request about many
    version: int
    caller: Caller


class Answer(NamedTuple):
    """The response to one call; to the end of a transaction, a code."""

    ticket: Ticket
    response: Struct | ErrorCode


class Key(Hashable, Protocol):
    """What a record is about: the newest record of a key is all that counts."""

    @property
    def subject(self) -> str:
        """The group or transactional id that the key belongs to."""
        ...


class Entry(NamedTuple):
    """One record: its value takes the place of what the key had. None takes it away."""

    key: Key
    value: Any
    producer: ProducerId | None = None  # whose transaction it waits for, to be believed


class InTransaction(NamedTuple):
    """The producer in whose transaction records are written."""

    producer: ProducerId
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules make of one event."""

    records: tuple[Entry, ...] = ()  # 1. to the log
    answers: tuple[Answer, ...] = ()  # 2. once the records are committed; at once if there are none
    note: Note | None = None  # 3. handed back after the answers, or with the error
    within: InTransaction | None = None  # the records are
    end: TransactionEnd | None = None  # in place of records
    send: tuple[Any, ...] = ()  # at once, and so with no records: what they decide is not true yet


class Turn:
    """A decision while it is being made: rules add to it as they find what follows."""

    __slots__ = ("answers", "note", "now", "records", "within")

    def __init__(self, now: Moment) -> None:
        self.now = now
        self.records: list[Entry] = []
        self.answers: list[Answer] = []
        self.note: Note | None = None
        self.within: InTransaction | None = None

    def answer(self, ticket: Ticket, response: Struct | ErrorCode) -> None:
        """A response to a waiting call, which may be an earlier one than the call of this turn."""
        self.answers.append(Answer(ticket, response))

    def decision(self) -> Decision:
        """All that was gathered."""
        return Decision(tuple(self.records), tuple(self.answers), self.note, self.within)


@dataclass(frozen=True, slots=True)
class Append:
    """Records of one partition that belong together; the shell says what became of the number."""

    number: int
    records: tuple[Entry, ...]
    within: InTransaction | None = None  # the records are
    end: TransactionEnd | None = None  # in place of records


@dataclass(frozen=True, slots=True)
class CoordinatorEffects:
    """What the shell is to do. Appends of a partition are made in the order they came in."""

    append: tuple[Append, ...] = ()  # 1. to the log; never behind an earlier one
    send: tuple[Any, ...] = ()  # 2. to brokers, until they have it or this leadership is over
    answer: tuple[Answer, ...] = ()  # 3. to clients


NO_EFFECTS = CoordinatorEffects()
