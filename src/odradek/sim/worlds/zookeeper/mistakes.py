"""Mistakes that a ZooKeeper server could make.

Some are played by doors that lie to a correct server, the others put a wrong function in the place
of a right one.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from odradek.ensemble.server import Doors
from odradek.ports import (
    Address,
    Chunk,
    Entry,
    Journal,
    Listener,
    Network,
    Receiver,
    Stream,
)
from odradek.sim.simulation import Knob
from odradek.sim.stage.machine import Machine
from odradek.zookeeper.protocol.codes import NOTIFICATION_XID
from odradek.zookeeper.server import writes
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.transactions import Change, SessionClosed
from odradek.zookeeper.tree.tree import Touched

XID: Final = slice(4, 8)  # behind the length


class HastyJournal:
    """Says that entries are durable, and writes them afterwards: answer before sync."""

    def __init__(self, journal: Journal, machine: Machine) -> None:
        self._journal, self._machine = journal, machine
        self._turn = asyncio.Lock()

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """As it is."""
        return self._journal.load()

    async def append(self, entries: Sequence[Entry]) -> None:
        """Returns at once."""
        _ = self._machine.spawn(self._write(tuple(entries)))

    async def _write(self, entries: Sequence[Entry]) -> None:
        async with self._turn:
            await self._journal.append(entries)

    async def snapshot(self, zxid: int, rows: Iterable[bytes]) -> None:
        """As it is."""
        await self._journal.snapshot(zxid, rows)

    def close(self) -> None:
        """As it is."""


class ForgetfulJournal(HastyJournal):
    """Loses the last transaction at each start: a tail that was cut and not missed."""

    def load(self) -> tuple[Iterable[bytes], Iterable[Entry]]:
        """All but the last."""
        rows, entries = self._journal.load()
        kept = list(entries)
        return rows, kept[:-1]

    async def append(self, entries: Sequence[Entry]) -> None:
        """As it is."""
        await self._journal.append(entries)


class LyingStream:
    """A stream whose frames somebody tampers with, on the way out or on the way in."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.peer, self.local = stream.peer, stream.local
        self.unsent, self.pause, self.resume = stream.unsent, stream.pause, stream.resume
        self.close, self.abort = stream.close, stream.abort
        self._kept: list[bytes] = []
        self._rest = b""

    def send(self, chunks: Sequence[Chunk]) -> None:
        """Events of watches go out behind the answer that follows them."""
        data = self._rest + b"".join(
            bytes(chunk) for chunk in chunks if not isinstance(chunk, tuple)
        )
        frames, self._rest = _frames(data)
        for frame in frames:
            if int.from_bytes(frame[XID], "big", signed=True) == NOTIFICATION_XID:
                self._kept.append(frame)
            else:
                self._stream.send([frame, *self._kept])
                self._kept.clear()


class LyingNetwork:
    """Every stream of the server is a lying one."""

    def __init__(self, network: Network, tamper: Callable[[Stream], Stream]) -> None:
        self._network, self._tamper = network, tamper

    async def listen(
        self, address: Address, accept: Callable[[Stream], Receiver], *, uses_reserve: bool = False
    ) -> Listener:
        """The server is handed the lie."""
        lying = lambda stream: accept(self._tamper(stream))  # noqa: E731 - one place uses it
        return await self._network.listen(address, lying, uses_reserve=uses_reserve)

    async def connect(self, address: Address, attach: Callable[[Stream], Receiver]) -> Stream:
        """A server does not connect."""
        return await self._network.connect(address, attach)


def _frames(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole frames with their lengths, and the rest."""
    frames: list[bytes] = []
    while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
        end = 4 + int.from_bytes(data[:4], "big")
        frames.append(data[:end])
        data = data[end:]
    return frames, data


def answer_before_sync(doors: Doors, machine: Machine) -> Doors:
    """Transactions are answered, and then made durable."""
    return doors._replace(journal=HastyJournal(doors.journal, machine))


def lost_tail(doors: Doors, machine: Machine) -> Doors:
    """The last transaction is not read back."""
    return doors._replace(journal=ForgetfulJournal(doors.journal, machine))


def watch_after_reply(doors: Doors, machine: Machine) -> Doors:
    """A client sees the change, and then hears that there was one."""
    del machine
    return doors._replace(network=LyingNetwork(doors.network, LyingStream))


def _check_no_version(*_: object) -> None:
    """Any version will do."""


def _keep_ephemerals(database: Database, change: Change, zxid: int, time: int) -> list[Touched]:
    """A session ends, and its nodes stay."""
    if isinstance(change, SessionClosed):
        database.sessions.replay_closed(change.session_id)
        return []
    return APPLY(database, change, zxid, time)


APPLY: Final = Database.apply
WRONG_FUNCTIONS: Final[Mapping[str, Knob]] = {
    "versions-ignored": Knob(writes, "_check_version", _check_no_version),
    "ephemerals-stay": Knob(Database, "apply", _keep_ephemerals),
}
LYING_DOORS: Final[Mapping[str, Callable[[Doors, Machine], Doors]]] = {
    "answer-before-sync": answer_before_sync,
    "lost-tail": lost_tail,
    "watch-after-reply": watch_after_reply,
}
