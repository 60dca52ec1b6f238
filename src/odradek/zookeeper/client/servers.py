"""Which server of an ensemble a client tries next, and how long it waits before that.

Every server is tried once, one right behind the other; after that ever more slowly, so that an
ensemble that is away is not hammered. A connection that held begins the count anew.
"""

from collections.abc import Sequence
from typing import Final

from odradek.model.units import SECOND, Millis
from odradek.ports import Address, Random
from odradek.zookeeper.client.address import shuffled

BACKOFF_FIRST: Final = Millis(50)  # after every server was tried once
BACKOFF_MAX: Final = SECOND


class Servers:
    """The servers of one ensemble, in an order of this client's own."""

    def __init__(self, servers: Sequence[Address], random: Random) -> None:
        self._order = shuffled(servers, random)
        self._random = random
        self._turn = 0  # counts those that were tried, and those that were looked at
        self._tries = 0  # since the last connection that held

    def __len__(self) -> int:
        """How many there are."""
        return len(self._order)

    def try_next(self) -> Address:
        """The next one, to be connected to."""
        self._tries += 1
        return self.look_at_next()

    def look_at_next(self) -> Address:
        """The next one, to be asked something only."""
        server = self._order[self._turn % len(self._order)]
        self._turn += 1
        return server

    def prefer(self, server: Address) -> None:
        """Tries this one next, and at once."""
        self._turn = self._order.index(server)
        self._tries = 0

    def forgive(self) -> None:
        """A connection held, or another session begins: all may be tried at once again."""
        self._tries = 0

    def pause(self) -> Millis:
        """How long to wait before the next try."""
        rounds = self._tries // len(self._order)
        if not rounds:
            return Millis(0)
        bound = min(BACKOFF_FIRST << min(rounds - 1, 16), BACKOFF_MAX)
        return Millis(bound // 2 + self._random.below(bound // 2 + 1))
