"""The broker's listeners, and all connections that came by them.

Listeners are bound before the broker registers, because it registers their ports. Beyond the limits
of the broker, connections wait to be accepted. Beyond the limit of its address a connection is
closed at once, and an idle one within a few seconds.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from odradek.broker.doors import Doors
from odradek.broker.network.connection import Connection
from odradek.broker.network.connection_limits import ConnectionLimits
from odradek.broker.network.line_limit import LineLimit
from odradek.broker.network.login import ListenersSecurity, Logins, Named
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.network.quotas import Quotas
from odradek.broker.network.request_memory import RequestMemory
from odradek.broker.network.session import Session
from odradek.broker.timers import Timers
from odradek.config.broker import BrokerConfig
from odradek.config.derived import advertised, advertises_automatically, security_protocol
from odradek.config.listeners import Listener as ListenerSetting
from odradek.config.rows import network as rows
from odradek.config.setting import BrokerSetting
from odradek.metadata.nouns import Broker, Endpoint
from odradek.model.errors import ErrorCode, InvalidSetting
from odradek.model.units import SECOND, Millis
from odradek.peers.handover import Unheard
from odradek.ports import Address, Clock, Listener, Receiver, Stream
from odradek.wire.framing import Scratch
from odradek.wire.messages.api_versions import ApiVersionsResponse

ROUND: Final = Millis(5 * SECOND)
"""How often idle connections are looked for; a microsecond for each connection."""


class Limits(NamedTuple):
    """How many connections there may be from one address, and how long they may say nothing."""

    per_address_max: int
    per_address: Mapping[str, int]
    idle_max: Millis | None

    @classmethod
    def of(cls, config: BrokerConfig) -> "Limits":
        """As the settings say now."""
        return cls(
            config[rows.MAX_CONNECTIONS_PER_IP],
            config[rows.MAX_CONNECTIONS_PER_IP_OVERRIDES],
            config[rows.CONNECTIONS_MAX_IDLE_MS],
        )


@contextmanager
def naming(setting: BrokerSetting[Any], value: str) -> Iterator[None]:
    """A port that cannot be bound, with the setting that names it."""
    try:
        yield
    except OSError as error:
        raise InvalidSetting(f"{setting.name}={value}: {error.strerror or error}") from error


class ListenerDeps(NamedTuple):
    """Who takes what comes in by the listeners, and their security, once the ports are taken."""

    on_frame: Callable[[Connection, bytearray], None]
    security: ListenersSecurity
    on_named: Callable[[Client], None]
    on_login_refused: Callable[[str, Address, str], None]


class SocketServer:
    """What all connections have in common."""

    def __init__(
        self,
        config: BrokerConfig,
        doors: Doors,
        timers: Timers,
        *,
        api_versions: Callable[[ErrorCode], ApiVersionsResponse],
        on_answer: Callable[[PendingRequest], None],
    ) -> None:
        """`api_versions`: what is offered, and `on_answer`: who hears of each answer."""
        self.scratch = Scratch()
        self.clock: Clock = doors.clock
        self.lines = LineLimit(doors.clock)
        self.memory = RequestMemory(config[rows.QUEUED_MAX_REQUEST_BYTES])
        self.frame_bytes_max: int = config[rows.SOCKET_REQUEST_MAX_BYTES]
        self.limits = Limits.of(config)
        self.quotas = Quotas(config, doors.clock, timers)
        self.failed_delay = config[rows.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS]
        self.connections: dict[Connection, None] = {}
        self.accepted = 0
        self.is_open = False
        self.on_frame, self._security, self.on_named, self.on_login_refused = NOTHING
        self.on_answer = self._usual = on_answer  # and those who watch for a while
        self._watchers: dict[Callable[[PendingRequest], None], None] = {}
        self._config = config
        self._doors = doors
        self._timers = timers
        self._listeners: dict[str, Listener] = {}
        self._connection_limits = ConnectionLimits(doors.clock, timers)
        self._by_address: Counter[str] = Counter()
        self._automatic = advertises_automatically(config)
        self.api_versions = api_versions
        self._logins: dict[str, Logins] = {}

    # Listening

    async def bind(self, deps: ListenerDeps) -> tuple[Endpoint, ...]:
        """Takes the ports; where the broker is found by them."""
        self.on_frame, self._security, self.on_named, self.on_login_refused = deps
        for listener in self._config[rows.LISTENERS]:
            name = listener.name
            with naming(rows.LISTENERS, str(listener)):
                self._listeners[name] = await self._doors.network.listen(
                    (listener.host, listener.port), self._accepting(name)
                )
        self._connection_limits.configure(self._listeners, self._config)
        return tuple(self._endpoint(listener) for listener in advertised(self._config))

    def _accepting(self, listener: str) -> Callable[[Stream], Receiver]:
        """What a listener does with a client: it is asked for its name first, or not."""
        security = self._security.get(listener)
        if security is None:
            return partial(self._admit, partial(self._accept, listener))
        logins = self._logins[listener] = Logins(self, self._timers, listener, security)
        return partial(self._admit, logins.accept)

    def _admit(self, accept: Callable[[Stream], Receiver], stream: Stream) -> Receiver:
        """Where too many come from one address, the rest are closed, after a while (KIP-612)."""
        pause = self.quotas.connected(stream.peer[0])
        if not pause:
            return accept(stream)
        stream.pause()
        self._timers.after(pause, stream.abort)
        return Unheard()

    def _endpoint(self, listener: ListenerSetting) -> Endpoint:
        bound = self._listeners.get(listener.name)
        port = listener.port or (bound.address[1] if bound else 0)
        host = listener.host or self._doors.hostname
        return Endpoint(listener.name, host, port, security_protocol(self._config, listener))

    @property
    def addresses(self) -> dict[str, Address]:
        """Where it listens, by listener."""
        return {name: listener.address for name, listener in self._listeners.items()}

    def configure(self, config: BrokerConfig) -> None:
        """These limits hold from now on; who is connected stays."""
        self.limits = Limits.of(config)
        self._connection_limits.configure(self._listeners, config)

    def open(self) -> None:
        """Everybody is read from now on."""
        self.is_open = True
        for connection in self.connections:
            connection.stream.resume()
        for logins in self._logins.values():
            logins.resume()
        self._timers.at(Millis(self.clock.monotonic() + ROUND), self._close_idle)

    def close_listeners(self) -> None:
        """No more connections; requests that are open go on."""
        for listener in self._listeners.values():
            listener.close()

    @property
    def open_requests(self) -> int:
        """Of all connections together."""
        return sum(len(connection.row) for connection in self.connections)

    def close(self) -> None:
        """Everybody is sent away, with what was answered."""
        for connection in list(self.connections):
            connection.close()
        for logins in self._logins.values():
            logins.close()

    @contextmanager
    def watched(self, watcher: Callable[[PendingRequest], None]) -> Iterator[None]:
        """Each answer that leaves is told to the watcher, too."""
        if not self._watchers:
            self.on_answer = self._tell_all
        self._watchers[watcher] = None
        try:
            yield
        finally:
            del self._watchers[watcher]
            if not self._watchers:
                self.on_answer = self._usual

    def _tell_all(self, pending: PendingRequest) -> None:
        self._usual(pending)
        for watcher in self._watchers:
            watcher(pending)

    # Where a broker is found

    def endpoint(self, client: Client, broker: Broker, *, is_me: bool) -> Endpoint | None:
        """By the listener that the client came by; ourselves, perhaps, where it has found us."""
        found = broker.endpoint(client.listener)
        if found is None or not is_me:
            return found
        bound = next(it for it in self._config[rows.LISTENERS] if it.name == client.listener)
        unnamed = not bound.host and self._config[rows.ADVERTISED_LISTENERS] is None
        if self._automatic or unnamed:
            host, port = client.local
            return found._replace(host=host, port=port)
        return found

    # Connections

    def _accept(self, listener: str, stream: Stream) -> Connection:
        self.accepted += 1
        connection = Connection(self, stream, listener)
        address, limits = stream.peer[0], self.limits
        self.connections[connection] = None
        self._connection_limits.entered(listener)
        self._by_address[address] += 1
        here_max = limits.per_address.get(address, limits.per_address_max)
        if self._by_address[address] > here_max:
            connection.hang_up("max.connections.per.ip is reached")
        elif not self.is_open:
            stream.pause()
        return connection

    def named(self, listener: str, named: Named) -> Connection:
        """A client whose name is known."""
        connection = self._accept(listener, named.stream)
        connection.principal, connection.software = named.principal, named.software
        if named.exchange is not None:
            over = partial(connection.hang_up, "connections.max.reauth.ms has passed")
            connection.session = Session(named.exchange, (self.clock, self._timers), over)
        self.on_named(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        """It is over."""
        if connection.session is not None:
            connection.session.end()
            connection.session = None
        self.quotas.forget(connection)
        del self.connections[connection]
        self._connection_limits.left(connection.listener)
        address = connection.peer[0]
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _close_idle(self) -> None:
        """Who waits for an answer is not idle, unless it does not take those it was given."""
        now, idle_max = self.clock.micros(), self.limits.idle_max
        if idle_max is not None:
            for connection in list(self.connections):
                is_busy = connection.row and not connection.stream.unsent
                active_at = max(connection.arrived_at, connection.taken_at)
                if now - active_at > 1_000 * idle_max and not is_busy:
                    connection.hang_up("connections.max.idle.ms has passed")
        self.memory.give_up_slow(now)
        self._timers.at(Millis(self.clock.monotonic() + ROUND), self._close_idle)


def _too_early(connection: Connection, frame: bytearray) -> None:
    """Nothing is read before it is open."""
    raise AssertionError(connection, len(frame))


def not_audited(listener: str, peer: Address, reason: str) -> None:
    """There is no audit log."""


def nothing_to_tell(client: Client) -> None:
    """There is no audit log."""


NOTHING: Final = ListenerDeps(_too_early, {}, nothing_to_tell, not_audited)
"""As long as no port is taken."""
