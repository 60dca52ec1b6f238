"""How this process proves its name to another: a mechanism, and the token that some show."""

from typing import Final, NamedTuple

from odradek.model.units import SECOND, Millis
from odradek.peers.token_source import TokenSource
from odradek.security.mechanisms.mechanism import NewClientMechanism

LOGIN_MS_MAX: Final = Millis(10 * SECOND)


class Login(NamedTuple):
    """The same for all connections."""

    mechanism: str
    make: NewClientMechanism
    source: TokenSource | None = None  # of the token that `make` shows

    def refused(self) -> None:
        """The other side does not believe it."""
        if self.source is not None:
            self.source.refused()


def token_login(mechanism: str, source: TokenSource) -> Login:
    """With the token of a source."""
    return Login(mechanism, source.mechanism, source)
