"""What clients use of this broker, held against their limits; who is above has to pause.

A request of a client with a limit is answered at once, with the time that its connection will not
be read (KIP-219): what it has sent meanwhile waits in the kernel's buffers. A fetch above the limit
is answered without records. Brokers among themselves have no limits. Where no limit is set for any
client, nothing is counted.
"""

from collections.abc import Awaitable, Collection, Generator, Mapping
from functools import lru_cache, partial
from itertools import count
from types import coroutine
from typing import Any, Final, NamedTuple, Protocol

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.timers import Timer, Timers
from odradek.config.broker import BrokerConfig
from odradek.config.rows import network as rows
from odradek.metadata.znodes.settings import Entity, EntityType, sanitized
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.names import DEFAULT_ENTITY
from odradek.model.units import SECOND, Micros, Millis
from odradek.ports import Clock
from odradek.quotas.changes import CONNECTIONS, OF_ADDRESSES, OF_CLIENTS, values
from odradek.quotas.limits import REMEMBERED_MAX, Kind, Limit, Limits, Owner, Share
from odradek.quotas.rate import Rate
from odradek.quotas.token_bucket import TokenBucket
from odradek.wire.schema import Response

PAUSE_MAX: Final = Millis((1 << 31) - 1)
"""What the protocol can say."""
PRODUCE: Final = 0
LEAST: Final = 0.001
"""What a limit of 0 counts as: Kafka's tree may hold one."""
LOOK_ROUND: Final = Millis(60 * SECOND)
"""How often rates are looked for that no client uses any more."""
CLIENT_ID_MAX: Final = 255
"""A client id counts by so many characters: each that is new is remembered for a while."""
PERCENT_OF_A_MICRO: Final = 100 / 1_000_000


class QuotaExceeded(BrokerError):
    """The client has made or deleted so much that it has to wait."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED


class _Windows(NamedTuple):
    number: int
    length: Millis


class Paused(NamedTuple):
    """Who has to pause, and until when."""

    client_id: str
    address: str
    until: Millis


class Throttled(Protocol):
    """A connection, as far as it has to pause."""

    def mute(self) -> None:
        """Reads no more, until `unmute` was called as often."""
        ...

    def unmute(self) -> None:
        """Reads on."""
        ...


class Quotas:
    """The limits of all clients, and what they have used."""

    def __init__(self, config: BrokerConfig, clock: Clock, timers: Timers) -> None:
        self.is_on = False  # some client has a limit
        self.throttled = 0  # requests so far whose connections had to pause
        self._limits = Limits()
        self._pauses = count()
        self._paused: dict[int, Paused] = {}
        self._timers_of: dict[Throttled, dict[int, Timer]] = {}  # that end them, by connection
        self._windows = _Windows(
            config[rows.QUOTA_WINDOW_NUM], Millis(SECOND * config[rows.QUOTA_WINDOW_SIZE_SECONDS])
        )
        self._clock = clock
        self._timers = timers
        self._mutation_windows = _Windows(
            config[rows.CONTROLLER_QUOTA_WINDOW_NUM],
            Millis(SECOND * config[rows.CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS]),
        )
        self._rates: dict[tuple[Kind, Share], Rate] = {}
        self._credits: dict[Share, TokenBucket] = {}
        self._connections: dict[str, float] = {}  # how many a second, by address
        self._heard_of: dict[str, Rate] = {}  # connections, by address
        self._is_looked_at = False  # which rates no client uses

    def on_entity(self, entity: Entity, texts: Mapping[str, str]) -> None:
        """These settings hold for users or clients from now on."""
        if entity.type is EntityType.IPS:
            self._on_address(entity.name, values(texts, OF_ADDRESSES).get(CONNECTIONS))
            return
        found = values(texts, OF_CLIENTS)
        limits = {Kind(name): max(value, LEAST) for name, value in found.items()}
        self._limits.put(owner_of(entity), limits)
        self.is_on = not self._limits.is_empty
        if not self.is_on:
            self._rates.clear()

    def _on_address(self, name: str, limit: float | None) -> None:
        if limit is None:
            self._connections.pop(name, None)
        else:
            self._connections[name] = limit

    def connected(self, address: str) -> Millis:
        """One more connection from there; for how long it is to be left unheard, and then closed.

        One that is refused is not counted, so that who tries all the time gets in at the rate.
        """
        limits = self._connections
        if not limits:
            return Millis(0)
        limit = limits.get(sanitized(address), limits.get(DEFAULT_ENTITY))
        if limit is None:
            return Millis(0)
        now = self.now()
        rate = self._heard_of.get(address)
        if rate is None:
            rate = self._heard_of[address] = Rate(*self._windows)
            self._look_at_idle()
        rate.record(1, now)
        pause = min(rate.pause(max(limit, LEAST), now), self._windows.length)
        if pause:
            rate.record(-1, now)
        return pause

    def record(self, kind: Kind, user: str, client: str, amount: float) -> Millis:
        """So much more of it; for how long there should be nothing more.

        A negative amount takes back what was not used after all.
        """
        limit = self._limits.find(kind, user, client)
        if limit is None:
            return Millis(0)
        now = self.now()
        rate = self._rate(kind, limit)
        rate.record(amount, now)
        longest = self._windows.length if kind is Kind.TIME else PAUSE_MAX
        return min(rate.pause(limit.value, now), longest)

    def used(self, kind: Kind, user: str, client: str) -> float:
        """How much of it a second, by all who share the limit; 0 where there is none."""
        limit = self._limits.find(kind, user, client)
        return 0 if limit is None else self._rate(kind, limit).per_second(self.now())

    def amount_max(self, kind: Kind, user: str, client: str) -> int:
        """More at once is too much even for who has used nothing."""
        limit = self._limits.find(kind, user, client)
        if limit is None:
            return PAUSE_MAX
        whole_windows = (self._windows.number - 1) * self._windows.length
        return int(limit.value * whole_windows / SECOND)

    def pause(self, client: Throttled, paused: Paused) -> None:
        """The connection is not read until then."""
        self.throttled += 1
        client.mute()
        number = next(self._pauses)
        self._paused[number] = paused

        def over() -> None:
            del self._paused[number]
            timers = self._timers_of[client]
            del timers[number]
            if not timers:
                del self._timers_of[client]
            client.unmute()

        timer = self._timers.after(Millis(paused.until - self.now()), over)
        self._timers_of.setdefault(client, {})[number] = timer

    def forget(self, client: Throttled) -> None:
        """The connection has ended; a pause may last for days."""
        for number, timer in self._timers_of.pop(client, {}).items():
            timer.cancel()
            del self._paused[number]

    def paused(self) -> Collection[Paused]:
        """Clients that have to pause now; one with several connections may be there more often."""
        return self._paused.values()

    def credit(self, user: str, client: str) -> TokenBucket | None:
        """For making and deleting partitions; None where that has no limit."""
        limit = self._limits.find(Kind.MUTATIONS, user, client)
        if limit is None:
            return None
        found = self._credits.get(limit.share)
        if found is None or found.limit != limit.value:
            seconds = self._mutation_windows.number * self._mutation_windows.length / SECOND
            found = self._credits[limit.share] = TokenBucket(limit.value, seconds, self.now())
            self._look_at_idle()
        return found

    def now(self) -> Millis:
        """For a credit."""
        return self._clock.monotonic()

    def micros(self) -> Micros:
        """For the time that a request takes."""
        return self._clock.micros()

    def _rate(self, kind: Kind, limit: Limit) -> Rate:
        key = (kind, limit.share)
        found = self._rates.get(key)
        if found is None:
            found = self._rates[key] = Rate(*self._windows)
            self._look_at_idle()
        return found

    def _look_at_idle(self) -> None:
        if not self._is_looked_at:
            self._is_looked_at = True
            self._timers.after(LOOK_ROUND, self._forget_idle)

    def _forget_idle(self) -> None:
        now = self.now()
        self._rates = {key: it for key, it in self._rates.items() if not it.is_idle(now)}
        self._credits = {key: it for key, it in self._credits.items() if not it.is_full(now)}
        self._heard_of = {key: it for key, it in self._heard_of.items() if not it.is_idle(now)}
        self._is_looked_at = False
        if self._rates or self._credits or self._heard_of:
            self._look_at_idle()


class ClientCharge:
    """What one request of a client is charged with, once it is answered."""

    __slots__ = (
        "_client",
        "_connection",
        "_pause",
        "_quotas",
        "_spent",
        "_user",
        "told",
    )

    def __init__(self, quotas: Quotas, pending: PendingRequest, connection: Throttled) -> None:
        self._quotas = quotas
        self._connection = connection
        self._user = _written(pending.connection.principal.name)
        self._client = _written(pending.client_id[:CLIENT_ID_MAX])
        self._pause = Millis(0)
        self.told = Millis(0)  # for how long the client has to pause
        self._spent = 0  # microseconds of the loop by a coroutine, which also waits for others

    def fetch_max(self) -> int:
        """How many bytes may be sent at once, whatever was sent before."""
        return self._quotas.amount_max(Kind.FETCHED, self._user, self._client)

    def may_fetch(self, size: int) -> bool:
        """Whether so many bytes may be sent; if not, none are, and they are not counted.

        A batch that is larger than all that is allowed is sent to a client that had nothing.
        """
        used = self._quotas.used(Kind.FETCHED, self._user, self._client)
        self._pause = self._quotas.record(Kind.FETCHED, self._user, self._client, size)
        if self._pause and used:
            self._quotas.record(Kind.FETCHED, self._user, self._client, -size)
            return False
        return True

    def mutate(self, partitions: int, *, is_strict: bool) -> None:
        """Counts partitions that are made or deleted; refused, if strict, after too many before.

        An old client does not know the refusal: what it asks for is done, and it pauses (KIP-599).
        """
        credit = self._quotas.credit(self._user, self._client)
        if credit is None:
            return
        owed = credit.pause(self._quotas.now())
        if not (owed and is_strict):
            credit.take(partitions, self._quotas.now())
            owed = Millis(0) if is_strict else credit.pause(self._quotas.now())
        self._pause = max(self._pause, owed)
        if owed and is_strict:
            raise QuotaExceeded(f"more may be made or deleted in {owed} ms")

    def on_answer(self, pending: PendingRequest, response: Response | None) -> None:
        """Counts it, and tells the client how long it has to wait."""
        record = self._quotas.record
        pause = self._pause
        if pending.key == PRODUCE:
            pause = record(Kind.PRODUCED, self._user, self._client, len(pending.frame))
        answered = pending.waits_from or self._quotas.micros()
        percent = PERCENT_OF_A_MICRO * (self._spent or answered - pending.begun_at)
        pause = max(pause, record(Kind.TIME, self._user, self._client, percent))
        if not pause or pending.connection.is_over:
            return
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = pause
        self.told = pause
        over = Millis(self._quotas.now() + pause)
        address = pending.connection.peer[0]
        self._quotas.pause(self._connection, Paused(pending.client_id, address, over))

    @coroutine
    def timed(self, answer: Awaitable[Response]) -> Generator[Any, Any, Response]:
        """The same answer; the time of the loop that it takes is counted, not what it waits for."""
        steps: Any = answer.__await__()
        step = partial(steps.send, None)
        while True:
            begun = self._quotas.micros()
            try:
                awaited = step()
            except StopIteration as end:
                response: Response = end.value
                return response
            finally:
                self._spent += self._quotas.micros() - begun
            try:
                step = partial(steps.send, (yield awaited))
            except BaseException as error:  # noqa: BLE001 - it is the answer's to deal with
                step = partial(steps.throw, error)


@lru_cache(maxsize=REMEMBERED_MAX)
def _written(name: str) -> str:
    return sanitized(name)


def owner_of(entity: Entity) -> Owner:
    """Whose settings they are, by the name of the znode."""
    if entity.type is EntityType.CLIENTS:
        return Owner(None, entity.name)
    user, _, client = entity.name.partition(f"/{EntityType.CLIENTS.value}/")
    return Owner(user, client or None)
