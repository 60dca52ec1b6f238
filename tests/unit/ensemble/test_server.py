"""The server on the loop: what its shell adds to its core, in a world that the test controls."""

import asyncio
import errno
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

import pytest

from odradek.ensemble.server import Doors, JournalFailed, ZookeeperServer
from odradek.model.units import SECOND, Millis
from odradek.ports import Entry, Stream
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import OPEN_ACL, Packets, framed
from odradek.zookeeper.protocol.jute_replies import Connected, reply_header
from odradek.zookeeper.protocol.jute_requests import (
    CloseSession,
    Connect,
    Create,
    GetData,
    Ping,
    Request,
    SetData,
    framed_request,
)
from odradek.zookeeper.server.settings import ServerSettings

PORT = 2181


async def _wait(_machine: Machine) -> None:
    await asyncio.get_running_loop().create_future()


class Visitor:
    """A client on a machine of its own: says what it is told, and keeps what comes."""

    def __init__(self, play: "Play", name: str) -> None:
        self.replies: list[bytes] = []
        self.over = False
        self._packets = Packets(1 << 26)
        self._room = memoryview(bytearray(1 << 16))
        self._play = play
        self._name = name
        self._xid = 0
        machine = play.world.machine(name)
        machine.start(_wait)
        self.stream: Stream = self.do(machine.network.connect(("server", PORT), lambda _: self))
        play.world.run(millis=5)

    def do(self, what: Coroutine[Any, Any, Any]) -> Any:
        """On the client's machine."""
        return self._play.world.ask(self._name, what)

    def greet(self, timeout: int = 10_000) -> "Visitor":
        """Asks for a session, and has it."""
        self.do(self._send(framed(Connect(0, timeout).body())))
        self._play.world.run(millis=100)
        assert Connected.decode(self.replies.pop(0)).session_id
        return self

    def ask(self, *requests: Request, millis: int = 100) -> list[int]:
        """Requests, and the errors of all answers so far."""
        for request in requests:
            self._xid += 1
            self.do(self._send(framed_request(self._xid, request)))
        self._play.world.run(millis=millis)
        return [reply_header(packet).error for packet in self.replies]

    async def read(self, *, on: bool) -> None:
        """Whether it takes what comes."""
        (self.stream.resume if on else self.stream.pause)()

    async def _send(self, data: bytes) -> None:
        self.stream.send([data])

    def buffer(self) -> memoryview:
        """Any."""
        return self._room

    def received(self, count: int) -> None:
        """Whole packets are kept."""
        self.replies += self._packets.feed(self._room[:count])

    def drained(self) -> None:
        """Not waited for."""

    def closed(self, error: OSError | None) -> None:
        """The server hung up."""
        self.over = True


class Play:
    """A world with a server and what its disk holds."""

    def __init__(
        self,
        world: World,
        settings: ServerSettings | None = None,
        *,
        ledger: Ledger | None = None,
    ) -> None:
        self.world = world
        self.ledger = ledger or Ledger()
        self.settings = settings or ServerSettings()
        self.machine = world.machine("server")
        self.ended: list[BaseException | None] = []
        self.server: ZookeeperServer
        self._serving: asyncio.Task[None] | None = None
        self.machine.start(self._serve, self._ended)
        world.run(millis=5)

    async def _serve(self, machine: Machine) -> None:
        journal = SimulatedJournal(self.ledger, machine.clock, machine.random)
        doors = Doors(machine.clock, machine.random, machine.network, journal)
        self.server = ZookeeperServer(doors, self.settings)
        await self.server.open(("", PORT))
        self._serving = asyncio.current_task()
        await self.server.serve()

    def stop(self) -> None:
        """As a signal does."""
        assert self._serving is not None
        self._serving.cancel()

    def _ended(self, error: BaseException | None) -> None:
        self.ended.append(error)


@pytest.fixture
def world() -> Iterator[World]:
    """A fresh one."""
    with World(seed=1) as world:
        yield world


def test_a_disk_that_is_full_ends_the_server_without_a_reply(world: World) -> None:
    """What is not durable is not answered, to nobody; and the reason can be read."""
    play = Play(world)
    writer, reader = Visitor(play, "writer").greet(), Visitor(play, "reader").greet()
    writer.ask(Create("/a", b"old"))
    play.ledger.fail_next(errno.ENOSPC)
    reader.ask(GetData("/a"))
    writer.ask(SetData("/a", b"new"), millis=0)
    reader.ask(GetData("/a"))
    assert (len(writer.replies), len(reader.replies)) == (1, 1)
    assert (writer.over, reader.over) == (True, True)
    (failure,) = play.ended
    assert isinstance(failure, JournalFailed)
    assert "No space left on device" in str(failure)


def test_a_mistake_of_ours_ends_the_server(world: World) -> None:
    """What is in memory is not what the journal says any more: nobody may be told of it."""
    play = Play(world)
    one, other = Visitor(play, "one").greet(), Visitor(play, "other").greet()
    one.ask(Create("/a", b""))
    ephemerals = play.server.core.database.tree.ephemerals
    ephemerals[next(iter(play.server.core.database.sessions.open))] = {"/nowhere": None}
    one.ask(CloseSession())
    assert (one.over, other.over) == (True, True)
    (failure,) = play.ended
    assert isinstance(failure, ExceptionGroup)
    assert failure.subgroup(KeyError) is not None
    again = Play(world, ledger=play.ledger)
    assert "/a" in again.server.core.database.tree.nodes


def test_a_server_that_stopped_takes_no_more_connections(world: World) -> None:
    """Clients are to look for another one, not to wait for this one."""
    play = Play(world)
    visitor = Visitor(play, "one").greet()
    play.ledger.fail_next(errno.EIO)
    visitor.ask(Create("/a", b""))
    with pytest.raises(ConnectionRefusedError):
        Visitor(play, "two")


def test_a_journal_that_lies_is_not_served(world: World) -> None:
    """A damaged transaction is found at the start, and named."""
    ledger = Ledger()
    ledger.entries.append(Entry(1, b"no transaction"))
    (failure,) = Play(world, ledger=ledger).ended
    assert isinstance(failure, JournalFailed)
    assert "the journal cannot be read: the transaction 0x1" in str(failure)


def test_what_comes_together_is_one_commit(world: World) -> None:
    """While one commit is under way, all that arrives makes the next: it costs one sync."""
    play = Play(world)
    visitors = [Visitor(play, f"v{number}").greet() for number in range(5)]
    batches: list[int] = []
    journal = play.server._doors.journal
    append = journal.append

    async def counted(entries: Sequence[Entry]) -> None:
        batches.append(len(entries))
        await append(entries)

    play.ledger.slowness = Millis(100)
    journal.append = counted  # type: ignore[method-assign] # the same, and counted
    for number, visitor in enumerate(visitors):
        visitor.ask(*(Create(f"/{number}-{n}", b"") for n in range(20)), millis=1)
    world.run(seconds=2)
    assert [visitor.ask() for visitor in visitors] == [[0] * 20] * 5
    assert sum(batches) == 100
    assert len(batches) < 10


def test_a_snapshot_is_taken_while_clients_are_served(
    world: World,
) -> None:
    """Then the journal forgets what is in it, and a restart has everything."""
    play = Play(world, ServerSettings(snapshot_entries=30))
    visitor = Visitor(play, "one").greet()
    for number in range(100):
        visitor.ask(Create(f"/{number}", b""), millis=40)
    world.run(seconds=1)
    assert visitor.ask() == [0] * 100
    assert play.ledger.snapshot_zxid > 60
    assert len(play.ledger.entries) < 40
    play.machine.kill()
    play.machine.start()
    world.run(millis=50)
    again = Visitor(play, "two").greet()
    assert again.ask(*(GetData(f"/{number}") for number in range(100))) == [0] * 100


def test_a_journal_that_grew_meanwhile_is_shortened_again(world: World) -> None:
    """What came while one snapshot was taken is in the next, though nobody asks any more."""
    play = Play(world, ServerSettings(snapshot_entries=30))
    visitor = Visitor(play, "one").greet()
    play.ledger.slowness = Millis(50)
    for number in range(100):
        visitor.ask(Create(f"/{number}", b""), millis=5)
    world.run(seconds=5)
    assert visitor.ask() == [0] * 100
    assert len(play.ledger.entries) < 30


def test_a_snapshot_follows_a_start_with_a_long_journal(world: World) -> None:
    """However often it is killed before it has written many entries, they do not add up."""
    play = Play(world)
    visitor = Visitor(play, "one").greet()
    visitor.ask(*(Create(f"/{number}", b"") for number in range(40)))
    play.machine.kill()
    assert len(play.ledger.entries) == 41
    play.settings = ServerSettings(snapshot_entries=30)
    play.machine.start()
    world.run(seconds=1)
    assert (play.ledger.snapshot_zxid, play.ledger.entries) == (41, [])


def test_a_stop_in_good_order_leaves_little_to_replay(world: World) -> None:
    """The next start does not wait for what the last life wrote, and has all of it."""
    play = Play(world, ServerSettings(snapshot_entries=300))
    visitor = Visitor(play, "one").greet()
    visitor.ask(*(Create(f"/{number}", b"") for number in range(40)))
    play.stop()
    world.run(seconds=1)
    assert visitor.over
    assert (play.ledger.snapshot_zxid, play.ledger.entries) == (41, [])
    play.machine.start()
    world.run(millis=50)
    assert Visitor(play, "two").greet().ask(GetData("/39")) == [0]


def test_a_stop_after_little_writes_no_snapshot(world: World) -> None:
    """A large tree is not written down for the sake of a few entries."""
    play = Play(world, ServerSettings(snapshot_entries=300))
    Visitor(play, "one").greet().ask(Create("/a", b""))
    play.stop()
    world.run(seconds=1)
    assert (play.ledger.snapshot_zxid, len(play.ledger.entries)) == (0, 2)


@pytest.mark.parametrize("millis", [150, 250, 350, 450])
def test_a_stop_in_the_middle_of_a_snapshot_takes_one(world: World, millis: int) -> None:
    """The one that was under way is given up, and what it was to shorten is shortened."""
    play = Play(world, ServerSettings(snapshot_entries=30))
    visitor = Visitor(play, "one").greet()
    play.ledger.slowness = Millis(100)
    visitor.ask(*(Create(f"/{number}", b"") for number in range(40)), millis=millis)
    assert play.ledger.snapshot_zxid == 0
    play.stop()
    world.run(seconds=2)
    assert (play.ledger.snapshot_zxid, play.ledger.entries) == (41, [])


def test_a_snapshot_that_fails_costs_nothing(world: World) -> None:
    """The entries are all there still; the server goes on."""
    play = Play(world, ServerSettings(snapshot_entries=10))
    visitor = Visitor(play, "one").greet()
    journal = play.server._doors.journal

    async def fails(_zxid: int, _rows: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal.snapshot = fails  # type: ignore[method-assign,assignment] # a disk that fills up
    assert visitor.ask(*(Create(f"/{number}", b"") for number in range(30)), millis=900) == [0] * 30
    assert len(play.ledger.entries) == 31
    assert play.ended == []


def test_time_passes_without_anybody_asking(world: World) -> None:
    """Sessions expire and idlers are sent away when it is time, not when something happens."""
    play = Play(world, ServerSettings(tick_time=Millis(SECOND)))
    silent, idle = Visitor(play, "silent").greet(4_000), Visitor(play, "idle")
    silent.ask(Create("/e", b"", OPEN_ACL, CreateMode.EPHEMERAL))
    world.run(seconds=5)
    assert (silent.over, idle.over) == (True, False)
    world.run(seconds=7)
    assert (silent.over, idle.over) == (True, True)
    assert Visitor(play, "other").greet().ask(GetData("/e")) == [-101]


def test_a_server_with_nothing_to_do_sleeps(world: World) -> None:
    """No session, no connection: it is woken once a minute at the most."""
    Play(world)
    before = world.loop.events
    world.run(seconds=600)
    assert world.loop.events - before < 200


def test_one_too_many_is_hung_up_on(world: World) -> None:
    """Its connection is closed at once; the others notice nothing."""
    play = Play(world, ServerSettings(connections_max=1))
    first, second = Visitor(play, "one").greet(), Visitor(play, "two")
    world.run(millis=50)
    assert second.over
    assert first.ask(Ping()) == [0]


def test_a_client_that_does_not_read_is_not_read(world: World) -> None:
    """Its requests wait in its own socket until it takes its answers; none is lost."""
    play = Play(world)
    greedy, other = Visitor(play, "greedy").greet(), Visitor(play, "other").greet()
    other.ask(Create("/big", b"x" * 500_000))
    greedy.do(greedy.read(on=False))
    greedy.ask(*(GetData("/big") for _ in range(60)), millis=500)
    (waiting,) = [each for each in play.server.core.connections if each.paused]
    assert waiting.unsent < 6_000_000
    assert other.ask(Ping()) == [0, 0]
    greedy.do(greedy.read(on=True))
    world.run(seconds=20)
    assert greedy.ask() == [0] * 60
