"""A ZooKeeper server without a network: clients that speak bytes, and a journal in a list."""

from collections.abc import Iterable
from typing import Final

from odradek.model.units import Millis, Timestamp
from odradek.ports import Entry
from odradek.zookeeper.protocol.codes import KeeperCode
from odradek.zookeeper.protocol.jute import Packets, framed
from odradek.zookeeper.protocol.jute_replies import (
    Connected,
    Event,
    Reply,
    event_body,
    reply_body,
    reply_header,
)
from odradek.zookeeper.protocol.jute_requests import OPS, Connect, Request, framed_request
from odradek.zookeeper.server.connection import Connection
from odradek.zookeeper.server.server import Moment, Server
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree import snapshot
from odradek.zookeeper.tree.database import Database

TIMEOUT: Final = 10_000


class Counted:
    """The Random door, and nothing random about it."""

    def __init__(self) -> None:
        self.drawn = 0

    def below(self, bound: int) -> int:
        """The next number."""
        self.drawn += 1
        return self.drawn % bound

    def bytes(self, count: int) -> bytes:
        """The next number, over and over."""
        self.drawn += 1
        return bytes([self.drawn % 256]) * count


class World:
    """A server, its journal, and what time it is. Nothing happens by itself."""

    def __init__(
        self, settings: ServerSettings | None = None, database: Database | None = None
    ) -> None:
        self.settings = settings or ServerSettings()
        self.monotonic = Millis(1_000_000)
        self.wall = Timestamp(1_700_000_000_000)
        self.journal: list[Entry] = []
        self.slow = False  # then nothing becomes durable before `catch_up`
        self.server = Server(
            database or Database(), self.settings, Counted(), Moment(self.monotonic, self.wall)
        )
        self.clients: dict[Connection, Client] = {}

    @property
    def moment(self) -> Moment:
        """Now."""
        return Moment(self.monotonic, self.wall)

    def client(self, host: str = "127.0.0.1", *, greets: bool = True) -> "Client":
        """Somebody connects, and asks for a session unless told not to."""
        client = Client(self, host)
        if greets:
            client.greet(Connect(0, TIMEOUT))
        return client

    def settle(self) -> None:
        """Carries out all that the server wants."""
        while effects := self.server.take():
            self.journal += effects.append
            for connection, chunks in effects.send:
                self.clients[connection].take(chunks)
            for connection in effects.pause:
                self.clients[connection].paused = True
            for connection in effects.resume:
                self.clients[connection].paused = False
            for ending in effects.end:
                self.clients[ending.connection].hang_up(ending.reason)
            if effects.append and not self.slow:
                self.catch_up()

    def catch_up(self) -> None:
        """The journal has everything now."""
        if self.journal:
            self.server.durable(self.journal[-1].zxid, self.moment)
        self.settle()

    def wait(self, milliseconds: int) -> None:
        """Time passes, and the server looks at the clock when it wanted to."""
        end = self.monotonic + milliseconds
        while (due := self.server.next_tick()) is not None and due <= end:
            self._move_to(max(due, self.monotonic))
            self.server.tick(self.moment)
            self.settle()
        self._move_to(end)

    def restart(self, *, lost: int = 0) -> "World":
        """What the journal makes of it; `lost` entries were not durable."""
        kept = self.journal[: len(self.journal) - lost]
        return World(self.settings, Database.restore([], kept))

    def restart_from_snapshot(self) -> "World":
        """The same by way of a snapshot."""
        rows = list(snapshot.encode(self.server.database.state()))
        return World(self.settings, Database.restore(rows, []))

    def _move_to(self, monotonic: int) -> None:
        self.wall = Timestamp(self.wall + monotonic - self.monotonic)
        self.monotonic = Millis(monotonic)


class Client:
    """One connection and what came over it."""

    def __init__(self, world: World, host: str) -> None:
        self.world = world
        self.connected: Connected | None = None
        self.events: list[Event] = []
        self.event_zxids: list[int] = []
        self.replies: list[tuple[int, int, int, bytes]] = []  # xid, zxid, error, packet
        self.order: list[str] = []  # "event" or "reply", as they came
        self.hung_up: str | None = None  # why
        self.paused = False
        self.reads = True  # what it does not read stays with the server
        self.unread = 0
        self.raw = b""
        self.lingers = False  # it lets the server wait before the connection is really closed
        self._ops: dict[int, int] = {}
        self._packets = Packets(1 << 26)
        self._greeted = False
        self._xid = 0
        connection = world.server.connected((host, 50_000), world.moment)
        assert connection is not None, "refused"
        self.connection = connection
        world.clients[connection] = self

    @property
    def session_id(self) -> int:
        """The session's number."""
        assert self.connected is not None
        return self.connected.session_id

    def greet(self, connect: Connect) -> Connected | None:
        """Asks for a session."""
        self._greeted = True
        self.say(framed(connect.body()))
        return self.connected

    def say(self, data: bytes) -> None:
        """Bytes, whatever they are."""
        self.world.server.received(self.connection, data, self.world.moment)
        self.world.settle()

    def send(self, *requests: Request) -> None:
        """Requests, all at once, without waiting."""
        self.say(b"".join(self.frame(request) for request in requests))

    def frame(self, request: Request) -> bytes:
        """A request under the next number."""
        self._xid += 1
        self._ops[self._xid] = OPS[type(request)]
        return framed_request(self._xid, request)

    def ask(self, request: Request) -> Reply | KeeperCode:
        """A request and what comes of it, which must be there at once."""
        self.send(request)
        assert self.replies, "no answer"
        assert self.replies[-1][0] == self._xid, self.replies[-1]
        return self.answers()[-1]

    def answers(self) -> list[Reply | KeeperCode]:
        """All that came so far."""
        return [
            reply_body(self._ops[xid], packet) if error == 0 else KeeperCode(error)
            for xid, _, error, packet in self.replies
        ]

    def leave(self) -> None:
        """The connection breaks."""
        self.world.server.closed(self.connection)
        self.world.settle()

    def take(self, chunks: Iterable[bytes]) -> None:
        """What the server sends."""
        data = b"".join(chunks)
        if not self.reads:
            self.unread += len(data)
            self.world.server.sent(self.connection, self.unread)
            return
        self.world.server.sent(self.connection, 0)
        if self._greeted:
            for packet in self._packets.feed(data):
                self._read(packet)
        else:
            self.raw += data

    def hang_up(self, reason: str) -> None:
        """The server closes."""
        self.hung_up = reason
        if not self.lingers:
            self.world.server.closed(self.connection)

    def _read(self, packet: bytes) -> None:
        if self.connected is None:
            self.connected = Connected.decode(packet)
            return
        xid, zxid, error = reply_header(packet)
        if xid == -1:
            self.events.append(event_body(packet))
            self.event_zxids.append(zxid)
            self.order.append("event")
        else:
            self.replies.append((xid, zxid, error, packet))
            self.order.append("reply")
