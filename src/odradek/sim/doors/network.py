"""The Network door on simulated wires: one door for each life of a machine."""

import asyncio
import errno
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Final

from odradek.ports import Address, Listener, Receiver, Stream
from odradek.sim.doors.disk_faults import PowerLost
from odradek.sim.doors.stream import SimulatedStream
from odradek.sim.doors.tasks import LIFE
from odradek.sim.doors.wires import Host, Kind, Pipe, Wires

HANDSHAKE_SECONDS: Final = (1, 2, 4, 8, 16, 32, 64)  # how long each attempt waits for an answer


class SimulatedListener:
    """A port of one life of a machine."""

    def __init__(
        self, network: "SimulatedNetwork", address: Address, accept: Callable[[Stream], Receiver]
    ) -> None:
        self.network, self.address, self._accept = network, address, accept
        self._waiting: deque[SimulatedStream] = deque()
        self._is_paused = False
        network.host.listeners[address[1]] = self

    def accept(self, stream: SimulatedStream) -> None:
        """A connection is complete; the other side is gone if the listener closed meanwhile."""
        if self.network.host.listeners.get(self.address[1]) is self:
            self._waiting.append(stream)
            self.network.soon(self._attach_waiting)
        else:
            stream.kernel_closes()

    def pause(self) -> None:
        """They wait here, as in a kernel."""
        self._is_paused = True

    def resume(self) -> None:
        """In a turn of its own."""
        self._is_paused = False
        self.network.soon(self._attach_waiting)

    def _attach_waiting(self) -> None:
        while self._waiting and not self._is_paused:
            stream = self._waiting.popleft()
            stream.attach(self._accept(stream))

    def close(self) -> None:
        """A second call does nothing."""
        if self.network.host.listeners.get(self.address[1]) is self:
            del self.network.host.listeners[self.address[1]]


class SimulatedNetwork:
    """The door, in the hands of one life of a machine."""

    def __init__(self, wires: Wires, host: Host, context: Context | None = None) -> None:
        self.wires, self.host = wires, host
        self._context = context or copy_context()
        self._life = self._context.get(LIFE)
        self._dead = False

    def soon(self, callback: Callable[..., object], *args: object) -> None:
        """A turn of this machine."""
        self.wires.loop.call_soon(callback, *args, context=self._context)

    def at_once(self, callback: Callable[[], object]) -> None:
        """The same in the turn of the kernel; who is not awake has a turn when it wakes."""
        if self._life is None or self._life.awake:
            self.wires.loop.run_as(self._life, self._context, callback)
        else:
            self.soon(callback)

    async def listen(
        self,
        address: Address,
        accept: Callable[[Stream], Receiver],
        *,
        uses_reserve: bool = False,  # noqa: ARG002 - the door's
    ) -> Listener:
        """On every address of the host, whichever was named; descriptors never run out."""
        self._assert_alive()
        host, port = address
        if self.wires.find(self.host, host) is not self.host:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL), address)
        if port in self.host.listeners:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), address)
        port = port or self.host.free_port()
        return SimulatedListener(self, (host, port), accept)

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """A handshake over both directions, tried again while no answer comes."""
        self._assert_alive()
        target = self.wires.find(self.host, address[0])
        stream = await Handshake(self, target, address).complete()
        stream.attach(attach(stream))
        return stream

    def process_died(self) -> None:
        """The kernel closes what the process had open."""
        self._dead = True
        self.host.listeners.clear()
        for end in list(self.host.ends.values()):
            end.kernel_closes()

    def power_lost(self) -> None:
        """Nothing is closed, nothing is told."""
        self._dead = True
        self.host.up = False
        self.host.listeners.clear()
        for end in list(self.host.ends.values()):
            end.vanish()

    def _assert_alive(self) -> None:
        if self._dead:
            raise PowerLost(self.host.name)


class Handshake:
    """What goes back and forth before a connection is there. The kernels do it, for no task."""

    def __init__(self, network: "SimulatedNetwork", target: Host, address: Address) -> None:
        self._network, self._wires, self._target = network, network.wires, target
        self._address = address
        self._client: SimulatedStream | None = None  # once the other side has said yes
        self._answer: asyncio.Future[SimulatedStream | None] = self._wires.loop.create_future()
        """Our end, or none: nothing listens there."""

    async def complete(self) -> SimulatedStream:
        """Asks until an answer comes: our end of the connection, or a refusal."""
        try:
            return await self._ask()
        except BaseException:
            self._answer.cancel()
            if self._client is not None:
                self._client.kernel_closes()
            raise

    async def _ask(self) -> SimulatedStream:
        for seconds in HANDSHAKE_SECONDS:
            self._travel(self._network.host, self._target, self._knocked)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    stream = await asyncio.shield(self._answer)
                    if stream is None:
                        refusal = os.strerror(errno.ECONNREFUSED)
                        raise ConnectionRefusedError(errno.ECONNREFUSED, refusal)
                    return stream
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), self._address)

    def _knocked(self) -> None:
        listener = self._target.listeners.get(self._address[1])
        if self._client is None and listener is not None:
            self._client = self._make_ends(listener)
        self._travel(self._target, self._network.host, self._answered)

    def _make_ends(self, listener: SimulatedListener) -> SimulatedStream:
        here, there = self._network.host, self._target
        client_ip, server_ip = ("127.0.0.1",) * 2 if here is there else (here.ip, there.ip)
        client_address = (client_ip, here.free_port())
        server_address = (server_ip, self._address[1])
        client = SimulatedStream(self._network, client_address, server_address)
        server = SimulatedStream(listener.network, server_address, client_address)
        server.accept = lambda: listener.accept(server)
        client.pipe = server.incoming = Pipe(self._wires, client, server)
        server.pipe = client.incoming = Pipe(self._wires, server, client)
        return client

    def _answered(self) -> None:
        if self._answer.done():
            return
        if self._client is None:
            self._answer.set_result(None)
            return
        assert self._client.pipe is not None
        self._client.pipe.put(Kind.OPEN)
        self._answer.set_result(self._client)

    def _travel(self, source: Host, target: Host, then: Callable[[], None]) -> None:
        wires = self._wires
        link = wires.link(source, target)

        def arrive() -> None:
            if target.up and not link.cut:
                then()

        if source.up:
            wires.at(wires.loop.now + wires.delay(source, target), arrive)
