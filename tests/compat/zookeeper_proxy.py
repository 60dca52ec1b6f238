"""A wire between client and server that can be cut, or can swallow what the server says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from odradek.ports import Address, Network, Receiver, Stream
from odradek.runtime.doors.network import SystemNetwork


class _End:
    """One end of a wire: what comes in here goes out there."""

    def __init__(self, proxy: "Proxy", *, from_server: bool) -> None:
        self.stream: Stream | None = None
        self.other: _End | None = None
        self._proxy = proxy
        self._from_server = from_server
        self._room = memoryview(bytearray(1 << 16))
        self._early: list[bytes] = []

    def attach(self, stream: Stream) -> "_End":
        """The end is there: what came before goes out now."""
        self.stream = stream
        stream.send(self._early)
        return self

    def send(self, data: bytes) -> None:
        """Goes out here."""
        if self.stream is not None:
            self.stream.send([data])
        else:
            self._early.append(data)

    def buffer(self) -> memoryview:
        """Anywhere."""
        return self._room

    def received(self, count: int) -> None:
        """Passes it on, unless it is to be swallowed."""
        if self.other is not None and not (self._from_server and self._proxy.deaf):
            self.other.send(bytes(self._room[:count]))

    def drained(self) -> None:
        """Nobody waits for this."""

    def closed(self, error: OSError | None) -> None:
        """Both ends go together."""
        self.stream = None
        if self.other is not None and self.other.stream is not None:
            self.other.stream.abort()


class Proxy:
    """Stands in front of one server."""

    def __init__(self, target: Address) -> None:
        self.target = target
        self.address: Address = ("", 0)
        self.deaf = False  # swallows what the server says
        self.refusing = False  # takes no new connections
        self._network: Network = SystemNetwork()
        self._ends: list[_End] = []
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def connect_string(self) -> str:
        """As clients have it."""
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def open(self) -> bool:
        """Whether somebody is connected through it."""
        return any(end.stream is not None for end in self._ends)

    def cut(self) -> None:
        """Every connection breaks."""
        for end in self._ends:
            if end.stream is not None:
                end.stream.abort()
        self._ends.clear()

    def _accept(self, stream: Stream) -> Receiver:
        near = _End(self, from_server=False)
        far = _End(self, from_server=True)
        near.other, far.other = far, near
        self._ends += [near, far]
        assert self._tasks is not None
        self._tasks.create_task(self._join(near, far))
        return near.attach(stream)

    async def _join(self, near: _End, far: _End) -> None:
        try:
            if self.refusing:
                raise ConnectionRefusedError
            await self._network.connect(self.target, far.attach)
        except OSError:
            if near.stream is not None:
                near.stream.abort()
        if near.stream is None and far.stream is not None:
            far.stream.abort()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Proxy"]:
        """Takes connections."""
        async with asyncio.TaskGroup() as self._tasks:
            listener = await self._network.listen(("127.0.0.1", 0), self._accept)
            self.address = listener.address
            try:
                yield self
            finally:
                listener.close()
                self.cut()
