"""The simulated network between the doors: hosts, links, cuts, and what travels.

The fault model is TCP's. Bytes of one direction arrive in order and unharmed, or not at all: on a
link that is cut they wait, and arrive some time after it heals, as retransmission has it. An end
whose machine lost power is gone without a word; a peer that writes to it learns so only after the
machine is back, by a reset. A process that dies leaves its kernel behind, which closes for it.
Cuts have a direction, so any shape can be cut; handshakes need both.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Protocol
from zlib import crc32

from odradek.ports import Random
from odradek.sim.doors.loop import SimulatedLoop
from odradek.sim.doors.tasks import NOBODY, Handle
from odradek.sim.history import History

MILLISECOND: Final = 1_000  # in the loop's unit
HEALING_MICROS_MAX: Final = 2_000_000  # how long after a cut the next retransmission may be
LOOPBACK_MICROS: Final = 20
WINDOW_BYTES: Final = 256 * 1024


class Kind(Enum):
    """What travels on a pipe."""

    OPEN = auto()  # the last part of the handshake: the acceptor may accept
    DATA = auto()
    END = auto()  # nothing more follows
    RESET = auto()  # the connection is broken


Segment = tuple[Kind, bytes]
"""A piece of one direction: thousands travel in a run, so it is no more than that."""


class End(Protocol):
    """The kernel's part of one end of a connection."""

    host: "Host"
    waiting: bool  # for room

    def arrived(self, kind: Kind, data: bytes) -> None:
        """The next piece is here."""
        ...

    def acknowledged(self) -> None:
        """The other end has taken bytes: there is room for more."""
        ...

    def broken(self) -> None:
        """Somebody on the way has reset the connection, to both sides."""
        ...

    def kernel_closes(self) -> None:
        """The process of this end is gone."""
        ...

    def vanish(self) -> None:
        """The machine of this end is gone."""
        ...


@dataclass(slots=True, eq=False)
class Host:
    """A machine as the network sees it."""

    name: str
    ip: str
    up: bool = True
    listeners: dict[int, Any] = field(default_factory=dict)
    ends: dict[int, End] = field(default_factory=dict)  # by number, in order of birth
    window_bytes: int = WINDOW_BYTES  # of each connection: what was sent to it and not read yet
    ports_given: int = 32_768
    ends_born: int = 0

    def free_port(self) -> int:
        """One that was not given before; there are enough for a run."""
        self.ports_given += 1
        return self.ports_given


USUAL_DELAY: Final = (100, 1_000)  # microseconds, low and high


@dataclass(slots=True)
class Link:
    """From one host to another, one direction."""

    delay: tuple[int, int] = USUAL_DELAY
    bytes_per_second: int | None = None
    cut: bool = False
    busy_until: int = 0

    def quicken(self) -> None:
        """Back to the usual."""
        self.delay, self.bytes_per_second = USUAL_DELAY, None
        self.busy_until = 0

    def queue(self, now: int, size: int) -> int:
        """How long so many bytes take to get on the link, behind those that were there first."""
        if not self.bytes_per_second:
            return 0
        begin = max(now, self.busy_until)
        self.busy_until = begin + size * 1_000_000 // self.bytes_per_second
        return self.busy_until - now


class Pipe:
    """One direction of one connection, in the network and in the kernels at its ends."""

    def __init__(self, wires: "Wires", source: End, target: End) -> None:
        self._wires, self._source, self._target = wires, source, target
        self._link = wires.link(source.host, target.host)
        self._names = source.host.name, target.host.name
        self._is_local = source.host is target.host
        self._flying: deque[Segment] = deque()
        self._arrival = Handle(self._arrive, (), NOBODY)  # of each piece: it is never cancelled
        self._last_arrival = 0
        self._lost = 0  # arrivals of what was taken out of the air
        self._missed = 0  # arrivals that found the way closed, or the host down
        self._is_stalled = False  # of several paths between the hosts, this one is bad
        self.in_flight = 0  # bytes that left the source and were not taken by the target

    @property
    def room(self) -> int:
        """How many bytes more the target has room for; less than none if its window shrank."""
        return self._target.host.window_bytes - self.in_flight

    def put(self, kind: Kind, data: bytes = b"") -> None:
        """Sends a piece on its way."""
        size, link, wires = len(data), self._link, self._wires
        self.in_flight += size
        self._flying.append((kind, data))
        if self._is_local:
            micros = LOOPBACK_MICROS
        else:
            low, high = link.delay
            micros = low + wires.chance.below(high - low + 1)
        if link.bytes_per_second:
            micros += link.queue(wires.loop.now, size)
        self._arrive_after(micros)

    def _arrive_after(self, micros: int) -> None:
        loop = self._wires.loop
        moment = loop.now + micros
        self._last_arrival = max(self._last_arrival, moment)
        loop.ready_at(self._last_arrival, self._arrival)

    def _arrive(self) -> None:
        if self._lost:
            self._lost -= 1
            return
        if self._missed or self._is_stalled or self._link.cut or not self._target.host.up:
            self._missed += 1
            self._wires.stuck[self] = None
            return
        kind, data = self._flying.popleft()
        source, target = self._names
        if kind is Kind.DATA:
            self._wires.history.note_traffic(target, source, len(data), crc32(data))
        else:
            self._wires.history.note(target, kind.name.lower(), source)
        self._target.arrived(kind, data)

    def lose(self) -> None:
        """What flies never arrives; its moments pass without an effect."""
        self._lost += len(self._flying) - self._missed
        self._missed = 0
        self._flying.clear()

    def stall(self) -> None:
        """Nothing arrives by this pipe, while others between the same hosts work."""
        self._is_stalled = True

    def go_on(self) -> None:
        """What was sent meanwhile arrives."""
        self._is_stalled = False
        if self in self._wires.stuck and self.retransmit(self._wires.chance.below(MILLISECOND)):
            del self._wires.stuck[self]

    def retransmit(self, micros: int | None = None) -> bool:
        """What was missed comes again some time after the way is free; False if it is not."""
        if self._is_stalled or self._link.cut or not self._target.host.up:
            return False
        missed, self._missed = self._missed, 0
        if micros is None:
            micros = self._wires.chance.below(HEALING_MICROS_MAX)
        for _ in range(missed):
            self._arrive_after(micros)
        return True

    def taken(self, count: int) -> None:
        """The target took bytes; the source is told once that came through to it."""
        self.in_flight -= count
        if not self._source.waiting:
            return
        back = self._wires.link(self._target.host, self._source.host)
        if not back.cut and self._source.host.up:
            micros = self._wires.delay(self._target.host, self._source.host)
            self._wires.at(self._wires.loop.now + micros, self._source.acknowledged)
        else:
            self._wires.unacknowledged[self] = None

    def acknowledge_again(self) -> bool:
        """The acknowledgement that a cut held back; False if it still does."""
        if self._wires.link(self._target.host, self._source.host).cut:
            return False
        self._source.acknowledged()
        return True


class Wires:
    """All hosts and all links. What it does belongs to no machine."""

    def __init__(self, loop: SimulatedLoop, chance: Random, history: History) -> None:
        self.loop, self.chance, self.history = loop, chance, history
        self.hosts: dict[str, Host] = {}  # by name, and by address
        self.stuck: dict[Pipe, None] = {}  # in the order in which they got stuck
        self.unacknowledged: dict[Pipe, None] = {}
        self._links: dict[tuple[str, str], Link] = {}

    def at(self, moment: int, callback: Callable[[], object]) -> None:
        """Calls back at a moment of the loop, as nobody's."""
        self.loop.call_at_moment(moment, callback, context=NOBODY)

    def host(self, name: str) -> Host:
        """The host of this name; new names get an address each."""
        if name not in self.hosts:
            host = Host(name, f"10.0.0.{1 + len(self.hosts) // 2}")
            self.hosts[name] = self.hosts[host.ip] = host
        return self.hosts[name]

    def find(self, asking: Host, name: str) -> Host:
        """The host that an address means to the one that asks."""
        if name in {"", "127.0.0.1", "localhost", "0.0.0.0", "::1"}:  # noqa: S104 - not bound here
            return asking
        if name not in self.hosts:
            raise OSError(-2, "Name or service not known", name)
        return self.hosts[name]

    def link(self, source: Host, target: Host) -> Link:
        """The link of one direction."""
        ends = source.name, target.name
        link = self._links.get(ends)
        if link is None:
            link = self._links[ends] = Link()
        return link

    @property
    def some_are_cut(self) -> bool:
        """Whether somewhere nothing arrives."""
        return any(link.cut for link in self._links.values())

    def both_ways(self, one: Host, other: Host) -> tuple[Link, Link]:
        """The links of both directions."""
        return self.link(one, other), self.link(other, one)

    def delay(self, source: Host, target: Host) -> int:
        """How long the next piece takes, in microseconds."""
        if source is target:
            return LOOPBACK_MICROS
        low, high = self.link(source, target).delay
        return low + self.chance.below(high - low + 1)

    def break_connections(self, host: Host) -> int:
        """Both ends of every connection of a host get a reset, as from a box in between."""
        ends = list(host.ends.values())
        for end in ends:
            end.broken()
        self.history.note("network", "breaks", host.name, len(ends))
        return len(ends)

    def cut(self, source: str, target: str) -> None:
        """Nothing arrives in this direction until it heals. A host is never cut from itself."""
        assert source != target, source
        self.link(self.host(source), self.host(target)).cut = True
        self.history.note("network", "cut", source, target)

    def mend(self, source: str, target: str) -> None:
        """This direction works; what waited comes after a while."""
        self.link(self.host(source), self.host(target)).cut = False
        self.history.note("network", "mend", source, target)
        self.try_again()

    def heal(self) -> None:
        """Every link works."""
        for link in self._links.values():
            link.cut = False
        self.history.note("network", "healed")
        self.try_again()

    def try_again(self) -> None:
        """A link healed or a host came up: what was stuck may move."""
        for pipe in list(self.stuck):
            if pipe.retransmit():
                del self.stuck[pipe]
        for pipe in list(self.unacknowledged):
            if pipe.acknowledge_again():
                del self.unacknowledged[pipe]
