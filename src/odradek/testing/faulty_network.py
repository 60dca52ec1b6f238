"""The Network door of `runtime` with links between the members of a cluster that can be cut.

The fault model is TCP's, and the simulator's. On a link that is cut bytes wait and arrive once it
heals: the receiving end does not read. New connections over it are neither made nor refused. Who is
at the other end is known by port: each member listens for the others at ports of its own, and notes
the ports from which it connects.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from odradek.ports import Address, Chunk, Listener, Receiver, Stream, size_of
from odradek.runtime.doors.network import SystemNetwork

CLIENTS: Final = "clients"
"""All that connect and are no members."""
MEMBERS: Final = "members"

Member = int | str
"""A broker's number, or `zookeeper`."""


@dataclass(slots=True)
class Links:
    """Which member does not reach which, and after how long; shared by the threads of all.

    Values are replaced, never changed, so that each thread sees one or the other.
    """

    cuts: frozenset[tuple[Member, Member]] = frozenset()
    delays: dict[tuple[Member, Member], float] = field(default_factory=dict)  # seconds
    listens: dict[int, Member] = field(default_factory=dict)  # by port
    connects: dict[int, Member] = field(default_factory=dict)  # by the port that it connects from
    watchers: dict["FaultyNetwork", None] = field(default_factory=dict)

    def cut(self, pairs: Iterable[tuple[Member, Member]]) -> None:
        """In these directions nothing arrives."""
        self.cuts |= frozenset(pairs)
        self._tell()

    def delay(self, pairs: Iterable[tuple[Member, Member]], seconds: float) -> None:
        """In these directions everything arrives so much later."""
        self.delays = {**self.delays, **dict.fromkeys(pairs, seconds)}

    def heal(self) -> None:
        """All arrives at once."""
        self.cuts, self.delays = frozenset(), {}
        self._tell()

    def _tell(self) -> None:
        for network in list(self.watchers):
            network.look_soon()

    def is_cut(self, one: Member, other: Member) -> bool:
        """A connection is made by messages in both directions."""
        return (one, other) in self.cuts or (other, one) in self.cuts


class FaultyNetwork:
    """The door of one life of one member. `listeners`: in their order, who connects to each."""

    def __init__(self, me: Member, links: Links, listeners: Iterable[str]) -> None:
        self.me, self.links = me, links
        self._expected = iter(listeners)
        self.streams: dict[FaultyStream, None] = {}
        self.is_over = False
        self._below = SystemNetwork()
        self._loop = asyncio.get_running_loop()
        self._listeners: list[Listener] = []
        self._changed = asyncio.Event()
        links.watchers[self] = None

    async def listen(
        self, address: Address, accept: Callable[[Stream], Receiver], *, uses_reserve: bool = False
    ) -> Listener:
        """Each port is for members, or for clients."""
        is_for_members = next(self._expected) == MEMBERS

        def attach(below: Stream) -> Receiver:
            return FaultyStream(self, below, None if is_for_members else CLIENTS).begin(accept)

        listener = await self._below.listen(address, attach, uses_reserve=uses_reserve)
        if is_for_members:
            self.links.listens[listener.address[1]] = self.me
        self._listeners.append(listener)
        return listener

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """Once the link is whole: a caller who waits no longer cancels it."""
        other = self.links.listens.get(address[1], CLIENTS)
        while self.links.is_cut(self.me, other):
            self._changed.clear()
            await self._changed.wait()
        made: list[FaultyStream] = []

        def begin(below: Stream) -> Receiver:
            self.links.connects[below.local[1]] = self.me
            made.append(FaultyStream(self, below, other))
            return made[0].begin(attach)

        await self._below.connect(address, begin)
        return made[0]

    def end(self) -> None:
        """The process is gone: its kernel closes what was open."""
        self.is_over = True
        self.links.watchers.pop(self, None)
        for listener in self._listeners:
            listener.close()
        for stream in list(self.streams):
            stream.abort()

    def break_clients(self) -> None:
        """Their connections are reset."""
        for stream in list(self.streams):
            if stream.other == CLIENTS:
                stream.abort()

    def look_soon(self) -> None:
        """From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._changed.set()
        for stream in list(self.streams):
            stream.look()


class FaultyStream:
    """A connection: a receiver below, a stream above."""

    def __init__(self, network: FaultyNetwork, below: Stream, other: Member | None) -> None:
        self._network, self._below = network, below
        self._other = other
        self._receiver: Receiver
        self._is_paused = self._is_held = self._is_closing = False
        self._late: deque[tuple[float, Sequence[Chunk]]] = deque()  # by the moment to send it
        self._late_bytes = 0

    def begin(self, attach: Callable[[Stream], Receiver]) -> Receiver:
        """Is a receiver from now on."""
        self._network.streams[self] = None
        self._receiver = attach(self)
        self.look()
        return self

    @property
    def other(self) -> Member:
        """Who is at the other end; of one that was accepted, once it has noted its port."""
        if self._other is None:
            found = self._network.links.connects.get(self.peer[1])
            if found is None:
                return CLIENTS
            self._other = found
        return self._other

    def look(self) -> None:
        """Whether what comes may arrive has perhaps changed."""
        held = (self.other, self._network.me) in self._network.links.cuts
        if held == self._is_held:
            return
        self._is_held = held
        if not self._is_paused:
            (self._below.pause if held else self._below.resume)()

    # The stream

    @property
    def peer(self) -> Address:
        """As below."""
        return self._below.peer

    @property
    def local(self) -> Address:
        """As below."""
        return self._below.local

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Now, or after the delay of this link, behind what is late already."""
        if self._network.is_over or self._is_closing:
            return
        seconds = self._network.links.delays.get((self._network.me, self.other), 0.0)
        if not seconds and not self._late:
            self._below.send(chunks)
            return
        loop = asyncio.get_running_loop()
        self._late.append((loop.time() + seconds, chunks))
        self._late_bytes += sum(map(size_of, chunks))
        if len(self._late) == 1:
            loop.call_at(self._late[0][0], self._send_late)

    def _send_late(self) -> None:
        loop = asyncio.get_running_loop()
        healed = (self._network.me, self.other) not in self._network.links.delays
        while self._late and (healed or self._late[0][0] <= loop.time()):
            _, chunks = self._late.popleft()
            self._late_bytes -= sum(map(size_of, chunks))
            self._below.send(chunks)
        if self._late:
            loop.call_at(self._late[0][0], self._send_late)
        elif self._is_closing:
            self._below.close()
        elif self in self._network.streams and not self._below.unsent:
            self._receiver.drained()

    @property
    def unsent(self) -> int:
        """With what is late."""
        return self._below.unsent + self._late_bytes

    def pause(self) -> None:
        """As above wants it."""
        self._is_paused = True
        self._below.pause()

    def resume(self) -> None:
        """Unless nothing may arrive."""
        self._is_paused = False
        if not self._is_held:
            self._below.resume()

    def close(self) -> None:
        """Behind what is late."""
        if self._late:
            self._is_closing = True
        else:
            self._below.close()

    def abort(self) -> None:
        """At once."""
        self._late.clear()
        self._late_bytes = 0
        self._below.abort()

    # The receiver

    def buffer(self) -> memoryview:
        """Of the one above."""
        return self._receiver.buffer()

    def received(self, count: int) -> None:
        """Goes up."""
        self._receiver.received(count)

    def drained(self) -> None:
        """Unless something is late."""
        if not self._late:
            self._receiver.drained()

    def closed(self, error: OSError | None) -> None:
        """Goes up, once."""
        self._late.clear()
        self._late_bytes = 0
        self._network.streams.pop(self, None)
        self._receiver.closed(error)
