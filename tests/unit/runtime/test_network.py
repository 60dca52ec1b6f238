"""What only real sockets do: resets behind data, names, IPv6, running out of descriptors."""

import asyncio
import errno
import gc
import os
import socket
import struct
import weakref
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import pairwise

import pytest
import uvloop
from structlog.testing import capture_logs

from odradek.ports import Receiver, Stream
from odradek.runtime.doors import network as network_module
from odradek.runtime.doors import stream as stream_module
from odradek.runtime.doors.network import Buffers, SystemNetwork

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


async def until(condition: Callable[[], bool]) -> None:
    """Turns of the loop go by until it is so."""
    while not condition():  # noqa: ASYNC110 - no event tells; every turn looks anew
        await asyncio.sleep(0)


class Ear(Receiver):
    """Hears bytes and the end."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.heard = bytearray()
        self.ended: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
        self._room = memoryview(bytearray(64))

    def buffer(self) -> memoryview:
        """Always the same room: it is emptied at once."""
        return self._room

    def received(self, count: int) -> None:
        """Keeps the bytes."""
        self.heard += self._room[:count]

    def drained(self) -> None:
        """Nobody here waits for it."""

    def closed(self, error: OSError | None) -> None:
        """Keeps the reason."""
        self.ended.set_result(error)


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Runs a conversation on a loop of each kind."""

    def run(conversation: Callable[[], Awaitable[None]]) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(20):
                await conversation()

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(bounded())

    return run


Run = Callable[[Callable[[], Awaitable[None]]], None]


def test_a_reset_right_behind_data_is_noticed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On uvloop the reader is called once and never again: the sweep finds the orphans."""
    monkeypatch.setattr(network_module, "SWEEP_SECONDS", 0.001)

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[Ear] = []

        def accept(stream: Stream) -> Ear:
            ears.append(Ear(stream))
            return ears[-1]

        listener = await network.listen(("127.0.0.1", 0), accept)
        for _ in range(20):
            with socket.create_connection(listener.address) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
                client.send(b"mid-flight")
        await until(lambda: len(ears) == 20)
        errors = [await ear.ended for ear in ears]
        assert {type(error) for error in errors} == {ConnectionResetError}
        assert network.streams == {}
        assert (await network.connect(listener.address, Ear)).peer == listener.address
        await until(lambda: len(ears) == 21)
        for stream in list(network.streams.values()):
            stream.abort()
        listener.close()

    run(conversation)


def test_a_crowd_at_the_door_does_not_hold_up_who_is_inside(run: Run) -> None:
    """A few are accepted in a turn, and then who is connected already has its own."""
    crowd_size = 60

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[Ear] = []

        def accept(stream: Stream) -> Ear:
            ears.append(Ear(stream))
            return ears[-1]

        listener = await network.listen(("127.0.0.1", 0), accept)
        with ExitStack() as crowd:
            inside = crowd.enter_context(socket.create_connection(listener.address))
            await until(lambda: len(ears) == 1)
            for _ in range(crowd_size):
                crowd.enter_context(socket.create_connection(listener.address))
            inside.send(b"and now me")
            await until(lambda: bool(ears[0].heard))
            assert len(ears) < crowd_size // 2
            await until(lambda: len(ears) == 1 + crowd_size)
        for stream in list(network.streams.values()):
            stream.abort()
        listener.close()

    run(conversation)


def test_a_crowd_that_leaves_at_once_does_not_hold_up_who_stays(run: Run) -> None:
    """A few connections are ended in a turn, and nobody is forgotten."""
    crowd_size = 100

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[Ear] = []

        def accept(stream: Stream) -> Ear:
            ears.append(Ear(stream))
            return ears[-1]

        listener = await network.listen(("127.0.0.1", 0), accept)
        with ExitStack() as crowd:
            for _ in range(crowd_size):
                crowd.enter_context(socket.create_connection(listener.address))
            await until(lambda: len(ears) == crowd_size)
        counts = [len(network.streams)]
        while counts[-1]:
            await asyncio.sleep(0)
            counts.append(len(network.streams))
        ended = [before - after for before, after in pairwise(counts)]
        assert sum(ended) == crowd_size
        assert max(ended) < crowd_size // 2
        await until(lambda: all(it.ended.done() for it in ears))
        listener.close()

    run(conversation)


def test_a_sweep_is_bounded_and_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """More streams than one turn looks after are all looked after, and none is disturbed."""
    monkeypatch.setattr(network_module, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(network_module, "SWEPT_PER_TURN_MAX", 2)

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[Ear] = []

        def accept(stream: Stream) -> Ear:
            ears.append(Ear(stream))
            return ears[-1]

        listener = await network.listen(("127.0.0.1", 0), accept)
        clients = [await network.connect(listener.address, Ear) for _ in range(5)]
        await until(lambda: len(ears) == 5 and all(s.quiet for s in network.streams.values()))
        for client in clients:
            client.send([b"still here"])
            client.close()
        for ear in ears:
            assert await ear.ended is None
            assert ear.heard == b"still here"
        listener.close()

    run(conversation)


def test_a_busy_stream_lets_others_have_their_turn(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much waits to be read, a turn of the loop takes a bounded part of it."""
    monkeypatch.setattr(stream_module, "READS_PER_TURN_MAX", 2)

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[Ear] = []

        def accept(stream: Stream) -> Ear:
            stream.pause()
            ears.append(Ear(stream))
            return ears[-1]

        listener = await network.listen(("127.0.0.1", 0), accept)
        client = await network.connect(listener.address, Ear)
        await until(lambda: bool(ears))
        client.send([bytes(64 * 100)])
        client.close()
        steps: list[int] = []
        ears[0].stream.resume()
        while not ears[0].ended.done():
            steps.append(len(ears[0].heard))
            await asyncio.sleep(0)
        assert max(b - a for a, b in pairwise(steps)) <= 64 * 2 * 2
        assert len(ears[0].heard) == 64 * 100
        listener.close()

    run(conversation)


def test_without_descriptors_the_listener_waits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that cannot open another socket does not spin, says it once, and accepts later."""
    monkeypatch.setattr(network_module, "ACCEPT_AGAIN_SECONDS", 0.001)
    refusals = 3
    real = socket.socket.accept

    def accept(sock: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return real(sock)

    monkeypatch.setattr(socket.socket, "accept", accept)

    async def conversation() -> None:
        network = SystemNetwork()
        listener = await network.listen(("127.0.0.1", 0), Ear)
        stream = await network.connect(listener.address, Ear)
        await until(lambda: len(network.streams) == 2)
        assert not refusals
        stream.abort()
        listener.close()

    with capture_logs() as events:
        run(conversation)
    (told,) = events
    assert (told["event"], told["log_level"]) == ("connections.wait", "warning")
    assert "too many open files" in told["reason"]


def test_names_and_ipv6(run: Run) -> None:
    """A name is resolved, an IPv6 address is used as it is; both ends see plain addresses."""

    async def conversation() -> None:
        network = SystemNetwork()
        for host in ("localhost", "::1"):
            ear: asyncio.Future[Ear] = asyncio.get_running_loop().create_future()

            def accept(stream: Stream, ear: asyncio.Future[Ear] = ear) -> Ear:
                ear.set_result(Ear(stream))
                return ear.result()

            try:
                listener = await network.listen((host, 0), accept)
            except OSError as error:
                if host == "::1" and error.errno == errno.EADDRNOTAVAIL:
                    pytest.skip("this machine has no IPv6")
                raise
            stream = await network.connect((host, listener.address[1]), Ear)
            assert stream.peer == listener.address
            assert stream.local == (await ear).stream.peer
            stream.close()
            assert await (await ear).ended is None
            listener.close()

    run(conversation)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a..b", "a" * 70])
def test_a_name_that_does_not_resolve(run: Run, host: str) -> None:
    """The error is an OSError that says which name, even of one that nobody can have."""

    async def conversation() -> None:
        network = SystemNetwork()
        with pytest.raises(OSError, match=f"'{host}'"):
            await network.connect((host, 1), Ear)
        with pytest.raises(OSError, match=f"'{host}'"):
            await network.listen((host, 0), Ear)

    run(conversation)


def test_a_receiver_that_fails_at_birth_leaves_nothing(run: Run) -> None:
    """An exception while attaching closes the socket and comes to the caller."""

    async def conversation() -> None:
        network = SystemNetwork()
        listener = await network.listen(("127.0.0.1", 0), Ear)

        def fail(_: Stream) -> Receiver:
            raise RuntimeError("no")

        with pytest.raises(RuntimeError, match="no"):
            await network.connect(listener.address, fail)
        await until(lambda: not network.streams)
        listener.close()

    run(conversation)


def test_the_kernels_buffers_are_as_large_as_was_asked_for(run: Run) -> None:
    """Of connections that were taken; where nobody asks, the kernel decides as it goes."""

    async def conversation() -> None:
        small, free = SystemNetwork(Buffers(send=20_000)), SystemNetwork()
        sizes = []
        for network in (small, free):
            ears: list[Ear] = []

            def accept(stream: Stream, ears: list[Ear] = ears) -> Ear:
                ears.append(Ear(stream))
                return ears[-1]

            listener = await network.listen(("127.0.0.1", 0), accept)
            with socket.create_connection(listener.address):
                await until(lambda ears=ears: bool(ears))  # type: ignore[misc]
                (stream,) = network.streams.values()
                with socket.socket(fileno=os.dup(stream.fd)) as taken:
                    sizes.append(taken.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
                stream.abort()
            listener.close()
        assert sizes[0] in {20_000, 40_000}  # Linux keeps as much again for its own books
        assert sizes[1] > sizes[0]

    run(conversation)


def test_a_port_that_is_taken_is_named(run: Run) -> None:
    """Of a broker's several listeners, whoever reads the error must know which."""

    async def conversation() -> None:
        network = SystemNetwork()
        listener = await network.listen(("127.0.0.1", 0), Ear)
        host, port = listener.address
        with pytest.raises(OSError, match=f"'{host}:{port}'"):
            await network.listen(listener.address, Ear)
        listener.close()

    run(conversation)


def test_a_host_refuses_only_if_none_of_its_addresses_stayed_silent() -> None:
    """A refusal counts as proof that a process is gone; where nothing answered it may yet live."""
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    silent = TimeoutError(errno.ETIMEDOUT, "silent")
    no_family = OSError(errno.EADDRNOTAVAIL, "this machine has no IPv6")
    assert min([refused, silent], key=network_module._says) is silent
    assert min([no_family, refused], key=network_module._says) is refused


def test_a_closed_stream_and_its_receiver_let_go_of_each_other(run: Run) -> None:
    """The collector runs seldom in a server: a cycle would keep the receiver's buffers for long."""

    async def conversation() -> None:
        network = SystemNetwork()
        ears: list[weakref.ref[Ear]] = []
        ends: list[asyncio.Future[OSError | None]] = []

        def accept(stream: Stream) -> Ear:
            ear = Ear(stream)
            ears.append(weakref.ref(ear))
            ends.append(ear.ended)
            return ear

        listener = await network.listen(("127.0.0.1", 0), accept)
        stream = await network.connect(listener.address, Ear)
        stream.send([b"half a request"])
        stream.close()
        await until(lambda: bool(ends))
        await ends[0]
        await asyncio.sleep(0)
        assert ears[0]() is None
        listener.close()

    gc.disable()
    try:
        run(conversation)
    finally:
        gc.enable()
