"""Where a contract is tried: a server, a kind of client, and a part of the tree for each test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import wraps
from itertools import count
from typing import Any, ParamSpec

from odradek.ports import Address
from odradek.zookeeper.client.session import SessionSettings
from odradek.zookeeper.protocol.jute import framed
from odradek.zookeeper.protocol.jute_replies import Connected
from odradek.zookeeper.protocol.jute_requests import CloseSession, Connect, Request, framed_request
from tests.compat.zookeeper_drivers import Driver, OurDriver, ours
from tests.compat.zookeeper_proxy import Proxy

P = ParamSpec("P")
Client = Callable[[str], AbstractAsyncContextManager[Driver]]
SECONDS_MAX = 60

_ROOTS = count()


class Arena:
    """A server and a root of one's own in it. Every client has the root as its chroot."""

    def __init__(self, address: Address, client: Client = ours) -> None:
        self.address = address
        self.root = f"/contract-{next(_ROOTS)}"
        self._client = client
        self._made = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Driver]:
        """A session of its own below the root."""
        await self.make_root()
        async with self._client(self.connect_string) as driver:
            yield driver

    @asynccontextmanager
    async def ours(
        self, *, at: Address | None = None, settings: SessionSettings | None = None
    ) -> AsyncIterator[OurDriver]:
        """A session of our own client's, for what the other cannot do."""
        await self.make_root()
        async with ours(self.through(at or self.address), settings) as driver:
            yield driver

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[OurDriver]:
        """One that sees the whole tree."""
        async with ours(f"{self.address[0]}:{self.address[1]}") as driver:
            yield driver

    @property
    def connect_string(self) -> str:
        """With the root."""
        return self.through(self.address)

    def through(self, address: Address) -> str:
        """The same root by way of another address, as of a proxy."""
        return f"{address[0]}:{address[1]}{self.root}"

    @asynccontextmanager
    async def proxy(self) -> AsyncIterator[Proxy]:
        """A wire to the server that can be cut."""
        async with Proxy(self.address).listening() as proxy:
            yield proxy

    async def make_root(self) -> None:
        """Once, by our own client."""
        if not self._made:
            self._made = True
            async with ours(f"{self.address[0]}:{self.address[1]}") as maker:
                await maker.create(self.root)


def on_a_loop(
    conversation: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, None]:
    """Makes a test of a conversation, which must end some time."""

    async def bounded(*arguments: P.args, **named: P.kwargs) -> None:
        async with asyncio.timeout(SECONDS_MAX):
            await conversation(*arguments, **named)

    @wraps(conversation)
    def test(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(bounded(*arguments, **named))

    return test


async def kill_session(address: Address, identity: tuple[int, bytes]) -> None:
    """Ends a session behind the back of its client, as a server does that waited too long."""
    async with raw(address) as wire:
        await wire.greet(Connect(0, 10_000, *identity))
        await wire.ask(1, CloseSession())


class Wire:
    """A connection without a client: packets as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def greet(self, hello: Connect) -> Connected:
        """Asks for a session."""
        self._writer.write(framed(hello.body()))
        return Connected.decode(await self.packet())

    async def ask(self, xid: int, request: Request) -> bytes:
        """One request and the next packet that comes."""
        self._writer.write(framed_request(xid, request))
        return await self.packet()

    async def packet(self) -> bytes:
        """The next one; an `IncompleteReadError` says that there is none any more."""
        length = int.from_bytes(await self._reader.readexactly(4), "big")
        return await self._reader.readexactly(length)


@asynccontextmanager
async def raw(address: Address) -> AsyncIterator[Wire]:
    """A connection to a server."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
