"""The client on the loop: what it adds to its session, in a world that the test controls."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.units import SECOND, Millis
from odradek.ports import Receiver, Stream
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import (
    AuthFailed,
    NeverSent,
    NoNode,
    OutcomeUnknown,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status, StatusChanged
from odradek.zookeeper.protocol.codes import AddWatchMode, CreateMode, EventType, KeeperCode, OpCode
from odradek.zookeeper.protocol.jute import Packets, framed
from odradek.zookeeper.protocol.jute_replies import (
    Connected,
    Event,
    ReplyHeader,
    framed_event,
    framed_reply,
)
from odradek.zookeeper.protocol.jute_request_reader import request_body, request_header
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    CloseSession,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    GetData,
    Ping,
    Request,
    SetData,
    SetWatches,
)
from tests.unit.zookeeper.client_talk import PASSWORD, STAT, fitting

TIMEOUT = Millis(6 * SECOND)
PORT = 2181


class Server:
    """Answers everything, unless it was told otherwise."""

    def __init__(self) -> None:
        self.heard: list[Request] = []
        self.hellos = 0
        self.timeout: int = TIMEOUT
        self.mute = False
        self.writes = True
        self.errors: dict[str, int] = {}
        self.after: dict[str, bytes] = {}  # sent right behind the answer for a path
        self.links: list[ServerLink] = []
        self.questions = 0

    async def serve(self, machine: Machine) -> None:
        """The programme of its machine."""
        address = (machine.name, PORT)
        await machine.network.listen(address, lambda stream: ServerLink(self, stream))
        await asyncio.get_running_loop().create_future()

    def asked(self, kind: type[Any]) -> int:
        """How many requests of a kind it has heard."""
        return sum(isinstance(request, kind) for request in self.heard)


class ServerLink(Receiver):
    """One connection of it."""

    def __init__(self, server: Server, stream: Stream) -> None:
        self.stream = stream
        self._server = server
        self._packets = Packets()
        self._room = memoryview(bytearray(1 << 16))
        self._greeted = False
        server.links.append(self)

    def buffer(self) -> memoryview:
        """Any."""
        return self._room

    def received(self, count: int) -> None:
        """All that one read brought is answered by one write."""
        if not self._greeted and bytes(self._room[:count]) == b"isro":
            self._server.questions += 1
            if not self._server.mute:
                self.stream.send([b"rw" if self._server.writes else b"ro"])
                self.stream.close()
            return
        answers = [self._answer(packet) for packet in self._packets.feed(self._room[:count])]
        if not self._server.mute:
            self.stream.send([b"".join(answers)])

    def drained(self) -> None:
        """Not waited for."""

    def closed(self, error: OSError | None) -> None:
        """Gone."""

    def _answer(self, packet: bytes) -> bytes:
        server = self._server
        if not self._greeted:
            self._greeted = True
            server.hellos += 1
            hello = Connected(server.timeout, 7, PASSWORD, read_only=not server.writes)
            return framed(hello.body())
        xid, op = request_header(packet)
        request = request_body(op, packet)
        server.heard.append(request)
        path: str = getattr(request, "path", OpCode(op).name)
        error = server.errors.get(path, 0)
        body = b"" if error else fitting(request).body()
        return framed_reply(ReplyHeader(xid, 1, error), body) + server.after.get(path, b"")


class Play:
    """A world with a server and a client."""

    def __init__(self, world: World, *others: str) -> None:
        self.world = world
        self.server = Server()
        self.servers = {"server": self.server} | {name: Server() for name in others}
        for name, server in self.servers.items():
            world.machine(name).start(server.serve)
        self.machine = world.machine("client")
        self.news: list[News] = []
        self.log: list[object] = []
        self.machine.start(self._live)
        world.run(millis=1)

    async def _live(self, machine: Machine) -> None:
        session = Session(
            Ensemble.parse(",".join(f"{name}:{PORT}" for name in self.servers)),
            machine.random,
            SessionSettings(timeout=TIMEOUT, read_only=len(self.servers) > 1),
        )
        self.session = session
        self.client = ZooKeeperClient(session, machine.network, machine.clock, self._hear)
        self.serving = asyncio.create_task(self.client.run())
        await asyncio.get_running_loop().create_future()

    def _hear(self, news: News) -> None:
        self.news.append(news)
        self.log.append(news)

    def ask(self, question: Any) -> Any:
        """What the client answers."""
        return self.world.ask("client", question)

    def begin(self) -> "Play":
        """Until there is a session."""

        async def begun() -> None:
            self.client.begin()
            await self.client.connected()

        self.ask(begun())
        return self

    def statuses(self) -> list[Status]:
        """What the owner was told."""
        return [news.status for news in self.news if isinstance(news, StatusChanged)]


@pytest.fixture
def world() -> Iterator[World]:
    """A fresh one."""
    with World(seed=1) as world:
        yield world


@pytest.fixture
def play(world: World) -> Play:
    """A fresh one."""
    return Play(world)


def test_results_and_events_come_in_the_server_s_order(play: Play) -> None:
    """Also where one read from the network has brought all of them."""
    play.begin()
    for path in ("/a", "/b"):
        play.server.after[path] = framed_event(
            -1, Event(EventType.NODE_DATA_CHANGED, f"/w{path[1:]}")
        )

    async def reader(path: str) -> None:
        await play.client.get(path)
        play.log.append(path)

    async def all_at_once() -> None:
        await play.client.batch([GetData("/wa", watch=True), GetData("/wb", watch=True)])
        play.log.clear()
        async with asyncio.TaskGroup() as tasks:
            for path in ("/a", "/b", "/c"):
                tasks.create_task(reader(path))

    play.ask(all_at_once())
    changed = EventType.NODE_DATA_CHANGED
    assert play.log == ["/a", WatchEvent(changed, "/wa"), "/b", WatchEvent(changed, "/wb"), "/c"]


def test_a_batch_is_one_thing_to_wait_for(play: Play) -> None:
    """However many operations it has: no task and no future for each."""
    play.begin()
    loop = play.world.loop

    async def ask(count: int) -> tuple[int, int]:
        before = loop.events, loop._births
        await play.client.batch([GetData("/a")] * count)
        return loop.events - before[0], loop._births - before[1]

    few, _ = play.ask(ask(1))
    many, tasks = play.ask(ask(1_000))
    assert tasks == 0
    assert many < few + 40  # a thousand answers are more bytes, not more turns


def test_an_idle_client_wakes_up_for_its_pings_only(play: Play) -> None:
    """In ten minutes: a ping for each third of the timeout, and a few turns of the loop for it."""
    play.begin()
    play.world.run(seconds=10)
    before = play.world.loop.events
    play.server.heard.clear()
    play.world.run(seconds=600)
    pings = 600 * 3 // 6
    assert play.server.asked(Ping) == len(play.server.heard) == pings
    assert play.world.loop.events - before <= 12 * pings  # on both machines, and on the wire


def test_each_operation_asks_for_what_it_says(play: Play) -> None:
    """And gives the answer the shape that its caller wants."""
    play.begin()
    client = play.client
    play.server.errors["/none"] = KeeperCode.NONODE

    async def talk() -> None:
        assert (await client.create("/s", b"x")).path == "/s"
        await client.create("/c", mode=CreateMode.CONTAINER)
        mode = CreateMode.PERSISTENT_WITH_TTL
        await client.create("/t", mode=mode, ttl=Millis(5))
        assert await client.exists("/s") == STAT
        assert await client.exists("/none", watch=True) is None
        assert (await client.get("/s")).data == b"data"
        assert await client.set("/s", b"y", 3) == STAT
        assert (await client.children("/s")).names == ["child"]
        await client.delete("/s", 4)
        await client.add_watch("/s", AddWatchMode.PERSISTENT_RECURSIVE)
        await client.authenticate("digest", b"a:b")

    play.ask(talk())
    heard = play.server.heard
    assert heard[:3] == [
        Create2("/s", b"x"),
        CreateContainer("/c", b""),
        CreateTtl("/t", b"", heard[2].acl, 5, 5),  # type: ignore[attr-defined]
    ]
    assert SetData("/s", b"y", 3) in heard
    assert Delete("/s", 4) in heard
    assert AddWatch("/s", 1) in heard


def test_a_failed_operation_raises_and_leaves_no_cycle(play: Play) -> None:
    """In a batch it stands in its place instead."""
    play.begin()
    play.server.errors["/none"] = KeeperCode.NONODE

    async def talk() -> None:
        with pytest.raises(NoNode, match="/none") as failed:
            await play.client.get("/none")
        trace = failed.value.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_name == "_expect":
                assert "answer" not in trace.tb_frame.f_locals
            trace = trace.tb_next
        answers = await play.client.batch([GetData("/a"), GetData("/none")])
        assert isinstance(answers[1], NoNode)

    play.ask(talk())


def test_what_a_caller_gave_up_is_not_sent_later(play: Play) -> None:
    """A write that nobody waits for any more would surprise everybody."""

    async def talk() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await play.client.set("/given-up", b"", 0)
        play.client.begin()
        await play.client.connected()
        await play.client.set("/wanted", b"", 0)

    play.ask(talk())
    assert play.server.heard == [SetData("/wanted", b"", 0)]


def test_who_does_not_want_to_wait_does_not(play: Play) -> None:
    """Without a connection the answer comes at once."""
    (answer,) = play.ask(play.client.batch([GetData("/a")], waits=False))
    assert isinstance(answer, NeverSent)


def test_a_server_that_is_away_is_found_again(play: Play) -> None:
    """The owner is told to stop, and to go on; watches are armed anew."""
    play.begin()
    play.ask(play.client.get("/w", watch=True))
    play.world.machine("server").kill()
    play.world.run(seconds=3)
    assert play.statuses() == [Status.CONNECTED, Status.DISCONNECTED]
    play.world.machine("server").start()
    play.world.run(seconds=2)
    assert play.statuses()[2:] == [Status.CONNECTED]
    assert SetWatches(1, ["/w"], [], []) in play.server.heard


def test_a_cut_wire_is_noticed_by_silence(play: Play) -> None:
    """Nothing closes the connection; after two thirds of the timeout the owner must stop."""
    play.begin()
    play.world.wires.cut("client", "server")
    play.world.wires.cut("server", "client")
    pending = play.machine.spawn(play.client.batch([SetData("/a", b"")]))
    play.world.run(seconds=3.9)
    assert play.client.status is Status.CONNECTED
    play.world.run(seconds=0.2)
    assert play.statuses()[-1] is Status.DISCONNECTED
    assert [type(answer) for answer in pending.result()] == [OutcomeUnknown]
    play.world.wires.heal()
    play.world.run(seconds=10)
    assert play.statuses()[-1] is Status.CONNECTED
    assert play.server.hellos == 2


def test_a_client_that_can_only_read_finds_a_server_that_writes(world: World) -> None:
    """The others are asked beside its own connection, which one that is silent does not disturb."""
    play = Play(world, "silent", "third")
    for server in play.servers.values():
        server.writes = False
    play.servers["silent"].mute = True
    play.begin()
    world.run(seconds=20)
    assert play.statuses() == [Status.READ_ONLY]
    assert all(server.questions for server in play.servers.values())
    play.servers["third"].writes = True
    world.run(seconds=60)
    assert play.statuses() == [Status.READ_ONLY, Status.DISCONNECTED, Status.CONNECTED]


def test_an_expired_session_is_over_until_the_owner_begins_another(play: Play) -> None:
    """Nothing is dialled meanwhile; those who wait for a connection are told."""
    play.begin()
    play.server.timeout = 0
    play.server.links[-1].stream.abort()
    play.world.run(millis=1)
    waiting = play.machine.spawn(play.client.connected())
    play.world.run(seconds=60)
    assert isinstance(waiting.exception(), SessionExpired)
    assert play.server.hellos == 2
    play.server.timeout = TIMEOUT
    play.begin()
    assert play.statuses()[-3:] == [Status.EXPIRED, Status.DISCONNECTED, Status.CONNECTED]


def test_refused_credentials_raise(play: Play) -> None:
    """And so does all that comes after."""
    play.begin()
    play.server.errors["AUTH"] = KeeperCode.AUTHFAILED

    async def talk() -> None:
        with pytest.raises(AuthFailed):
            await play.client.authenticate("digest", b"a:b")
        with pytest.raises(AuthFailed):
            await play.client.connected()

    play.ask(talk())


def test_closing_says_goodbye_and_ends_the_task(play: Play) -> None:
    """After that nothing is asked any more."""
    play.begin()
    play.ask(play.client.close())
    play.world.run(seconds=1)
    assert isinstance(play.server.heard[-1], CloseSession)
    assert play.serving.done()
    assert play.statuses()[-1] is Status.CLOSED
    with pytest.raises(SessionClosed):
        play.ask(play.client.get("/a"))


def test_closing_interrupts_a_connection_attempt(play: Play) -> None:
    """Whose end would otherwise be waited for."""
    play.world.wires.cut("client", "server")

    async def talk() -> None:
        play.client.begin()
        await asyncio.sleep(0.5)
        await play.client.close()

    play.ask(talk())
    play.world.run(millis=100)
    assert play.serving.done()
    assert play.server.hellos == 0


@pytest.mark.parametrize("mute", [False, True])
def test_a_cancelled_client_leaves_nobody_waiting(play: Play, *, mute: bool) -> None:
    """Its owner goes down: callers are told, and the connection is closed behind a goodbye."""
    play.begin()
    play.server.mute = mute
    pending = play.machine.spawn(play.client.batch([SetData("/a", b"")]))
    play.world.run(millis=0)
    play.serving.cancel()
    play.world.run(seconds=1)
    assert [type(answer) for answer in pending.result()] == [OutcomeUnknown]
    assert play.client.status is Status.CLOSED
    assert isinstance(play.server.heard[-1], CloseSession)


def test_a_run_is_repeated_by_its_seed() -> None:
    """Nothing in the client depends on anything but the doors."""

    def history() -> str:
        with World(seed=3) as world:
            play = Play(world)
            play.begin()
            play.ask(play.client.batch([GetData("/a")] * 50))
            world.machine("server").kill()
            world.run(seconds=5)
            world.machine("server").start()
            world.run(seconds=5)
            return world.history.digest()

    assert history() == history()
