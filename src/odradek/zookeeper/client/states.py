"""The states of a client's session, each a type, and the table of which may follow which.

Only `Live` may act. Everything else means for the owner: stop acting now. The session itself goes
on until the server says that it has expired, or its owner closes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from odradek.model.units import Millis
from odradek.security.mechanisms.mechanism import ClientMechanism


@dataclass(frozen=True, slots=True)
class Idle:
    """Not begun."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Between two tries: no connection, and none asked for until a moment."""

    until: Millis


@dataclass(frozen=True, slots=True)
class Dialling:
    """A connection was asked for."""

    give_up: Millis


@dataclass(frozen=True, slots=True)
class Greeting:
    """Connected; the server was asked for the session."""

    give_up: Millis


@dataclass(frozen=True, slots=True)
class Proving:
    """The session is there; on this connection the client proves its name, before all else."""

    give_up: Millis
    login: ClientMechanism
    read_only: bool | None


class Search(NamedTuple):
    """When to look again for a server that writes, and how long the last pause was."""

    at: Millis
    pause: Millis


@dataclass(frozen=True, slots=True)
class Live:
    """The server has confirmed the session on this connection.

    It only reads, being cut off from its ensemble, where there is a search for one that writes.
    """

    since: Millis
    search: Search | None


@dataclass(frozen=True, slots=True)
class Leaving:
    """The owner closes the session; the server's answer is awaited until a moment."""

    give_up: Millis


@dataclass(frozen=True, slots=True)
class Expired:
    """The server has ended the session. The owner may begin another."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The server did not accept the credentials. The owner may begin again with others."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Over, for good."""


State = Idle | Waiting | Dialling | Greeting | Proving | Live | Leaving | Expired | Refused | Closed

PREDECESSORS: Final[Mapping[type[State], frozenset[type[State]]]] = {
    Idle: frozenset(),
    Waiting: frozenset({Dialling, Greeting, Proving, Live}),
    Dialling: frozenset({Idle, Waiting, Expired, Refused}),
    Greeting: frozenset({Dialling}),
    Proving: frozenset({Greeting}),
    Live: frozenset({Greeting, Proving}),
    Leaving: frozenset({Live}),
    Expired: frozenset({Greeting}),
    Refused: frozenset({Proving, Live}),
    Closed: frozenset({Idle, Waiting, Dialling, Greeting, Proving, Leaving, Expired, Refused}),
}


class Status(Enum):
    """What the owner needs to know of a state."""

    CONNECTED = "connected"
    READ_ONLY = "connected, for reads only"
    DISCONNECTED = "not connected: the session may live or not; nothing may be assumed"
    EXPIRED = "expired: the ephemeral nodes and the watches are gone"
    AUTH_FAILED = "the credentials were refused"
    CLOSED = "closed by its owner"


class StatusChanged(NamedTuple):
    """A turn in the life of the session, in its place among results and events."""

    status: Status
    reason: str


def status_of(state: State) -> Status:
    """The owner's view of a state."""
    match state:
        case Live(search=search):
            return Status.CONNECTED if search is None else Status.READ_ONLY
        case Expired():
            return Status.EXPIRED
        case Refused():
            return Status.AUTH_FAILED
        case Closed():
            return Status.CLOSED
        case Idle() | Waiting() | Dialling() | Greeting() | Proving() | Leaving():
            return Status.DISCONNECTED
