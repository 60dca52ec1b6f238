"""A client's session with an ensemble: facts in, effects out.

What it decides: to which server to talk and when to try the next; when the session is alive,
suspended or over; what is sent in which order on a new connection (credentials, then watches,
then operations); and what each caller is told.

Invariants. An answer goes to the oldest request, or the connection is dropped. A watch's event is
delivered in the place in which the server sent it: before any answer that shows its effect. A
server that answers that it does not serve (it is overloaded, took too long, or the session has
moved) is left like one that hangs up: the next one is tried, ever more slowly. What was sent when a
connection broke has an unknown outcome; what was not sent waits for the next one, or fails, as its
caller chose. When the session is over every caller is told before the owner is, and a new session
begins only when the owner asks.

A client that took a server that is cut off from its ensemble goes on asking the others, on
connections beside its own, whether they write, and moves to the first that does.

Others can hear that the session is over no earlier than its time-out after the server has heard of
us for the last time (`lease`). A process that stood still knows by its clock that it may be over.

The owner of the connection carries out each `SessionEffects` from top to bottom, calls back with
what happened, and calls `tick` when `deadline` has come. Facts about a connection that was hung up
must not be told any more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from odradek.model.units import MINUTE, SECOND, Millis
from odradek.ports import Address, Random
from odradek.security.errors import AuthenticationFailed
from odradek.security.mechanisms.mechanism import NewClientMechanism
from odradek.zookeeper.client.address import AclOf, Chroot, Ensemble, ProtectedChroot
from odradek.zookeeper.client.credentials import Credentials
from odradek.zookeeper.client.errors import (
    AuthFailed,
    NeverSent,
    OperationError,
    SessionClosed,
    SessionExpired,
    error_of,
)
from odradek.zookeeper.client.lease import Lease
from odradek.zookeeper.client.packing import packed
from odradek.zookeeper.client.pipeline import Pipeline, PipelineLimits, Submission, subject_of
from odradek.zookeeper.client.servers import BACKOFF_MAX, Servers
from odradek.zookeeper.client.states import (
    PREDECESSORS,
    Closed,
    Dialling,
    Expired,
    Greeting,
    Idle,
    Leaving,
    Live,
    Proving,
    Refused,
    Search,
    State,
    Status,
    StatusChanged,
    Waiting,
    status_of,
)
from odradek.zookeeper.client.watches import WATCHING, WatchBook
from odradek.zookeeper.protocol.codes import (
    AUTH_XID,
    NOTIFICATION_XID,
    PING_XID,
    SASL_XID,
    SET_WATCHES_XID,
    EventType,
    KeeperCode,
    MalformedPacket,
    OpCode,
)
from odradek.zookeeper.protocol.jute import Packets, framed
from odradek.zookeeper.protocol.jute_replies import (
    Connected,
    Done,
    Event,
    SaslReply,
    event_body,
    reply_body,
    reply_header,
)
from odradek.zookeeper.protocol.jute_requests import (
    Auth,
    Check,
    CloseSession,
    Connect,
    Multi,
    Ping,
    Sasl,
    WriteOp,
    framed_request,
)

SEARCH_FIRST: Final = Millis(100)  # between two looks for a server that writes
SEARCH_MAX: Final = MINUTE
PASSWORD_BYTES: Final = 16
CLOSING: Final = "closing"
"""Why the owner of a session that it ends is told of no connection."""
"""Of a session that has none yet."""
DOES_NOT_SERVE: Final = frozenset(
    {
        KeeperCode.CONNECTIONLOSS,
        KeeperCode.OPERATIONTIMEOUT,
        KeeperCode.SESSIONMOVED,
        KeeperCode.REQUESTTIMEOUT,
        KeeperCode.THROTTLEDOP,
    }
)
"""What a server answers that cannot say what became of a request, or did not try."""


class SessionSettings(NamedTuple):
    """What the owner asks for."""

    timeout: Millis = Millis(18 * SECOND)  # zookeeper.session.timeout.ms
    connect_timeout: Millis | None = None  # for one server; None shares the timeout among them
    read_only: bool = False  # whether a server that is cut off from its ensemble will do
    limits: PipelineLimits = PipelineLimits()
    login: NewClientMechanism | None = None  # by which each connection proves a name (SASL)
    acl_of: AclOf | None = None  # whom the nodes belong to that are made; None: to everybody


class WatchEvent(NamedTuple):
    """What a watch saw, with the path as the owner has it."""

    kind: EventType
    path: str


Delivery = Submission | WatchEvent | StatusChanged


@dataclass(slots=True)
class SessionEffects:
    """What is to be done, from top to bottom."""

    hang_up: bool = False  # 1. drop the connection, or the try for one
    send: list[bytes] = field(default_factory=list)  # 2. on the connection
    deliver: list[Delivery] = field(default_factory=list)  # 3. in this order
    dial: Address | None = None  # 4. ask for a connection
    look: Address | None = None  # 5. ask this server, on a connection beside, whether it writes


class _Identity(NamedTuple):
    """The session, as the server knows it again."""

    session_id: int
    password: bytes


_NOBODY: Final = _Identity(0, bytes(PASSWORD_BYTES))


class Session:
    """One session after the other with one ensemble; never two at once."""

    def __init__(
        self, ensemble: Ensemble, random: Random, settings: SessionSettings | None = None
    ) -> None:
        self.state: State = Idle()
        self.timeout = (settings or SessionSettings()).timeout  # as negotiated, once it was
        self._settings = settings or SessionSettings()
        self._servers = Servers(ensemble.servers, random)
        self._identity = _NOBODY
        self._last_zxid = 0  # the newest transaction that a reply has shown us
        acl_of = self._settings.acl_of
        chroot = ensemble.chroot
        self._chroot = Chroot(chroot) if acl_of is None else ProtectedChroot(chroot, acl_of)
        self._pipeline = Pipeline(self._settings.limits, self._chroot)
        self._credentials = Credentials()
        self._was_named = False  # a server has believed the name
        self._watches = WatchBook()
        self._packets = Packets(self._settings.limits.reply_bytes_max)
        self._rearming = 0  # requests to arm watches that have no answer yet
        self._pings = 0  # pings that have no answer yet
        self._sent_at = Millis(0)
        self._heard_at = Millis(0)
        self.lease = Lease()
        self._effects = SessionEffects()

    @property
    def status(self) -> Status:
        """What the owner needs to know of the state."""
        return status_of(self.state)

    @property
    def session_id(self) -> int:
        """The server's number for the session; 0 before there is one."""
        return self._identity.session_id

    @property
    def in_flight(self) -> int:
        """How many requests await their answer."""
        return self._pipeline.in_flight

    @property
    def deadline(self) -> Millis | None:
        """When `tick` is wanted, unless something happens before; None: not at all."""
        match self.state:
            case Waiting(until=moment) | Dialling(give_up=moment) | Greeting(give_up=moment):
                return moment
            case Proving(give_up=moment) | Leaving(give_up=moment):
                return moment
            case Live(search=None):
                return min(self._ping_at, self._silent_at)
            case Live(search=Search(at=moment)):
                return min(self._ping_at, self._silent_at, moment)
            case _:
                return None

    @property
    def _ping_at(self) -> Millis:
        return Millis(self._sent_at + max(self.timeout // 3, 1))

    @property
    def _silent_at(self) -> Millis:
        """A server that said nothing for so long is given up: a third is left to find another."""
        return Millis(self._heard_at + max(self.timeout * 2 // 3, 1))

    # What the owner asks for

    def begin(self, now: Millis) -> SessionEffects:
        """Asks for a session: the first, or a new one after the last is over."""
        assert isinstance(self.state, (Idle, Expired, Refused)), self.state
        self._dial(now)
        return self._flush()

    def submit(self, submission: Submission, now: Millis) -> SessionEffects:
        """Sends the operations, now or as soon as may be; the submission is delivered, once."""
        match self.state:
            case Live():
                self._pipeline.submit(submission)
                self._fill(now)
            case Idle() | Waiting() | Dialling() | Greeting() | Proving():
                if submission.waits:
                    self._pipeline.submit(submission)
                else:
                    self._pipeline.fail(submission, NeverSent)
            case Expired():
                self._pipeline.fail(submission, SessionExpired)
            case Refused():
                self._pipeline.fail(submission, AuthFailed)
            case Leaving() | Closed():
                self._pipeline.fail(submission, SessionClosed)
        return self._flush()

    def packed(self, operations: Iterable[WriteOp], guard: Sequence[Check]) -> Iterator[Multi]:
        """As few multis, each behind the guard, as jute.maxbuffer allows."""
        bytes_max = self._settings.limits.request_bytes_max
        more = self._chroot.bytes_more
        return packed(operations, guard=guard, bytes_more=more, bytes_max=bytes_max)

    def authenticate(self, submission: Submission, now: Millis) -> SessionEffects:
        """Gives this and every later connection the identity of an `Auth`.

        The submission is delivered once a connection has it.
        """
        auth = submission.operations[0]
        assert isinstance(auth, Auth), auth
        match self.state:
            case Leaving() | Closed():
                self._pipeline.fail(submission, SessionClosed)
            case state:
                self._credentials.add(auth, submission)
                if isinstance(state, Live):
                    self._send(self._credentials.present(auth), now)
        return self._flush()

    def close(self, now: Millis) -> SessionEffects:
        """Ends the session. What was sent is still answered, what was not is refused."""
        match self.state:
            case Live():
                self._pipeline.fail_queue(SessionClosed)
                self._become(Leaving(self._silent_at), CLOSING)
                self._pipeline.submit(Submission([CloseSession()]))
                self._fill(now)
            case Leaving() | Closed():
                pass
            case state:
                self._effects.hang_up = isinstance(state, (Dialling, Greeting, Proving))
                self._end(Closed(), SessionClosed, "closed by its owner")
        return self._flush()

    # What happens to the connection

    def connected(self, now: Millis) -> SessionEffects:
        """The connection is there: asks for the session on it."""
        assert isinstance(self.state, Dialling), self.state
        self._become(Greeting(self.state.give_up), "connected")
        self._packets = Packets(self._settings.limits.reply_bytes_max)
        hello = Connect(
            self._last_zxid,
            self._settings.timeout,
            *self._identity,
            read_only=self._settings.read_only,
        )
        self._send(framed(hello.body()), now)
        return self._flush()

    def closed(self, reason: str, now: Millis) -> SessionEffects:
        """The connection is gone, or could not be had."""
        self._lose(reason, now)
        return self._flush()

    def received(self, data: bytes | memoryview, now: Millis) -> SessionEffects:
        """Bytes from the server. A packet that cannot be true costs it the connection."""
        self._heard_at = now
        try:
            for packet in self._packets.feed(data):
                if isinstance(self.state, Greeting):
                    self._greeted(Connected.decode(packet), self.state.give_up, now)
                elif isinstance(self.state, Proving):
                    self._challenged(packet, self.state, now)
                else:
                    self._answered(packet, now)
                if self._effects.hang_up:
                    return self._flush()
            if self._packets.fault is not None:
                raise self._packets.fault
        except MalformedPacket as fault:
            self._effects.hang_up = True
            self._lose(f"the server does not keep to the protocol: {fault}", now)
        if isinstance(self.state, (Live, Leaving)) and self._pipeline.thirsty:
            self._fill(now)
        return self._flush()

    def tick(self, now: Millis) -> SessionEffects:
        """Does what is due at this moment; harmless when nothing is."""
        match self.state:
            case Waiting(until=until) if now >= until:
                self._dial(now)
            case Dialling(give_up=give_up) | Greeting(give_up=give_up) if now >= give_up:
                self._effects.hang_up = True
                self._lose("the server did not answer in time", now)
            case Proving(give_up=give_up) | Leaving(give_up=give_up) if now >= give_up:
                self._effects.hang_up = True
                self._lose("the server did not answer in time", now)
            case Live() if now >= self._silent_at:
                self._effects.hang_up = True
                self._lose(f"nothing was heard for {now - self._heard_at} ms", now)
            case Live() if now >= self._ping_at:
                self._pings += 1
                self._send(framed_request(PING_XID, Ping()), now)
            case Live(search=Search(at=at, pause=pause)) if now >= at:
                pause = Millis(min(pause * 2, SEARCH_MAX))
                self.state = replace(self.state, search=Search(Millis(now + pause), pause))
                self._effects.look = self._servers.look_at_next()
            case _:
                pass
        return self._flush()

    def looked(self, server: Address, now: Millis, *, writes: bool) -> SessionEffects:
        """A server said whether it writes, or nothing: moves to it if we have none that does."""
        if writes and isinstance(self.state, Live) and self.state.search is not None:
            self._effects.hang_up = True
            self._servers.prefer(server)
            self._lose("another server writes", now)
        return self._flush()

    # How a session comes and goes

    def _dial(self, now: Millis) -> None:
        share = max(self.timeout // len(self._servers), 1)
        patience = self._settings.connect_timeout or share
        self._become(Dialling(Millis(now + patience)), "connecting")
        self.lease.awake(now, Millis(now + patience + self.timeout // 3))
        self._effects.dial = self._servers.try_next()

    def _greeted(self, hello: Connected, give_up: Millis, now: Millis) -> None:
        if hello.timeout <= 0:
            if self._identity is _NOBODY:
                raise MalformedPacket("the server answered with a session that has expired")
            self._effects.hang_up = True
            self._end(Expired(), SessionExpired, "the server has ended the session")
            return
        if not hello.read_only:  # the session of a server that is cut off is known to no other
            if self._identity is not _NOBODY and hello.session_id != self._identity.session_id:
                raise MalformedPacket("the server answered with the id of another session")
            self._identity = _Identity(hello.session_id, hello.password)
        self.timeout = Millis(hello.timeout)
        self.lease.begin(self._sent_at, self.timeout)  # nothing was sent behind the greeting
        if self._settings.login is None:
            self._come_alive(f"session 0x{hello.session_id:x}", now, read_only=hello.read_only)
            return
        login = self._settings.login()
        self._become(Proving(give_up, login, hello.read_only), "proving the name")
        self._send(framed_request(SASL_XID, Sasl(login.first())), now)

    def _challenged(self, packet: bytes, state: Proving, now: Millis) -> None:
        """The server answered to a step of the login."""
        header = reply_header(packet)
        if header.xid != SASL_XID:
            raise MalformedPacket(f"an answer to xid {header.xid} within a login")
        if header.error in DOES_NOT_SERVE:
            self._effects.hang_up = True
            self._lose(f"the server does not serve: {error_of(header.error)}", now)
            return
        if header.error:
            self._disbelieved(str(error_of(header.error)), now)
            return
        answer = reply_body(OpCode.SASL, packet)
        assert isinstance(answer, SaslReply), answer
        if answer.token is None:
            self._disbelieved("the server knows no users of SASL", now)
            return
        try:
            token = state.login.respond(answer.token)
        except AuthenticationFailed as error:
            self._disbelieved(str(error), now)
            return
        if token is not None:
            self._send(framed_request(SASL_XID, Sasl(token)), now)
            return
        self._was_named = True
        self._come_alive("the name is proven", now, read_only=state.read_only)

    def _disbelieved(self, reason: str, now: Millis) -> None:
        """At first that is the end; later another server may believe it, or this one again."""
        self._effects.hang_up = True
        if self._was_named:
            self._lose(reason, now)
        else:
            self._end(Refused(), AuthFailed, reason)

    def _come_alive(self, reason: str, now: Millis, *, read_only: bool | None) -> None:
        search = Search(Millis(now + SEARCH_FIRST), SEARCH_FIRST) if read_only else None
        self._become(Live(now, search), reason)
        self._send(self._credentials.present_all(), now)
        for request in self._watches.rearming(self._last_zxid):
            self._rearming += 1
            self._send(framed_request(SET_WATCHES_XID, request), now)
        self._fill(now)

    def _lose(self, reason: str, now: Millis) -> None:
        """The connection is gone; the session may have outlived it."""
        assert isinstance(self.state, (Dialling, Greeting, Proving, Live, Leaving)), self.state
        self._forget_connection()
        match self.state:
            case Leaving():
                self._end(Closed(), SessionClosed, reason)
            case Live(since=since) if now - since >= BACKOFF_MAX:
                self._servers.forgive()
                self._retry(reason, now)
            case Live() | Dialling() | Greeting() | Proving():
                self._retry(reason, now)

    def _retry(self, reason: str, now: Millis) -> None:
        """Tries the next server: at once while there is one that was not tried, later then."""
        self._pipeline.fail_impatient()
        pause = self._servers.pause()
        self._become(Waiting(Millis(now + pause)), reason)
        self.lease.awake(now, Millis(now + pause + self.timeout // 3))
        if not pause:
            self._dial(now)

    def _end(self, state: State, error: type[OperationError], reason: str) -> None:
        """The session is over: first every caller is told, then the owner."""
        self._forget_connection()
        self.lease.end()
        self._pipeline.fail_queue(error)
        for waiter in self._credentials.waiters():
            self._pipeline.fail(waiter, error)
        self._watches.forget()
        self._identity = _NOBODY
        self._last_zxid = 0  # as ZooKeeper's own clients do: the ensemble may be another by now
        self._servers.forgive()
        self.timeout = self._settings.timeout
        self._become(state, reason)

    def _forget_connection(self) -> None:
        self._pipeline.lose_window()
        self._credentials.lost()
        self._rearming = 0
        self._pings = 0
        self.lease.disconnected()

    def _become(self, state: State, reason: str) -> None:
        assert type(self.state) in PREDECESSORS[type(state)], (self.state, state)
        before = self.status
        self.state = state
        if self.status is not before:
            self._deliver(StatusChanged(self.status, reason))

    # What the server says

    def _answered(self, packet: bytes, now: Millis) -> None:
        header = reply_header(packet)
        if header.xid >= 0 and header.error in DOES_NOT_SERVE:
            self._effects.hang_up = True
            self._lose(f"the server does not serve: {error_of(header.error)}", now)
            return
        if header.xid >= 0:
            request = self._pipeline.take(header, packet)
            if header.zxid > 0:
                self._last_zxid = header.zxid
            if type(request) in WATCHING:
                self._watches.answered(request, header.error)
            elif type(request) is CloseSession:
                self._effects.hang_up = True
                self._end(Closed(), SessionClosed, "closed by its owner")
        elif header.xid == NOTIFICATION_XID:
            self._noticed(event_body(packet))
        elif header.xid == AUTH_XID:
            self._authenticated(header.error, now)
        elif header.xid == PING_XID and self._pings:
            self._pings -= 1
        elif header.xid == SET_WATCHES_XID and self._rearming and not header.error:
            self._rearming -= 1
        else:
            raise MalformedPacket(f"an answer to xid {header.xid} (error {header.error})")
        if header.xid not in {NOTIFICATION_XID, AUTH_XID}:
            self.lease.answered(self.timeout)

    def _noticed(self, event: Event) -> None:
        if self._watches.fires(event.kind, event.path):
            self._deliver(WatchEvent(EventType(event.kind), self._chroot.path_up(event.path)))

    def _authenticated(self, error: int, now: Millis) -> None:
        if not error:
            for waiter in self._credentials.accepted():
                self._pipeline.answer(waiter, 0, Done())
            return
        for waiter in self._credentials.refused():
            self._pipeline.answer(waiter, 0, error_of(error, subject_of(waiter.operations[0])))
        self._effects.hang_up = True
        if isinstance(self.state, Leaving):
            self._lose("the credentials were refused", now)
        else:
            self._end(Refused(), AuthFailed, "the credentials were refused")

    # What goes out

    def _fill(self, now: Millis) -> None:
        self._send(self._pipeline.fill(), now)

    def _send(self, frames: bytes, now: Millis) -> None:
        if frames:
            self._effects.send.append(frames)
            self._sent_at = now
            unanswered = self._pipeline.in_flight + self._pings + self._rearming
            if unanswered and isinstance(self.state, Live):
                self.lease.asked(unanswered, now)

    def _deliver(self, news: WatchEvent | StatusChanged) -> None:
        self._settle()
        self._effects.deliver.append(news)

    def _settle(self) -> None:
        """What has its answers takes its place in the order of deliveries."""
        if self._pipeline.done:
            self._effects.deliver += self._pipeline.done
            self._pipeline.done.clear()

    def _flush(self) -> SessionEffects:
        self._settle()
        effects = self._effects
        self._effects = SessionEffects()
        return effects
