"""TLS around a stream: when a step of a handshake begins, and whom it holds up."""

import asyncio
import gc
import ssl
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

import pytest

from odradek.peers.tls_stream import (
    ROOM_BYTES,
    STEPS_AT_ONCE_MAX,
    TlsEnd,
    TlsStream,
    whole_records,
)
from odradek.ports import Address, Chunk, Receiver
from tests.samples.certificate_files import certificates

CROWD = 40  # more than the threads that a loop has by itself
SECONDS_MAX = 20


class Below:
    """The stream below: keeps what is sent."""

    peer: Address = ("stranger", 1)
    local: Address = ("here", 2)
    unsent = 0

    def __init__(self) -> None:
        self.sent = bytearray()
        self.is_closed = False

    def attach(self, receiver: Receiver) -> None:
        """It is fed by the test."""

    def pause(self) -> None:
        """It is fed by the test."""

    def resume(self) -> None:
        """It is fed by the test."""

    def send(self, chunks: Sequence[Chunk]) -> None:
        """All of them are bytes."""
        for chunk in chunks:
            assert isinstance(chunk, bytes)
            self.sent += chunk

    def close(self) -> None:
        """Nothing waits."""
        self.is_closed = True

    def abort(self) -> None:
        """The same."""
        self.is_closed = True


class Ear:
    """Who receives once all is encrypted."""

    def __init__(self) -> None:
        self.heard = bytearray()
        self._room = memoryview(bytearray(100))

    def buffer(self) -> memoryview:
        """Emptied at once."""
        return self._room

    def received(self, count: int) -> None:
        """Keeps them."""
        self.heard += self._room[:count]

    def drained(self) -> None:
        """Nobody waits for it."""

    def closed(self, error: OSError | None) -> None:
        """Nobody waits for it."""


class Counted(ssl.SSLObject):
    """Counts the steps of all handshakes."""

    steps = 0

    def do_handshake(self) -> None:
        """One of them."""
        type(self).steps += 1
        super().do_handshake()


class Stuck(ssl.SSLObject):
    """Its steps take until `go_on` is set."""

    go_on = threading.Event()
    steps = 0

    def do_handshake(self) -> None:
        """One of them."""
        type(self).steps += 1
        self.go_on.wait()
        super().do_handshake()


def context_of(kind: type[ssl.SSLObject]) -> ssl.SSLContext:
    """A listener's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates("broker.pem"))
    context.sslobject_class = kind
    return context


_CONTEXTS: dict[type[ssl.SSLObject], ssl.SSLContext] = {
    kind: context_of(kind) for kind in (Counted, Stuck)
}


class Server:
    """One connection, the listener's side."""

    def __init__(self, kind: type[ssl.SSLObject]) -> None:
        self.below, self.ear = Below(), Ear()
        self.is_secured = False
        room = memoryview(bytearray(ROOM_BYTES))
        end = TlsEnd(_CONTEXTS[kind], room, is_server=True)
        self.tls = TlsStream(
            self.below, end, on_secured=self._secured, on_failed=lambda error: None
        )

    def _secured(self, stream: TlsStream) -> Receiver:
        assert stream is self.tls
        self.is_secured = True
        return self.ear

    def hear(self, data: bytes, size: int = ROOM_BYTES) -> None:
        """As it comes from the network, in pieces."""
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self.tls.buffer()[: len(piece)] = piece
            self.tls.received(len(piece))


@cache
def context_of_callers() -> ssl.SSLContext:
    """They believe the authority of the tests."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(certificates("trusted.crt"))
    return context


class Caller:
    """The client's side, by OpenSSL alone."""

    def __init__(self) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context_of_callers().wrap_bio(self._in, self._out, server_hostname="localhost")

    def shake(self, heard: bytes = b"") -> bytes:
        """What it says next."""
        self._in.write(heard)
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._out.read()

    def say(self, text: bytes) -> bytes:
        """Encrypted."""
        self.tls.write(text)
        return self._out.read()


async def until(condition: Callable[[], bool]) -> None:
    """Turns of the loop go by until it is so; the thread that works is not ours to wait for."""
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 - no event tells; every turn looks anew
            await asyncio.sleep(0)


@pytest.mark.parametrize("size", [1, 7, ROOM_BYTES])
def test_a_step_begins_once_a_record_is_whole(size: int) -> None:
    """However small the pieces are: two steps, and what came right behind them is heard."""

    async def conversation() -> None:
        Counted.steps = 0
        server, caller = Server(Counted), Caller()
        server.hear(caller.shake(), size)
        await until(lambda: bool(server.below.sent))
        assert Counted.steps == 1
        last = caller.shake(bytes(server.below.sent))
        server.hear(last + caller.say(b"hello"), size)
        await until(lambda: server.ear.heard == b"hello")
        assert server.is_secured

    asyncio.run(conversation())


def test_who_sends_a_part_of_a_record_costs_no_step() -> None:
    """A stranger who stalls there is kept as bytes, until he is late."""

    async def conversation() -> None:
        Counted.steps = 0
        stranger, other = Server(Counted), Server(Counted)
        stranger.hear(Caller().shake()[:-1])
        other.hear(Caller().shake())
        await until(lambda: bool(other.below.sent))
        assert Counted.steps == 1

    asyncio.run(conversation())


def test_what_is_no_tls_is_refused_at_once() -> None:
    """Its bytes announce no record that could be waited for."""

    async def conversation() -> None:
        for said in (b"GET / HTTP/1.1\r\n", b"\0\0\0\x10\0\x12\0\0", b"\x16\x03\x01\xff\xff\x01"):
            server = Server(Counted)
            server.hear(said)
            await until(lambda server=server: server.below.is_closed)  # type: ignore[misc]

    asyncio.run(conversation())


@pytest.mark.parametrize("is_finished", [False, True])
def test_a_stream_that_has_ended_leaves_nothing_behind(*, is_finished: bool) -> None:
    """Who waited for the handshake and the stream know each other: it needs no collector."""

    async def ended() -> "weakref.ref[TlsStream]":
        server, caller = Server(Counted), Caller()
        server.hear(caller.shake())
        await until(lambda: bool(server.below.sent))
        if is_finished:
            server.hear(caller.shake(bytes(server.below.sent)))
            await until(lambda: server.is_secured)
        server.tls.closed(None)
        return weakref.ref(server.tls)

    async def conversation() -> None:
        stream = await ended()
        await until(lambda: stream() is None)  # the loop lets go of the last step

    gc.disable()
    try:
        asyncio.run(conversation())
    finally:
        gc.enable()


def test_a_crowd_of_handshakes_holds_up_nobody_else() -> None:
    """Who reads a file, or looks for an address, has other threads."""

    async def conversation() -> None:
        Stuck.go_on.clear()
        crowd = [Server(Stuck) for _ in range(CROWD)]
        try:
            for server in crowd:
                server.hear(Caller().shake())
            async with asyncio.timeout(SECONDS_MAX):
                assert await asyncio.get_running_loop().run_in_executor(None, sum, (1, 2)) == 3
            assert not any(server.below.sent for server in crowd)
        finally:
            Stuck.go_on.set()
        await until(lambda: all(server.below.sent for server in crowd))

    asyncio.run(conversation())


def test_who_is_gone_is_not_waited_for() -> None:
    """Of a crowd that has left only those steps are done that had begun."""

    async def conversation() -> None:
        Stuck.go_on.clear()
        Stuck.steps = 0
        crowd = [Server(Stuck) for _ in range(CROWD)]
        last = Server(Stuck)
        try:
            for server in (*crowd, last):
                server.hear(Caller().shake())
            for server in crowd:
                server.tls.closed(None)
            for _ in range(2):  # the loop tells the threads
                await asyncio.sleep(0)
        finally:
            Stuck.go_on.set()
        await until(lambda: bool(last.below.sent))
        assert Stuck.steps <= STEPS_AT_ONCE_MAX + 1

    asyncio.run(conversation())


def test_records_are_told_by_their_lengths() -> None:
    """Only whole ones count, at the start."""
    record = b"\x16\x03\x03\0\x02ab"
    assert whole_records(bytearray()) == 0
    assert whole_records(bytearray(record[:4])) == 0
    assert whole_records(bytearray(record[:-1])) == 0
    assert whole_records(bytearray(record)) == len(record)
    assert whole_records(bytearray(record + record[:6])) == len(record)
    assert whole_records(bytearray(record + b"nothing like it")) == len(record) + 15
