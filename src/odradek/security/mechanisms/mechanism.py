"""What every mechanism of SASL is: a conversation of tokens, on either side.

A mechanism knows no frames, no sockets and no clock. What it needs of chance is handed in. A token
that is wrong raises `AuthenticationFailed`, and the conversation is over.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from odradek.model.units import Millis
from odradek.security.principal import Principal


class Challenge(NamedTuple):
    """The answer to a token; the client has to say more."""

    answer: bytes
    refused: str | None = None  # why; the client is told with its next token


class Proven(NamedTuple):
    """The answer to the last token, and whose name it has proven."""

    answer: bytes
    principal: Principal
    valid_ms: Millis | None = None  # for how long; None: no end is known


class ServerMechanism(Protocol):
    """A listener's side of one conversation."""

    def evaluate(self, token: bytes) -> Challenge | Proven:
        """What is said to the client's token."""
        ...


class ClientMechanism(Protocol):
    """A client's side of one conversation."""

    def first(self) -> bytes:
        """The token that begins it."""
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """The next token; None: the server's last answer was as it must be."""
        ...


NewServerMechanism = Callable[[], ServerMechanism]
NewClientMechanism = Callable[[], ClientMechanism]
