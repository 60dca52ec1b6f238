"""Streams keep the same promises on every network: each test runs on all of them."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle
from pathlib import Path

import pytest
import uvloop

from odradek.model.units import KIB
from odradek.ports import Address, Chunk, File, FileRange, Network, Receiver, Stream
from odradek.runtime.doors import page_cache
from odradek.runtime.doors.disk import SystemDisk
from odradek.runtime.doors.network import SystemNetwork
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.loop import SimulatedLoop
from odradek.sim.doors.network import SimulatedNetwork
from odradek.sim.doors.wires import Wires
from odradek.sim.history import History

Conversation = Callable[[Network], Awaitable[None]]
Play = Callable[[Conversation], None]
HERE: Address = ("127.0.0.1", 0)


def on_asyncio(conversation: Conversation) -> None:
    """The kernel's sockets on the loop of the standard library."""
    with asyncio.Runner(debug=False) as runner:
        runner.run(_bounded(conversation(SystemNetwork())))


def on_uvloop(conversation: Conversation) -> None:
    """The kernel's sockets on uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_bounded(conversation(SystemNetwork())))


def on_simulated_wires(conversation: Conversation) -> None:
    """Two doors of one simulated host, on virtual time."""
    loop = SimulatedLoop()
    wires = Wires(loop, SeededRandom(7, "network"), History(lambda: loop.now))
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_bounded(conversation(SimulatedNetwork(wires, wires.host("here")))))


async def _bounded(conversation: Awaitable[None]) -> None:
    async with asyncio.timeout(20):
        await conversation


@pytest.fixture(params=[on_asyncio, on_uvloop, on_simulated_wires])
def play(request: pytest.FixtureRequest) -> Play:
    """Plays a conversation on one of the networks."""
    chosen: Play = request.param
    return chosen


class Tape(Receiver):
    """A receiver that writes down all that it is told."""

    def __init__(self, stream: Stream, room: int = 1 << 16) -> None:
        self.stream = stream
        self.heard = bytearray()
        self.drains = 0
        self.ends: list[OSError | None] = []
        self._room = bytearray(room)
        self._changed = asyncio.Event()

    def buffer(self) -> memoryview:
        """Always the same room: it is emptied at once."""
        return memoryview(self._room)

    def received(self, count: int) -> None:
        """Keeps the bytes."""
        assert not self.ends, "nothing is heard after the end"
        self.heard += self._room[:count]
        self._changed.set()

    def drained(self) -> None:
        """Counts."""
        assert not self.ends, "nothing drains after the end"
        self.drains += 1
        self._changed.set()

    def closed(self, error: OSError | None) -> None:
        """Keeps the reason."""
        self.ends.append(error)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for something to be told that makes the condition true."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def hears(self, data: bytes) -> None:
        """Waits for exactly these bytes, and forgets them."""
        await self.until(lambda: len(self.heard) >= len(data))
        assert bytes(self.heard) == data
        self.heard.clear()

    async def ends_with(self, kind: type[OSError] | None) -> None:
        """Waits for the end, which comes once, by this kind of error or without one."""
        await self.until(lambda: bool(self.ends))
        assert len(self.ends) == 1
        if kind is None:
            assert self.ends == [None]
        else:
            assert isinstance(self.ends[0], kind)


class Pair:
    """A listener with one connection to it, and a tape at each end."""

    client: Tape
    server: Tape

    @classmethod
    async def on(cls, network: Network, room: int = 1 << 16) -> "Pair":
        """Opens both ends."""
        pair = cls()
        accepted = asyncio.Event()

        def accept(stream: Stream) -> Tape:
            pair.server = Tape(stream, room)
            accepted.set()
            return pair.server

        def attach(stream: Stream) -> Tape:
            pair.client = Tape(stream, room)
            return pair.client

        listener = await network.listen(HERE, accept)
        await network.connect(listener.address, attach)
        await accepted.wait()
        listener.close()
        listener.close()
        return pair


def test_bytes_arrive_in_order_both_ways(play: Play) -> None:
    """What is sent in many chunks is one stream at the other end."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.client.stream.send([b"hello ", bytearray(b"wor"), memoryview(b"xldx")[1:3], b"", b"!"])
        pair.client.stream.send([b""])
        pair.client.stream.send([])
        await pair.server.hears(b"hello world!"[:9] + b"ld!")
        pair.server.stream.send([b"a"])
        pair.server.stream.send([b"b", b"c"])
        await pair.client.hears(b"abc")
        assert pair.client.stream.unsent == 0
        pair.client.stream.close()
        await pair.server.ends_with(None)
        await pair.client.ends_with(None)

    play(conversation)


def test_both_ends_know_each_other(play: Play) -> None:
    """The address of one end is the peer of the other."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        client, server = pair.client.stream, pair.server.stream
        assert server.peer == client.local
        assert client.peer == server.local
        assert client.peer[1] > 0
        client.abort()
        await pair.server.ends_with(None)

    play(conversation)


def test_a_small_buffer_gets_everything(play: Play) -> None:
    """The receiver decides where bytes go and how many at a time."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network, room=7)
        data = bytes(range(256)) * 40
        pair.client.stream.send([data])
        await pair.server.hears(data)
        pair.client.stream.close()
        await pair.server.ends_with(None)

    play(conversation)


def test_a_slow_receiver_slows_the_sender(play: Play) -> None:
    """What a paused peer does not take waits, is counted, and drains when the peer resumes."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.server.stream.pause()
        pair.server.stream.pause()
        data = bytes(range(256)) * (1 << 16)
        pair.client.stream.send([data[: 1 << 20], data[1 << 20 :], b"the end"])
        assert 0 < pair.client.stream.unsent <= len(data) + 7
        assert pair.client.drains == 0
        pair.server.stream.resume()
        pair.server.stream.resume()
        await pair.server.hears(data + b"the end")
        await pair.client.until(lambda: pair.client.drains == 1)
        assert pair.client.stream.unsent == 0
        pair.client.stream.close()
        await pair.server.ends_with(None)

    play(conversation)


def test_pausing_within_a_call_stops_the_next_one(play: Play) -> None:
    """A receiver that has enough hears nothing more until it resumes."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network, room=4)
        heard = pair.server.received

        def once(count: int) -> None:
            heard(count)
            pair.server.stream.pause()

        pair.server.received = once  # type: ignore[method-assign]
        pair.client.stream.send([b"aaaabbbb"])
        await pair.server.hears(b"aaaa")
        pair.server.stream.resume()
        await pair.server.hears(b"bbbb")
        pair.client.stream.close()
        pair.server.stream.resume()
        await pair.server.ends_with(None)

    play(conversation)


def test_closing_sends_what_waits(play: Play) -> None:
    """Everything given to `send` before `close` arrives; nothing given after it does."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.server.stream.pause()
        data = bytes(1 << 24)
        pair.client.stream.send([data])
        pair.client.stream.close()
        pair.client.stream.close()
        pair.client.stream.send([b"too late"])
        assert pair.client.stream.unsent > 0
        pair.server.stream.resume()
        await pair.server.ends_with(None)
        assert pair.server.heard == data
        await pair.client.ends_with(None)
        pair.client.stream.send([b"far too late"])
        assert pair.client.stream.unsent == 0

    play(conversation)


def test_aborting_drops_what_waits(play: Play) -> None:
    """The peer gets a part at most, and then the end, in whatever form."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.server.stream.pause()
        pair.client.stream.send([bytes(1 << 24)])
        pair.client.stream.abort()
        pair.client.stream.abort()
        assert pair.client.stream.unsent == 0
        await pair.client.ends_with(None)
        pair.server.stream.resume()
        await pair.server.until(lambda: bool(pair.server.ends))
        assert len(pair.server.heard) < 1 << 24

    play(conversation)


def test_the_end_is_told_in_a_turn_of_its_own(play: Play) -> None:
    """Whoever aborts, or sends to a peer that is gone, is not called back before it returns."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.client.stream.abort()
        assert pair.client.ends == []
        await pair.client.ends_with(None)
        await pair.server.ends_with(None)

    play(conversation)


def test_unread_bytes_turn_an_abort_into_a_reset(play: Play) -> None:
    """A peer whose bytes were not read learns that they were lost."""

    async def conversation(network: Network) -> None:
        pair = await Pair.on(network)
        pair.server.stream.pause()
        pair.client.stream.send([b"never read"])
        pair.server.stream.send([b"hello"])
        await pair.client.hears(b"hello")
        pair.server.stream.abort()
        await pair.client.ends_with(ConnectionResetError)

    play(conversation)


def test_a_listener_may_refuse_a_stream_at_once(play: Play) -> None:
    """Aborting inside `accept` is how a full server says no; the receiver hears the end."""

    async def conversation(network: Network) -> None:
        tapes: list[Tape] = []

        def refuse(stream: Stream) -> Tape:
            stream.abort()
            tapes.append(Tape(stream))
            return tapes[-1]

        def attach(stream: Stream) -> Tape:
            tapes.insert(0, Tape(stream))
            return tapes[0]

        listener = await network.listen(HERE, refuse)
        await network.connect(listener.address, attach)
        await tapes[0].until(lambda: bool(tapes[0].ends))
        await tapes[1].ends_with(None)
        listener.close()

    play(conversation)


def test_a_paused_listener_lets_nobody_in(play: Play) -> None:
    """Who comes is connected, for all they know; what they said is heard when it goes on."""

    async def conversation(network: Network) -> None:
        inside: list[Tape] = []
        came = asyncio.Event()

        def accept(stream: Stream) -> Tape:
            inside.append(Tape(stream))
            listener.pause()
            came.set()
            return inside[-1]

        listener = await network.listen(HERE, accept)
        clients = [await network.connect(listener.address, Tape) for _ in range(3)]
        for client in clients:
            client.send([b"hello"])
        for count in range(1, 4):
            await came.wait()
            came.clear()
            await inside[-1].hears(b"hello")
            assert len(inside) == count
            listener.resume()
        for client in clients:
            client.close()
        listener.close()

    play(conversation)


def test_nobody_listening_is_a_refusal(play: Play) -> None:
    """The error comes at once, before any receiver is asked for."""

    async def conversation(network: Network) -> None:
        def never(_: Stream) -> Tape:
            raise AssertionError

        listener = await network.listen(HERE, never)
        listener.close()
        with pytest.raises(ConnectionRefusedError):
            await network.connect(listener.address, never)

    play(conversation)


def test_a_port_has_one_listener(play: Play) -> None:
    """The second is refused while the first is there; established streams do not count."""

    async def conversation(network: Network) -> None:
        listener = await network.listen(HERE, Tape)
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            await network.listen(listener.address, Tape)
        tapes: list[Tape] = []

        def attach(stream: Stream) -> Tape:
            tapes.append(Tape(stream))
            return tapes[0]

        await network.connect(listener.address, attach)
        listener.close()
        again = await network.listen(listener.address, Tape)
        assert again.address == listener.address
        again.close()
        tapes[0].stream.abort()

    play(conversation)


def file_with(data: bytes, network: Network, directory: Path) -> File:
    """A file of the world that the network belongs to."""
    real = isinstance(network, SystemNetwork)
    disk = SystemDisk(str(directory)) if real else SimulatedDisk()
    file = disk.open("log", create=True)
    file.write([data], 0)
    return file


def test_a_range_of_a_file_goes_out_between_chunks(play: Play, tmp_path: Path) -> None:
    """Header, records from the file, header: one stream, whatever the bytes came from."""

    async def conversation(network: Network) -> None:
        data = bytes(range(256)) * (1 << 12)
        file = file_with(data, network, tmp_path)
        pair = await Pair.on(network)
        middle = FileRange(file, 100, len(data) - 200)
        pair.client.stream.send([b"<", middle, b"|", FileRange(file, 0, 0), middle, b">"])
        await pair.server.hears(b"<" + data[100:-100] + b"|" + data[100:-100] + b">")
        pair.client.stream.send([FileRange(file, len(data) - 1, 2)])
        await pair.client.ends_with(OSError)
        await pair.server.ends_with(None)
        assert data[-1:].startswith(bytes(pair.server.heard))
        file.close()

    play(conversation)


def test_what_is_not_in_memory_keeps_its_place(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range is read beside the loop, piece by piece, and what was sent behind it waits."""
    read_now, is_there = page_cache.read_now, cycle((False, True))

    def sometimes(fd: int, room: memoryview, position: int) -> int | None:
        return read_now(fd, room[:5_000], position) if next(is_there) else None

    monkeypatch.setattr(page_cache, "read_now", sometimes)

    async def conversation(network: Network) -> None:
        data = bytes(number % 251 for number in range(1 << 20))
        file = file_with(data, network, tmp_path)
        pair = await Pair.on(network)
        pair.client.stream.send([b"<", FileRange(file, 0, len(data)), b">"])
        pair.client.stream.send([FileRange(file, 7, 100), b"!"])
        pair.client.stream.close()
        await pair.server.hears(b"<" + data + b">" + data[7:107] + b"!")
        await pair.server.ends_with(None)
        file.close()

    play(conversation)


def test_long_and_short_ranges_keep_their_order(play: Play, tmp_path: Path) -> None:
    """However little the socket takes at a time."""

    async def conversation(network: Network) -> None:
        data = bytes(number % 251 for number in range(1 << 17))
        file = file_with(data, network, tmp_path)
        pair = await Pair.on(network)
        pair.server.stream.pause()
        chunks: list[Chunk] = []
        expected = bytearray()
        for number in range(1_500):
            position, length = number * 31, (number * 7_919) % (80 * KIB >> number % 8)
            header = b"%d:" % number
            chunks += [header, FileRange(file, position, length)]
            expected += header + data[position : position + length]
        pair.client.stream.send(chunks)
        assert pair.client.stream.unsent > 0
        pair.server.stream.resume()
        await pair.server.hears(bytes(expected))
        assert pair.client.stream.unsent == 0
        pair.client.stream.close()
        await pair.server.ends_with(None)
        file.close()

    play(conversation)


def test_a_listener_on_every_interface(play: Play) -> None:
    """An empty host is reached through any address of the machine."""

    async def conversation(network: Network) -> None:
        accepted: asyncio.Future[Tape] = asyncio.get_running_loop().create_future()

        def accept(stream: Stream) -> Tape:
            accepted.set_result(Tape(stream))
            return accepted.result()

        listener = await network.listen(("", 0), accept)
        stream = await network.connect(("127.0.0.1", listener.address[1]), Tape)
        stream.send([b"hello"])
        server = await accepted
        await server.hears(b"hello")
        assert server.stream.peer[0] == "127.0.0.1"
        stream.close()
        await server.ends_with(None)
        listener.close()

    play(conversation)
