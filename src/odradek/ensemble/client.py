"""ZooKeeper's client on the loop: carries out what the session decides, and answers callers.

One task (`run`) makes connections and keeps the session's deadlines; all else happens inside the
call that caused it. However many operations a batch has, its caller waits for one future. Results
and events reach their owner in the order in which the session delivered them: both take one turn
of the loop, which is first come, first served.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar

from odradek.ensemble.question import says_that_it_writes
from odradek.model.units import Millis, Timestamp
from odradek.peers.errors import TlsFailed
from odradek.ports import Address, Clock, Network, Stream
from odradek.zookeeper.client.errors import AuthFailed, NoNode, SessionClosed, SessionExpired
from odradek.zookeeper.client.pipeline import Answer, Submission
from odradek.zookeeper.client.session import Session, SessionEffects, WatchEvent
from odradek.zookeeper.client.states import Dialling, Status, StatusChanged
from odradek.zookeeper.protocol.codes import (
    ANY_VERSION,
    AddWatchMode,
    CreateMode,
    KeeperError,
    WatcherType,
)
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity, Stat
from odradek.zookeeper.protocol.jute_replies import (
    AclReply,
    Children2,
    Created,
    Created2,
    Data,
    Done,
    Identities,
    Number,
    Reply,
    Result,
    Results,
    StatReply,
)
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Check,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Exists,
    GetAcl,
    GetChildren2,
    GetData,
    Multi,
    RemoveWatches,
    Request,
    SetAcl,
    SetData,
    Sync,
    WhoAmI,
    WriteOp,
)

READ_BYTES: Final = 64 << 10
"""Read at once: some hundreds of small answers."""

News = WatchEvent | StatusChanged
R = TypeVar("R", bound=Reply)

_OVER: Final = {
    Status.EXPIRED: SessionExpired,
    Status.AUTH_FAILED: AuthFailed,
    Status.CLOSED: SessionClosed,
}


class _Awaited(Submission):
    """A submission with somebody who waits for it."""

    __slots__ = ("future",)

    def __init__(self, operations: Sequence[Request], *, waits: bool = True) -> None:
        super().__init__(operations, waits=waits)
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class ZooKeeperClient:
    """A session and its connection. `listener` is told of events and of the session's turns.

    Failed operations raise `KeeperError`s; in a batch they stand among the answers. An operation
    that is given up by its caller (by a timeout) before it was sent is not sent any more.
    """

    def __init__(
        self, session: Session, network: Network, clock: Clock, listener: Callable[[News], None]
    ) -> None:
        self._session = session
        self._network = network
        self._clock = clock
        self._listener = listener
        self.scratch = memoryview(bytearray(READ_BYTES))
        self._link: _Link | None = None
        self._dial: Address | None = None  # asked for by the session, not begun
        self._look: Address | None = None  # likewise: a server to be asked whether it writes
        self._pause: asyncio.Timeout | None = None  # what `run` waits for, if it does
        self._pause_end: Millis | None = None
        self.why_not = "no connection was tried"  # why the last one was not had
        self.away_since: Timestamp | None = None  # when one could act last, if one cannot now
        self._watchers: list[asyncio.Future[None]] = []  # of the status

    @property
    def status(self) -> Status:
        """Whether one may act. Changes before the listener hears of it."""
        return self._session.status

    @property
    def session_id(self) -> int:
        """The server's number for the session: the owner of our ephemeral nodes."""
        return self._session.session_id

    @property
    def has_lease(self) -> bool:
        """Whether the session cannot have ended for any other process at this moment."""
        return self._session.lease.holds(self._now())

    # The life of the session

    async def run(self) -> None:
        """Serves the sessions until the client is closed; a task of its owner's."""
        try:
            while self.status is not Status.CLOSED:
                address, self._dial = self._dial, None
                other, self._look = self._look, None
                if address is not None:
                    await self._connect(address)
                elif other is not None:
                    await self._ask_whether_it_writes(other)
                else:
                    await self._wait()
        finally:
            if self.status is not Status.CLOSED:  # cancelled: no caller may wait for ever
                self._perform(self._session.close(self._now()))
                if self._link is not None:
                    self._perform(self._session.closed("given up by its owner", self._now()))
            self._hang_up()

    def begin(self) -> None:
        """Asks for a session: the first, or a new one after the last is over."""
        self._perform(self._session.begin(self._now()))

    async def connected(self) -> None:
        """Returns once one may act; raises when the session is over."""
        while self.status is Status.DISCONNECTED:
            await self._status_changes()
        if self.status in _OVER:
            raise _OVER[self.status]

    async def close(self) -> None:
        """Ends the session, and its ephemeral nodes with it, while what was sent is answered."""
        self._perform(self._session.close(self._now()))
        while self.status is not Status.CLOSED:
            await self._status_changes()

    async def authenticate(self, scheme: str, credentials: bytes) -> None:
        """Gives the client one more identity, on every later connection too."""
        submission = _Awaited([Auth(scheme, credentials)])
        self._perform(self._session.authenticate(submission, self._now()))
        await submission.future
        _expect(submission.answers[0], Done)

    # Operations, many at once

    async def batch(self, operations: Sequence[Request], *, waits: bool = True) -> list[Answer]:
        """Sends them all, one behind the other; each gets its reply or its error, in order."""
        submission = _Awaited(operations, waits=waits)
        self._perform(self._session.submit(submission, self._now()))
        try:
            await submission.future
        except asyncio.CancelledError:
            submission.withdrawn = True
            raise
        return submission.answers

    async def multi(self, operations: Sequence[WriteOp]) -> list[Result]:
        """Does all of them or none; `MultiFailed` says which one was the reason."""
        return (await self._one(Multi(tuple(operations)), Results)).results

    def packed(
        self, operations: Iterable[WriteOp], *, guard: Sequence[Check] = ()
    ) -> Iterator[Multi]:
        """Puts many writes into as few multis, each behind the guard, as one packet may hold."""
        return self._session.packed(operations, guard)

    # Operations, one by one

    async def get(self, path: str, *, watch: bool = False) -> Data:
        """A node's data and stat."""
        return await self._one(GetData(path, watch), Data)

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """A node's stat, or None where there is none; the watch is set in either case."""
        try:
            return (await self._one(Exists(path, watch), StatReply)).stat
        except NoNode:
            return None

    async def children(self, path: str, *, watch: bool = False) -> Children2:
        """The names of a node's children, in no order, and its stat."""
        return await self._one(GetChildren2(path, watch), Children2)

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: CreateMode = CreateMode.PERSISTENT,
        acl: tuple[Acl, ...] = OPEN_ACL,
        ttl: Millis | None = None,
    ) -> Created2:
        """Makes a node: its path, which a sequence has made longer, and stat."""
        request: Request = Create2(path, data, acl, mode)
        if mode is CreateMode.CONTAINER:
            request = CreateContainer(path, data, acl)
        elif ttl is not None:
            request = CreateTtl(path, data, acl, mode, ttl)
        return await self._one(request, Created2)

    async def set(self, path: str, data: bytes, version: int) -> Stat:
        """Replaces a node's data, if it has this version; `ANY_VERSION` asks for none."""
        return (await self._one(SetData(path, data, version), StatReply)).stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Removes a node that has no children."""
        await self._one(Delete(path, version), Done)

    async def acl(self, path: str) -> AclReply:
        """Who may do what with a node."""
        return await self._one(GetAcl(path), AclReply)

    async def set_acl(self, path: str, acl: tuple[Acl, ...], version: int = ANY_VERSION) -> Stat:
        """Replaces it; the version is the ACL's own."""
        return (await self._one(SetAcl(path, acl, version), StatReply)).stat

    async def sync(self, path: str) -> None:
        """What is read after this is no older than this."""
        await self._one(Sync(path), Created)

    async def add_watch(self, path: str, mode: AddWatchMode = AddWatchMode.PERSISTENT) -> None:
        """Watches a node, or it and all below, until the watch is removed."""
        await self._one(AddWatch(path, mode), Number)

    async def remove_watches(self, path: str, kind: WatcherType = WatcherType.ANY) -> None:
        """Removes such watches of this session; `NoWatcher` where there are none."""
        await self._one(RemoveWatches(path, kind), Done)

    async def who_am_i(self) -> list[Identity]:
        """Whom the server takes us for."""
        return (await self._one(WhoAmI(), Identities)).identities

    async def _one(self, request: Request, kind: type[R]) -> R:
        return _expect((await self.batch((request,)))[0], kind)

    # The connection

    async def _connect(self, address: Address) -> None:
        link = _Link(self)
        reason = "the connection was closed at once"
        try:
            async with self._until_deadline():
                await self._network.connect(address, link.attach)
        except (OSError, TlsFailed) as error:  # the end of our patience is one of them
            reason = str(error) or "no connection in time"
            if not isinstance(error, TlsFailed):
                reason = f"{address[0]}:{address[1]}: {reason}"
            self.why_not = reason
            link.abort()
        except asyncio.CancelledError:
            link.abort()
            raise
        if not isinstance(self._session.state, Dialling):  # closed meanwhile
            link.abort()
        elif link.stream is None:
            self._perform(self._session.closed(reason, self._now()))
        else:
            self._link = link
            self._perform(self._session.connected(self._now()))

    async def _ask_whether_it_writes(self, address: Address) -> None:
        """Beside our own connection, and no longer than until that one needs us."""
        writes = False
        with suppress(OSError, TlsFailed):  # the end of our patience is one of them
            async with self._until_deadline():
                writes = await says_that_it_writes(self._network, address)
        self._perform(self._session.looked(address, self._now(), writes=writes))

    async def _wait(self) -> None:
        """Until the session's deadline, or until something has brought that forward."""
        with suppress(TimeoutError):
            async with self._until_deadline():
                await asyncio.get_running_loop().create_future()
        self._perform(self._session.tick(self._now()))

    @asynccontextmanager
    async def _until_deadline(self) -> AsyncIterator[None]:
        end = self._session.deadline
        seconds = None if end is None else (max(end - self._now(), 0) + 1) / 1_000
        try:
            async with asyncio.timeout(seconds) as self._pause:
                self._pause_end = end
                yield
        finally:
            self._pause = None

    def received(self, link: "_Link", count: int) -> None:
        """So many bytes came on a connection."""
        if link is self._link:
            self._perform(self._session.received(self.scratch[:count], self._now()))

    def lost(self, link: "_Link", error: OSError | None) -> None:
        """A connection is over, unless it was hung up before."""
        if link is self._link:
            self._link = None
            reason = "the server closed the connection" if error is None else str(error)
            self._perform(self._session.closed(reason, self._now()))

    def _perform(self, effects: SessionEffects) -> None:
        if effects.hang_up:
            self._hang_up()
        if effects.send and self._link is not None:
            self._link.send(effects.send)
        for news in effects.deliver:
            if not isinstance(news, Submission):
                self._announce(news)
            elif isinstance(news, _Awaited) and not news.future.done():
                news.future.set_result(None)
        self._dial = effects.dial or self._dial
        self._look = effects.look or self._look
        end = self._session.deadline
        if (
            effects.dial is not None
            or self.status is Status.CLOSED
            or (end is not None and (self._pause_end is None or end < self._pause_end))
        ):
            self._wake()

    def _announce(self, news: News) -> None:
        """In a turn of its own: behind the results that came before, ahead of those behind."""
        asyncio.get_running_loop().call_soon(self._listener, news)
        if isinstance(news, StatusChanged):
            if news.status is Status.CONNECTED:
                self.away_since = None
            elif self.away_since is None:
                self.away_since = self._clock.wall()
            waiting, self._watchers = self._watchers, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def _status_changes(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._watchers.append(future)
        await future

    def _wake(self) -> None:
        if self._pause is not None and not self._pause.expired():
            self._pause.reschedule(asyncio.get_running_loop().time())

    def _hang_up(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.abort()

    def _now(self) -> Millis:
        return self._clock.monotonic()


class _Link:
    """The receiver of one connection. Those that were hung up have no say any more."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self.stream: Stream | None = None
        self._client = client

    def attach(self, stream: Stream) -> "_Link":
        """The connection is there."""
        self.stream = stream
        return self

    def send(self, chunks: Sequence[bytes]) -> None:
        """What the server does not take waits; the session bounds how much that can be."""
        if self.stream is not None:
            self.stream.send(chunks)

    def abort(self) -> None:
        """Closes it, if it is open."""
        if self.stream is not None:
            self.stream.abort()

    def buffer(self) -> memoryview:
        """All connections of a client share one; there is only one at a time."""
        return self._client.scratch

    def received(self, count: int) -> None:
        """The session cuts packets from it at once."""
        self._client.received(self, count)

    def drained(self) -> None:
        """No caller waits for this."""

    def closed(self, error: OSError | None) -> None:
        """By the server, by an error, or by us."""
        self.stream = None
        self._client.lost(self, error)


def _expect(answer: Answer, kind: type[R]) -> R:
    if isinstance(answer, KeeperError):
        try:
            raise answer
        finally:
            del answer  # or the error would hold this frame, and this frame the error
    assert isinstance(answer, kind), answer
    return answer
