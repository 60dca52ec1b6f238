"""A blocking connection's shell: how answers are received, and how a connection ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from threading import Thread

import pytest

from odradek.client import connection_limits
from odradek.client.blocking import cluster as blocking_cluster
from odradek.client.blocking.cluster import BlockingCluster
from odradek.client.blocking.connection import BlockingConnection
from odradek.model.units import MIB, Millis
from odradek.peers.errors import ClosedByPeer, MalformedAnswer, TimedOut
from odradek.ports import Address
from odradek.wire.headers import response_frame
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.wire.schema import Response

VERSION = 12
LOOPBACK = "127.0.0.1"


def frame(answer: Response, version: int, number: int) -> bytes:
    """As it lies on the wire."""
    return b"".join(response_frame(answer, version, number))  # type: ignore[arg-type]


GREETING = frame(ApiVersionsResponse(0, [ApiVersion(FetchRequest.KEY, 4, VERSION)]), 0, 0)


@contextmanager
def saying(*pieces: bytes, stays: bool = False) -> Iterator[Address]:
    """A broker that says this to the first who comes, asked or not, and goes unless it stays."""
    with socket.create_server((LOOPBACK, 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with accepted, suppress(OSError):  # the client may have hung up
                for piece in pieces:
                    accepted.sendall(piece)
                if not stays:
                    accepted.shutdown(socket.SHUT_WR)
                while accepted.recv(1 << 16):  # until the other side has gone
                    pass

        thread = Thread(target=serve)
        thread.start()
        yield (LOOPBACK, server.getsockname()[1])
        thread.join(10)
        assert not thread.is_alive()


def fetched(records: bytes) -> FetchResponse:
    """One partition's."""
    row = PartitionData(0, 0, 1, 1, 0, records=records)
    return FetchResponse(0, 0, 0, [FetchableTopicResponse("orders", partitions=[row])])


@contextmanager
def connected(address: Address) -> Iterator[BlockingConnection]:
    """A client's connection that is closed at the end."""
    connection = BlockingConnection(address, "us")
    try:
        yield connection
    finally:
        connection.close()


def test_a_large_answer_is_received_into_the_bytes_that_are_given() -> None:
    """However it is cut on its way; nothing copies it, and the next answer is another's."""
    first, second = bytes(range(256)) * (3 * MIB // 256), b"few"
    data = frame(fetched(first), VERSION, 1) + frame(fetched(second), VERSION, 2)
    cuts = [0, 1, 5, 70_000, MIB, len(data) - 30, len(data)]
    pieces = [data[begin:end] for begin, end in pairwise(cuts)]
    with saying(GREETING, *pieces) as address, connected(address) as connection:
        pending = [connection.send(FetchRequest(), VERSION) for _ in range(2)]
        rows = [it.wait().responses[0].partitions[0].records for it in pending]
    assert [bytes(it) for it in rows] == [first, second]
    assert isinstance(rows[0], memoryview)
    assert isinstance(rows[0].obj, bytes)


def test_an_answer_that_ends_in_the_middle_ends_the_connection() -> None:
    """All that wait for it are told."""
    half = frame(fetched(b"records"), VERSION, 1)[:-3]
    with saying(GREETING, half) as address, connected(address) as connection:
        pending = [connection.send(FetchRequest(), VERSION) for _ in range(2)]
        for it in pending:
            with pytest.raises(ClosedByPeer):
                it.wait()
        assert not connection.is_open


def test_what_no_broker_says_is_named() -> None:
    """No memory is taken for a length that is none."""
    with (
        saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(MalformedAnswer, match="HTTP"),
    ):
        BlockingConnection(address, "us")


def test_a_broker_that_falls_silent_in_an_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the deadline of the request, although some of the answer has come."""
    some = frame(fetched(b"records"), VERSION, 1)[:20]
    with saying(GREETING, some, stays=True) as address, connected(address) as connection:
        monkeypatch.setattr(connection_limits, "ANSWER_MS", Millis(20))
        monkeypatch.setattr(connection_limits, "ALLOWANCE_MS", Millis(20))
        pending = connection.send(FetchRequest(max_wait_ms=0), VERSION)
        with pytest.raises(TimedOut):
            pending.wait()


def test_who_has_little_patience_waits_no_longer_for_a_broker_that_hangs() -> None:
    """Neither for its first answer nor for a later one."""
    soon = Millis(20)
    with saying(stays=True) as address, pytest.raises(TimedOut):
        BlockingConnection(address, "us", opening_ms=soon)
    with saying(GREETING, stays=True) as address:
        connection = BlockingConnection(address, "us", answer_ms_max=soon)
        with pytest.raises(TimedOut):
            connection.ask(FetchRequest(max_wait_ms=0), VERSION)


def test_patience_is_shared_among_the_brokers_that_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All may hang; at least a second is waited for each."""
    limits: list[Millis] = []

    def hangs(*_: object, opening_ms: Millis, **__: object) -> BlockingConnection:
        limits.append(opening_ms)
        raise TimedOut("no answer")

    monkeypatch.setattr(blocking_cluster, "BlockingConnection", hangs)
    for patience in (9_000, 1):
        cluster = BlockingCluster("a:1,b:2,c:3", "us", Millis(patience))
        with pytest.raises(TimedOut):
            cluster.any()
    assert limits == [3_000] * 3 + [1_000] * 3
