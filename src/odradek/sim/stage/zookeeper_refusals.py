"""A ZooKeeper server that refuses: some requests for a while, connections, or new sessions.

ZooKeeper's own servers do so. One that is overloaded answers that it did not try (THROTTLEDOP); one
to whose ensemble the session has come by another way says so, and hangs up (SESSIONMOVED); one that
took too long says that alone (OPERATIONTIMEOUT), or hangs up without a word: then what was asked
was done, or it was not. Pings, and what begins or ends a session, are answered all the same.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.ensemble.server import Doors, ZookeeperServer
from odradek.ports import Random
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.zookeeper_lag import Lag, now_of
from odradek.zookeeper.protocol.codes import NO_ZXID, KeeperCode, OpCode
from odradek.zookeeper.protocol.jute_replies import framed_reply
from odradek.zookeeper.protocol.jute_request_reader import request_header
from odradek.zookeeper.protocol.jute_requests import Connect
from odradek.zookeeper.server.connection import Connection, Phase
from odradek.zookeeper.server.server import Moment, Server
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree.database import Database

REFUSED: Final = "request.refused"
TURNED_AWAY: Final = "client.turned_away"


class Refusal(NamedTuple):
    """One way to refuse a request."""

    name: str
    code: KeeperCode | None  # of the answer; None: there is none
    hangs_up: bool
    may_be_done: bool


REFUSALS: Final = (
    Refusal("throttled", KeeperCode.THROTTLEDOP, hangs_up=False, may_be_done=False),
    Refusal("timed out", KeeperCode.OPERATIONTIMEOUT, hangs_up=False, may_be_done=True),
    Refusal("moved", KeeperCode.SESSIONMOVED, hangs_up=True, may_be_done=False),
    Refusal("not answered", None, hangs_up=True, may_be_done=True),
)
MAY_BE_REFUSED: Final = frozenset(
    {
        OpCode.CREATE,
        OpCode.CREATE2,
        OpCode.DELETE,
        OpCode.EXISTS,
        OpCode.GET_DATA,
        OpCode.SET_DATA,
        OpCode.GET_CHILDREN,
        OpCode.GET_CHILDREN2,
        OpCode.SYNC,
        OpCode.MULTI,
    }
)


class Refusals:
    """What a server refuses now; it outlives the server's lives.

    Noted: `request.refused` how, and whether it was done; `client.turned_away` what it wanted.
    """

    def __init__(self, chance: SeededRandom, note: Callable[..., None]) -> None:
        self.ways: tuple[Refusal, ...] = ()  # of requests; one is drawn for each
        self.one_in = 1  # so many requests
        self.connections = False  # whether all new ones are refused
        self.sessions = False  # likewise; who has one may come back
        self.note = note
        self._chance = chance

    def end(self) -> None:
        """Nothing is refused any more."""
        self.ways, self.connections, self.sessions = (), False, False

    def refuse(self, packet: bytes) -> tuple[Refusal, bool] | None:
        """How this request is refused, and whether it is done even so; None: it is not."""
        if not self.ways or request_header(packet)[1] not in MAY_BE_REFUSED:
            return None
        if self._chance.below(self.one_in):
            return None
        way = self.ways[self._chance.below(len(self.ways))]
        is_done = way.may_be_done and bool(self._chance.below(2))
        self.note(REFUSED, way.name, is_done)
        return way, is_done


class RefusingServer(Server):
    """The product's, which refuses now and then."""

    def __init__(
        self,
        database: Database,
        settings: ServerSettings,
        random: Random,
        *,
        now: Moment,
        refusals: Refusals,
        lag: Lag,
    ) -> None:
        super().__init__(database, settings, random, now)
        self._refusals = refusals
        self._lag = lag
        lag.forget()
        self._instead: bytes | None = None  # of the answer that is being made

    def _greet(self, connection: Connection, packet: bytes) -> None:
        self._lag.catch_up(connection.peer[0], self)  # or it would refuse who has seen more
        refusals = self._refusals
        is_new = refusals.sessions and not Connect.decode(packet).session_id
        if refusals.connections or is_new:
            refusals.note(TURNED_AWAY, "session" if is_new else "connection")
            self.end(connection, "it is turned away", at_once=True)
        else:
            super()._greet(connection, packet)

    def _answer(self, connection: Connection, packet: bytes) -> None:
        refused = self._refusals.refuse(packet)
        if refused is None:
            self._answer_of_then(connection, packet)
            return
        way, is_done = refused
        error = b""
        if way.code is not None:
            header = (request_header(packet)[0], self.database.zxid, way.code)
            error = framed_reply(header, b"")
        if is_done:
            self._instead = error
            super()._answer(connection, packet)
            self._instead = None
        elif error:
            self._queue(connection, error, asked=len(packet))
        if way.hangs_up and connection.phase is Phase.SERVING:
            self.end(connection, "its request is refused", at_once=way.code is None)

    def _answer_of_then(self, connection: Connection, packet: bytes) -> None:
        """As of now, if no server is behind."""
        host, op = connection.peer[0], request_header(packet)[1]
        then, database = self._lag.reads_then(connection, packet), self.database
        if then is None:
            is_behind = host in self._lag.behind and op != OpCode.PING
            if is_behind:
                self._lag.catch_up(host, self)
            super()._answer(connection, packet)
            if is_behind:
                self._lag.behind[host] = now_of(database)
            return
        nodes, zxid = database.tree.nodes, database.zxid
        database.tree.nodes, database.zxid = then
        try:
            super()._answer(connection, packet)
        finally:
            database.tree.nodes, database.zxid = nodes, zxid

    def tell(self, connection: Connection, kind: int, path: str, zxid: int = NO_ZXID) -> None:
        """Who is behind hears of it later."""
        if not self._lag.is_held(connection, kind, path, zxid):
            super().tell(connection, kind, path, zxid)

    def _queue(self, connection: Connection, data: bytes, asked: int = 0) -> None:
        """Events have not been asked for."""
        if asked and self._instead is not None:
            data = self._instead
        super()._queue(connection, data, asked)


class RefusingZookeeperServer(ZookeeperServer):
    """The product's on the loop, around such a core."""

    def __init__(
        self, doors: Doors, settings: ServerSettings, refusals: Refusals, lag: Lag
    ) -> None:
        super().__init__(doors, settings)
        self._refusals, self._lag = refusals, lag

    def new_core(self, database: Database, settings: ServerSettings, random: Random) -> Server:
        """One that refuses."""
        now = self.moment()
        refusals, lag = self._refusals, self._lag
        return RefusingServer(database, settings, random, now=now, refusals=refusals, lag=lag)
