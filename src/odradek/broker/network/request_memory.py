"""How much memory the requests of all connections together may take.

Two bounds. `queued.max.request.bytes`, if it is set, counts requests from the moment their length
is known until they are answered. And always: requests of which only a part has arrived share
`ARRIVING_BYTES_MAX`, because nothing is known of their senders yet. A small request needs none of
it, since it arrives whole in a buffer that all connections share.

A connection that gets no memory is not read until there is some. The request that arrives longest
always gets its memory, so one of them makes progress; while others wait, a request that has been
arriving for `ARRIVING_MICROS_MAX` is given up with its connection: by then its client has, too.
"""

from collections.abc import Callable
from typing import Final, Protocol

from odradek.model.units import MIB, SECOND, Bytes, Micros

ARRIVING_BYTES_MAX: Final = Bytes(256 * MIB)
ARRIVING_MICROS_MAX: Final = Micros(30 * 1_000 * SECOND)
"""A client's `request.timeout.ms`, as it is by default."""


class Arriving(Protocol):
    """A connection with a request of which a part has arrived."""

    def look_at_bounds(self) -> None:
        """There is memory for the rest of it."""
        ...

    def hang_up(self, reason: str) -> None:
        """Closes at once."""
        ...


class _Claim:
    """The memory of one request that is arriving."""

    __slots__ = ("announced", "held", "since", "wanted")

    def __init__(self, announced: int, since: Micros) -> None:
        self.announced = announced  # its size, counted for `queued.max.request.bytes` once granted
        self.since = since
        self.held = 0  # granted: 0 <= held <= wanted
        self.wanted = 0


class RequestMemory:
    """Who has how much of it, and who waits."""

    def __init__(
        self, bytes_max: Bytes | None, *, arriving_bytes_max: Bytes = ARRIVING_BYTES_MAX
    ) -> None:
        self._bytes_max = bytes_max
        self._arriving_bytes_max = arriving_bytes_max
        self._taken = 0
        self._arriving_bytes = 0
        self._claims: dict[Arriving, _Claim] = {}  # the oldest first
        self._waiting: dict[Arriving, None] = {}  # the one that waits longest first

    @property
    def is_bounded(self) -> bool:
        """Whether requests are counted until they are answered."""
        return self._bytes_max is not None

    def take(self, count: int) -> None:
        """A request of this size is open."""
        self._taken += count

    def give_back(self, count: int) -> None:
        """It was answered, or its client is gone."""
        self._taken -= count
        self._grant()

    def claim(self, connection: Arriving, wanted: int, announced: int, now: Micros) -> bool:
        """Whether this much of an announced request may be held; if not, it waits for it."""
        claim = self._claims.get(connection)
        if claim is None:
            claim = self._claims[connection] = _Claim(announced, now)
        claim.wanted = wanted
        if self._waiting or not self._may_have(connection, claim):
            self._waiting[connection] = None
            self._grant()
            return connection not in self._waiting
        self._give(claim)
        return True

    def release(self, connection: Arriving) -> None:
        """The request has arrived, or never will."""
        claim = self._claims.pop(connection, None)
        if claim is None:
            return
        self._waiting.pop(connection, None)
        self._arriving_bytes -= claim.held
        if claim.held:
            self._taken -= claim.announced
        self._grant()

    def waits(self, connection: Arriving) -> bool:
        """Whether it is to be told when there is memory."""
        return connection in self._waiting

    def give_up_slow(self, now: Micros) -> None:
        """Hangs up on those that hold for too long what others wait for."""
        if not self._waiting:
            return
        for connection, claim in list(self._claims.items()):
            if now - claim.since <= ARRIVING_MICROS_MAX:
                break
            connection.hang_up("its request arrives too slowly, and others wait for memory")

    def _may_have(self, connection: Arriving, claim: _Claim) -> bool:
        if self._bytes_max is not None and not claim.held and self._taken >= self._bytes_max:
            return False
        more = claim.wanted - claim.held
        if self._arriving_bytes + more <= self._arriving_bytes_max:
            return True
        return next(iter(self._claims)) is connection

    def _give(self, claim: _Claim) -> None:
        if not claim.held:
            self._taken += claim.announced
        self._arriving_bytes += claim.wanted - claim.held
        claim.held = claim.wanted

    def _grant(self) -> None:
        """To those that wait, in their order; the oldest request is never kept waiting."""
        ready: list[Callable[[], None]] = []
        if self._waiting:
            oldest = next(iter(self._claims))
            for connection in (oldest, *self._waiting):
                claim = self._claims[connection]
                if connection not in self._waiting:
                    continue
                if not self._may_have(connection, claim):
                    if connection is oldest:
                        continue
                    break
                self._give(claim)
                del self._waiting[connection]
                ready.append(connection.look_at_bounds)
        for tell in ready:
            tell()
