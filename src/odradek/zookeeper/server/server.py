"""The embedded server: bytes of clients in; entries for the journal, and bytes for clients, out.

It is sans-IO: a shell tells it what happened (`connected`, `received`, `sent`, `closed`, `durable`,
`tick`) and carries out what `take` gives back, from top to bottom.

Decided at once, told when durable. A write is decided on the database as it is, applied, and
handed out for the journal; its answer and the events of watches wait until `durable` has come up
to it. A read sees what was applied, and its answer waits likewise, if it must. So every client
sees one order of transactions, and nothing that it was told can be lost. If the journal fails,
the database is ahead of it; then nothing more may be told to anybody, and the shell ends it all.

Invariants: `durable_zxid <= database.zxid`; the answers of a connection leave in the order of its
requests; an event leaves before any later answer of its connection.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hmac import compare_digest
from typing import Final, NamedTuple

from odradek.model.units import Millis, Timestamp
from odradek.ports import Address, Entry, Random
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.digest_md5 import DigestServer
from odradek.security.mechanisms.mechanism import Proven
from odradek.zookeeper.protocol.codes import (
    NO_ZXID,
    NOTIFICATION_XID,
    KeeperCode,
    KeeperError,
    MalformedPacket,
    OpCode,
    Permission,
)
from odradek.zookeeper.protocol.jute import Identity, framed
from odradek.zookeeper.protocol.jute_replies import Connected, Event, SaslReply, framed_reply
from odradek.zookeeper.protocol.jute_request_reader import request_body, request_header
from odradek.zookeeper.protocol.jute_requests import (
    Auth,
    CloseSession,
    Connect,
    Ping,
    Request,
    Sasl,
    Unknown,
)
from odradek.zookeeper.server.connection import Connection, Phase
from odradek.zookeeper.server.four_letters import WORDS, four_letter_answer
from odradek.zookeeper.server.outgoing import Ending, Outgoing, ServerEffects
from odradek.zookeeper.server.reads import READERS
from odradek.zookeeper.server.settings import GREETING_BYTES_MAX, ServerSettings
from odradek.zookeeper.server.stats import ServerStats
from odradek.zookeeper.server.write_requests import WRITES, write
from odradek.zookeeper.server.writes import Writer
from odradek.zookeeper.tree.access import PROVEN, allowed, identities_for
from odradek.zookeeper.tree.buckets import Buckets
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.reaper import Reaper
from odradek.zookeeper.tree.sessions import Session, session_id_for
from odradek.zookeeper.tree.transactions import (
    Change,
    NodeCreated,
    NodeDeleted,
    SessionClosed,
    SessionOpened,
    Transaction,
)
from odradek.zookeeper.tree.tree import Touched
from odradek.zookeeper.tree.watches import Watches

NONCE_BYTES: Final = 24


class Moment(NamedTuple):
    """What time it is, on both clocks."""

    monotonic: Millis
    wall: Timestamp


class Server:
    """One server, for as long as it runs."""

    def __init__(
        self, database: Database, settings: ServerSettings, random: Random, now: Moment
    ) -> None:
        self.database = database
        self.settings = settings
        self.watches: Watches[Connection] = Watches()
        self.stats = ServerStats()
        self.connections: dict[Connection, None] = {}
        self.outgoing = Outgoing(database.zxid, self.stats)
        self.now = now
        self._random = random
        self._by_session: dict[int, Connection] = {}
        self._hosts: Counter[str] = Counter()
        self._impatience: Buckets[Connection] = Buckets(1_000)  # with those that should go
        self._reaper = Reaper(database.tree, settings.container_interval)
        database.sessions.watch_all(now.monotonic)

    @property
    def wall(self) -> Timestamp:
        """What time it is, for the stats of nodes."""
        return self.now.wall

    def connected(self, peer: Address, now: Moment) -> Connection | None:
        """Somebody connected; None where there are too many, and it is to be closed at once."""
        self.now = now
        host = peer[0]
        bound = self.settings.connections_per_host_max
        if len(self.connections) >= self.settings.connections_max or 0 < bound <= self._hosts[host]:
            self.stats.refused += 1
            return None
        connection = Connection(peer, now.wall, self.settings.packet_bytes_max)
        self.connections[connection] = None
        self._hosts[host] += 1
        self._hurry(connection)
        return connection

    def named(self, connection: Connection, name: str) -> None:
        """Its certificate says so."""
        connection.identities.append(Identity("x509", name))

    def received(self, connection: Connection, chunk: bytes | memoryview, now: Moment) -> None:
        """Bytes came."""
        self.now = now
        phase = connection.phase
        if phase is Phase.ENDING or phase is Phase.GONE:  # for every packet: no set is made
            return
        session = connection.session
        if session is not None:
            session.heard = now.monotonic
        if connection.first is not None:
            connection.first += chunk
            if len(connection.first) < 4:
                return
            chunk, connection.first = bytes(connection.first), None
            if chunk[:4] in WORDS:
                self._four_letters(connection, chunk[:4].decode())
                return
            if int.from_bytes(chunk[:4], "big") > GREETING_BYTES_MAX:
                self.end(connection, "begins with no connect request", at_once=True)
                return
        connection.backlog.extend(connection.packets.feed(chunk))
        self._work(connection)
        if connection.packets.fault is not None:
            self.end(connection, str(connection.packets.fault), at_once=True)

    def sent(self, connection: Connection, unsent: int) -> None:
        """What was given out is on its way; so many bytes are still here."""
        connection.unsent = unsent
        if connection.paused:
            self._work(connection)

    def closed(self, connection: Connection) -> None:
        """The connection is over. Its session lives on until it expires."""
        if connection.phase is Phase.GONE:
            return
        connection.phase = Phase.GONE
        del self.connections[connection]
        self._hosts[connection.peer[0]] -= 1
        if not self._hosts[connection.peer[0]]:
            del self._hosts[connection.peer[0]]
        self.outgoing.drop(connection)
        self._silence(connection)

    def durable(self, zxid: int, now: Moment) -> None:
        """The journal has everything up to this transaction: what waited for it may go."""
        assert zxid <= self.database.zxid, (zxid, self.database.zxid)
        self.now = now
        for connection in self.outgoing.durable(zxid, now.monotonic):
            if connection.paused:
                self._work(connection)

    def tick(self, now: Moment) -> None:
        """Time passed: sessions expire, nodes go that go by themselves, idlers are sent away."""
        self.now = now
        for session in self.database.sessions.expired(now.monotonic):
            self.expire(session)
        for path in self._reaper.due(now.wall):
            self.commit((NodeDeleted(path),))
        for connection in list(self._impatience.due(now.monotonic)):
            if connection.deadline > now.monotonic:
                continue
            if connection.phase is Phase.GREETING:
                self.end(connection, "asked for no session in time", at_once=True)
            elif connection.phase is Phase.NAMING:
                self.end(connection, "has proven no name in time", at_once=True)
            elif connection.phase is Phase.ENDING:
                self.outgoing.end(Ending(connection, "does not read", at_once=True))

    def next_tick(self) -> int | None:
        """The moment at which there is something to do if nothing else happens."""
        reap = self._reaper.next_look()
        if reap is not None:  # by the wall's clock
            reap += self.now.monotonic - self.now.wall
        moments = (self._impatience.next(), self.database.sessions.next_look(), reap)
        return min((moment for moment in moments if moment is not None), default=None)

    def expire(self, session: Session) -> None:
        """Ends a session from here; its ephemeral nodes go in the same transaction."""
        connection = self._by_session.get(session.id)
        if connection is not None:
            connection.is_unproven = False
            self.end(connection, "its session expired", at_once=False)
        self.stats.expired += 1
        self.commit((SessionClosed(session.id),))

    def take(self) -> ServerEffects:
        """What is to be done now."""
        return self.outgoing.take()

    def commit(self, changes: Sequence[Change]) -> int:
        """Carries out changes that were decided, as one transaction; its number."""
        zxid = self.database.zxid + 1
        touched = [
            touch
            for change in changes
            for touch in self.database.apply(change, zxid, self.now.wall)
        ]
        self.record(changes, touched)
        return zxid

    def record(self, changes: Sequence[Change], touched: Iterable[Touched]) -> None:
        """Writes down what was carried out, and tells who watches."""
        self.database.zxid += 1
        zxid = self.database.zxid
        transaction = Transaction(zxid, self.now.wall, tuple(changes))
        self.outgoing.append(Entry(zxid, transaction.encode()))
        for change in changes:
            if isinstance(change, NodeCreated) and change.owner < 0:
                self._reaper.note(change)
        for watcher, kind, path, acl in self.watches.fire(touched):
            if allowed(acl, Permission.READ, watcher.identities):
                self.tell(watcher, kind, path, zxid)

    def tell(self, connection: Connection, kind: int, path: str, zxid: int = NO_ZXID) -> None:
        """Queues an event: of this transaction, or of one that was missed and has no name."""
        header = (NOTIFICATION_XID, zxid, 0)
        self._queue(connection, framed_reply(header, Event(kind, path).body()))
        if connection.queued + connection.unsent > self.settings.unsent_bytes_fatal:
            self.end(connection, "does not read its events", at_once=True)

    def end(self, connection: Connection, reason: str, *, at_once: bool) -> None:
        """Reads no more from a connection and closes it, once what it is owed has gone."""
        if connection.phase in {Phase.ENDING, Phase.GONE}:
            return
        connection.phase = Phase.ENDING
        connection.backlog.clear()
        self._silence(connection)
        self.outgoing.end(Ending(connection, reason, at_once))
        self._hurry(connection)

    def _hurry(self, connection: Connection) -> None:
        """From now on it has only so long."""
        connection.deadline = Millis(self.now.monotonic + self.settings.greeting_timeout)
        self._impatience.put(connection, connection.deadline)

    def _silence(self, connection: Connection) -> None:
        """The connection is gone: no watch is sent by it, and it keeps no session alive.

        One in which no name was proven ends: strangers would take the room of all others' sessions.
        """
        self.watches.forget(connection)
        session, connection.session = connection.session, None
        if session is not None and self._by_session.get(session.id) is connection:
            del self._by_session[session.id]
            if connection.is_unproven:
                self.commit((SessionClosed(session.id),))

    def _work(self, connection: Connection) -> None:
        """Works packets off, for as long as there is room for answers."""
        backlog, settings = connection.backlog, self.settings
        while backlog:
            if (
                connection.unsent + connection.queued > settings.unsent_bytes_max
                or connection.asked > settings.waiting_bytes_max
                or len(connection.waiting) >= settings.requests_waiting_max
            ):
                self.outgoing.pause(connection)
                return
            connection.received += 1
            self.stats.received += 1
            packet = backlog.popleft()
            if connection.phase is Phase.SERVING:
                self._answer(connection, packet)
            elif connection.phase is Phase.GREETING:
                self._greet(connection, packet)
            elif self._is_of_a_login(connection, packet):
                self._answer(connection, packet)
        self.outgoing.resume(connection)

    def _greet(self, connection: Connection, packet: bytes) -> None:
        """A client wants a session, or its old one back."""
        try:
            request = Connect.decode(packet)
        except MalformedPacket as error:
            self.end(connection, str(error), at_once=True)
            return
        if request.last_zxid_seen > self.database.zxid:
            reason = f"has seen {request.last_zxid_seen:#x}; this server is behind that"
            self.end(connection, reason, at_once=True)
            return
        sessions = self.database.sessions
        timeout = self.settings.negotiated(request.timeout)
        if request.session_id:
            session = sessions.open.get(request.session_id)
            if session is not None and not compare_digest(session.password, request.password):
                session = None
        elif len(sessions.open) >= self.settings.sessions_max:
            self.end(connection, "there are too many sessions", at_once=True)
            return
        else:
            session_id = session_id_for(self.database.zxid + 1)
            self.commit((SessionOpened(session_id, timeout, self._random.bytes(16)),))
            connection.is_unproven = self._asks(connection)
            session = sessions.open[session_id]
            sessions.watch(session, self.now.monotonic)
        self._welcome(connection, session, request._replace(timeout=timeout))

    def _welcome(self, connection: Connection, session: Session | None, request: Connect) -> None:
        # Clients that do not know of read-only servers get an answer without that flag.
        flag = None if request.read_only is None else False
        if session is None:
            self._queue(connection, framed(Connected(0, 0, bytes(16), flag).body()))
            self.end(connection, "its session is gone", at_once=False)
            return
        former = self._by_session.get(session.id)
        if former is not None:
            connection.is_unproven, former.is_unproven = former.is_unproven, False
            self.end(former, "its session moved to another connection", at_once=True)
        self._by_session[session.id] = connection
        self.database.sessions.resume(session, Millis(request.timeout), self.now.monotonic)
        connection.session = session
        connection.phase = Phase.NAMING if self._asks(connection) else Phase.SERVING
        reply = Connected(session.timeout, session.id, session.password, flag)
        self._queue(connection, framed(reply.body()))

    def _asks(self, connection: Connection) -> bool:
        """Whether it has to prove a name first."""
        return self.settings.requires_names and not _is_named(connection)

    def _answer(self, connection: Connection, packet: bytes) -> None:
        body, code, ending = b"", 0, None
        try:
            xid, op = request_header(packet)
        except MalformedPacket as error:
            self.end(connection, str(error), at_once=True)
            return
        try:
            request = request_body(op, packet)
            kind = type(request)
            reader = READERS.get(kind)
            if reader is not None:
                body = reader(self, connection, request)
            elif kind in WRITES:
                body = write(self, self._writer(connection), request)
            elif kind is Sasl:
                body = self._log_in(connection, request)
            else:
                code, ending = self._other(connection, request)
        except AuthenticationFailed as error:
            code, ending = KeeperCode.AUTHFAILED, str(error)
        except KeeperError as error:
            code = error.keeper_code
        zxid = self.database.zxid
        connection.last_op, connection.last_xid, connection.last_zxid = op, xid, zxid
        self._queue(connection, framed_reply((xid, zxid, code), body), asked=len(packet))
        if ending is not None:
            self.end(connection, ending, at_once=False)

    def _other(self, connection: Connection, request: Request) -> tuple[int, str | None]:
        """What neither reads nor writes the tree: a code, and why the connection ends, if so."""
        match request:
            case Ping():
                return 0, None
            case CloseSession():
                assert connection.session is not None
                self.commit((SessionClosed(connection.session.id),))
                return 0, "its client closed the session"
            case Auth(scheme=scheme, credentials=credentials):
                if self._identify(connection, scheme, credentials):
                    return 0, None
                return KeeperCode.AUTHFAILED, f"cannot identify itself by {scheme[:32]!r}"
            case Unknown(number=OpCode.RECONFIG):
                return KeeperCode.RECONFIGDISABLED, None
            case _:
                return KeeperCode.UNIMPLEMENTED, f"asks for {request}, which is not spoken here"

    def _is_of_a_login(self, connection: Connection, packet: bytes) -> bool:
        """A client that asks for anything else before is told so, and its connection is closed."""
        try:
            xid, op = request_header(packet)
        except MalformedPacket as error:
            self.end(connection, str(error), at_once=True)
            return False
        if op in {OpCode.SASL, OpCode.AUTH}:
            return True
        code = KeeperCode.SESSIONCLOSEDREQUIRESASLAUTH
        self._queue(connection, framed_reply((xid, self.database.zxid, code)))
        self.end(connection, "has proven no name", at_once=False)
        return False

    def _log_in(self, connection: Connection, request: Request) -> bytes:
        """One step; a server without users answers with no token, as ZooKeeper does."""
        assert isinstance(request, Sasl), request
        if self.settings.users is None:
            return SaslReply(None).body()
        login = connection.login
        if login is None:
            login = DigestServer(self.settings.users, nonce=self._random.bytes(NONCE_BYTES))
        connection.login = None  # whatever goes wrong ends it
        answer = login.evaluate(request.token or b"")
        if isinstance(answer, Proven):
            identity = Identity("sasl", answer.principal.name)
            if identity not in connection.identities:
                connection.identities.append(identity)
            if connection.phase is Phase.NAMING:
                connection.phase, connection.is_unproven = Phase.SERVING, False
        else:
            connection.login = login
        return SaslReply(answer.answer).body()

    def _identify(self, connection: Connection, scheme: str, credentials: bytes | None) -> bool:
        digest, host = self.settings.super_digest, connection.peer[0]
        known = connection.identities
        gained = identities_for(scheme, credentials, ip=host, super_digest=digest)
        known += [identity for identity in gained if identity not in known]
        return bool(gained) and len(known) <= self.settings.identities_max

    def _writer(self, connection: Connection) -> Writer:
        assert connection.session is not None
        return Writer(connection.session.id, connection.identities, self.settings.tree)

    def _four_letters(self, connection: Connection, word: str) -> None:
        self._queue(connection, four_letter_answer(self, word).encode())
        self.end(connection, f"asked {word}", at_once=False)

    def _queue(self, connection: Connection, data: bytes, asked: int = 0) -> None:
        """It may tell of the newest transaction, so it waits for that one."""
        floor = self.database.zxid
        now = self.now.monotonic
        self.outgoing.queue(connection, data, floor=floor, now=now, asked=asked)


def _is_named(connection: Connection) -> bool:
    return any(identity.scheme in PROVEN for identity in connection.identities)
