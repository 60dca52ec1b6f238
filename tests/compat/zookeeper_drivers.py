"""One way to speak to ZooKeeper, through two clients: ours, and kazoo as the oracle.

A driver raises `KeeperError`s only, by ZooKeeper's codes, and writes down the events that it is
told of, in the order in which it is told.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, KazooException, RolledBackError
from kazoo.protocol.states import Callback, WatchedEvent
from kazoo.security import ACL, Id

from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.units import SECOND, Millis
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import error_of, multi_error
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status, StatusChanged
from odradek.zookeeper.protocol.codes import ANY_VERSION, CreateMode, EventType, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity, Stat
from odradek.zookeeper.protocol.jute_requests import Check, Create2, Delete, SetData, WriteOp

TIMEOUT = Millis(10 * SECOND)


class Driver(Protocol):
    """What both clients can do."""

    events: list[WatchEvent]

    @property
    def identity(self) -> tuple[int, bytes]:
        """The session's id and password."""
        ...

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: CreateMode = CreateMode.PERSISTENT,
        acl: tuple[Acl, ...] = OPEN_ACL,
    ) -> str:
        """The path of the new node."""
        ...

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes | None, Stat]:
        """Data and stat."""
        ...

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Stat or nothing."""
        ...

    async def children(self, path: str, *, watch: bool = False) -> list[str]:
        """Sorted names."""
        ...

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """The new stat."""
        ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Gone."""
        ...

    async def acl(self, path: str) -> tuple[tuple[Acl, ...], Stat]:
        """ACL and stat."""
        ...

    async def set_acl(self, path: str, acl: tuple[Acl, ...], version: int = ANY_VERSION) -> Stat:
        """The new stat."""
        ...

    async def sync(self, path: str) -> None:
        """Up to date."""
        ...

    async def multi(self, operations: Sequence[WriteOp]) -> list[object]:
        """A path for a create, a stat for a write, None for the others."""
        ...

    async def authenticate(self, scheme: str, credentials: bytes) -> None:
        """One more identity."""
        ...

    async def settle(self) -> None:
        """Returns once all events of changes that were made before have been written down."""
        ...


class OurDriver:
    """Our client, on the kernel's network."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.client = ZooKeeperClient(session, SystemNetwork(), SystemClock(), self._heard)
        self.events: list[WatchEvent] = []
        self.statuses: list[Status] = []
        self.tell: Callable[[News], None] = lambda news: None  # whoever else wants to know
        self._news = asyncio.Event()

    async def until(self, wanted: Callable[[], bool]) -> None:
        """Waits for news that make this true."""
        while not wanted():
            self._news.clear()
            await self._news.wait()

    async def recover(self) -> None:
        """Waits for the connection to break, and for the next one."""
        await self.until(lambda: self.client.status is not Status.CONNECTED)
        await self.client.connected()

    def _heard(self, news: News) -> None:
        """Writes it down."""
        self._news.set()
        self.tell(news)
        if isinstance(news, StatusChanged):
            self.statuses.append(news.status)
        else:
            self.events.append(news)

    @property
    def identity(self) -> tuple[int, bytes]:
        """As the server gave it."""
        return self.session._identity

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: CreateMode = CreateMode.PERSISTENT,
        acl: tuple[Acl, ...] = OPEN_ACL,
    ) -> str:
        """By create2."""
        return (await self.client.create(path, data, mode=mode, acl=acl)).path

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes | None, Stat]:
        """By getData."""
        return await self.client.get(path, watch=watch)

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """By exists."""
        return await self.client.exists(path, watch=watch)

    async def children(self, path: str, *, watch: bool = False) -> list[str]:
        """By getChildren2."""
        return sorted((await self.client.children(path, watch=watch)).names)

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """By setData."""
        return await self.client.set(path, data, version)

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """By delete."""
        await self.client.delete(path, version)

    async def acl(self, path: str) -> tuple[tuple[Acl, ...], Stat]:
        """By getACL."""
        return await self.client.acl(path)

    async def set_acl(self, path: str, acl: tuple[Acl, ...], version: int = ANY_VERSION) -> Stat:
        """By setACL."""
        return await self.client.set_acl(path, acl, version)

    async def sync(self, path: str) -> None:
        """By sync."""
        await self.client.sync(path)

    async def multi(self, operations: Sequence[WriteOp]) -> list[object]:
        """By multi."""
        results = await self.client.multi(operations)
        return [getattr(r, "path", None) or getattr(r, "stat", None) for r in results]

    async def authenticate(self, scheme: str, credentials: bytes) -> None:
        """By auth."""
        await self.client.authenticate(scheme, credentials)

    async def settle(self) -> None:
        """Events come before later answers."""
        await self.client.sync("/")


@asynccontextmanager
async def ours(connect: str, settings: SessionSettings | None = None) -> AsyncIterator[OurDriver]:
    """A session of our own client."""
    settings = settings or SessionSettings(timeout=TIMEOUT)
    session = Session(Ensemble.parse(connect), SystemRandom(), settings)
    driver = OurDriver(session)
    client = driver.client
    serving = asyncio.create_task(client.run())
    try:
        client.begin()
        async with asyncio.timeout(20):
            await client.connected()
        yield driver
        await client.close()
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


class KazooDriver:
    """kazoo, whose threads are waited for in threads."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client
        self.events: list[WatchEvent] = []

    def _heard(self, event: WatchedEvent) -> None:
        kinds = {
            "CREATED": EventType.NODE_CREATED,
            "DELETED": EventType.NODE_DELETED,
            "CHANGED": EventType.NODE_DATA_CHANGED,
            "CHILD": EventType.NODE_CHILDREN_CHANGED,
        }
        if event.type in kinds:
            self.events.append(WatchEvent(kinds[event.type], event.path))

    @property
    def identity(self) -> tuple[int, bytes]:
        """As the server gave it."""
        session_id, password = self.client.client_id
        return session_id, password

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: CreateMode = CreateMode.PERSISTENT,
        acl: tuple[Acl, ...] = OPEN_ACL,
    ) -> str:
        """By create; kazoo asks for the two kinds one by one."""
        return await _asked(  # type: ignore[no-any-return] # kazoo has no types
            self.client.create,
            path,
            data,
            acl=[ACL(a.permissions, Id(*a.identity)) for a in acl],
            ephemeral=bool(mode & 1),
            sequence=bool(mode & 2),
        )

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes | None, Stat]:
        """By getData."""
        data, stat = await _asked(self.client.get, path, watch=self._heard if watch else None)
        return data, Stat(*stat)

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """By exists."""
        stat = await _asked(self.client.exists, path, watch=self._heard if watch else None)
        return None if stat is None else Stat(*stat)

    async def children(self, path: str, *, watch: bool = False) -> list[str]:
        """By getChildren."""
        watcher = self._heard if watch else None
        return sorted(await _asked(self.client.get_children, path, watch=watcher))

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """By setData."""
        return Stat(*await _asked(self.client.set, path, data, version))

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """By delete."""
        await _asked(self.client.delete, path, version)

    async def acl(self, path: str) -> tuple[tuple[Acl, ...], Stat]:
        """By getACL."""
        acls, stat = await _asked(self.client.get_acls, path)
        return tuple(Acl(a.perms, Identity(a.id.scheme, a.id.id)) for a in acls), Stat(*stat)

    async def set_acl(self, path: str, acl: tuple[Acl, ...], version: int = ANY_VERSION) -> Stat:
        """By setACL."""
        theirs = [ACL(a.permissions, Id(*a.identity)) for a in acl]
        return Stat(*await _asked(self.client.set_acls, path, theirs, version))

    async def sync(self, path: str) -> None:
        """By sync."""
        await _asked(self.client.sync, path)

    async def multi(self, operations: Sequence[WriteOp]) -> list[object]:
        """By multi; kazoo gives back errors instead of raising them."""
        transaction = self.client.transaction()
        for op in operations:
            match op:
                case Create2(path, data, _, mode):
                    transaction.create(
                        path, data, ephemeral=bool(mode & 1), sequence=bool(mode & 2)
                    )
                case Delete(path, version):
                    transaction.delete(path, version)
                case SetData(path, data, version):
                    transaction.set_data(path, data, version)
                case Check(path, version):
                    transaction.check(path, version)
                case _:
                    raise NotImplementedError(op)
        results = await _asked(transaction.commit)
        if any(isinstance(result, Exception) for result in results):
            raise multi_error([_code(r) for r in results], [""] * len(results))
        return [_kazoo_result(result) for result in results]

    async def authenticate(self, scheme: str, credentials: bytes) -> None:
        """By auth."""
        await _asked(self.client.add_auth, scheme, credentials.decode())

    async def settle(self) -> None:
        """Its handler has one queue for events: what stands behind them comes after them."""
        await self.sync("/")
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        told = lambda: loop.call_soon_threadsafe(done.set)  # noqa: E731 - one line, one place
        self.client.handler.dispatch_callback(Callback("watch", told, ()))
        await done.wait()


@asynccontextmanager
async def kazoos(connect: str) -> AsyncIterator[KazooDriver]:
    """A session of kazoo's."""
    client = KazooClient(connect, timeout=TIMEOUT / SECOND)
    await asyncio.to_thread(client.start, 20)
    try:
        yield KazooDriver(client)
    finally:
        await asyncio.to_thread(client.stop)
        await asyncio.to_thread(client.close)


async def _asked(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Kazoo's answer, with its errors as ours."""
    try:
        return await asyncio.to_thread(call, *arguments, **named)
    except KazooException as error:
        raise error_of(_code(error)) from error


def _code(result: object) -> int:
    if isinstance(result, RolledBackError):
        return 0
    codes: list[int] = [code for code, kind in EXCEPTIONS.items() if type(result) is kind]
    return codes[0] if codes else 0


def _kazoo_result(result: Any) -> object:
    if isinstance(result, str):
        return result
    return None if result is True else Stat(*result)


async def failure(attempt: Awaitable[object]) -> int:
    """The code with which it fails, 0 if it does not; of a multi, that of the reason."""
    try:
        await attempt
    except KeeperError as error:
        return error.keeper_code
    return 0
