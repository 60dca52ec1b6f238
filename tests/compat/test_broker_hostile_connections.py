"""Connections that no client of Kafka's would make: what they do stays their own affair.

Beside each of them a producer and a consumer go on, and miss nothing; and the broker's memory does
not grow with what it was made to believe.
"""

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka import Producer

from odradek.model.units import MIB
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.metadata import MetadataRequest
from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.hostile import Neighbour, Raw
from tests.compat.librdkafka import create_topic, quiet
from tests.external.zookeeper import die_with_parent

pytestmark = pytest.mark.usefixtures("peace")

FRAME_BYTES_MAX: Final = 100 * MIB
IDLE: Final = 10_000
RESERVE: Final = 1_000  # descriptors for everything else, on either side

FOREIGN: Final = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
    "an answer of HTTP": b"HTTP/1.1 200 OK\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(160),
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "PROXY": b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + bytes(12),
    "text": b"atej\r\n" * 10,
    "ZooKeeper": b"ruok",
    "-1 bytes": b"\xff\xff\xff\xff" + bytes(100),
    "the least number": b"\x80\x00\x00\x00" + bytes(100),
    "0 bytes": bytes(4),
    "3 bytes": b"\x00\x00\x00\x03abc",
    "2 GiB": b"\x7f\xff\xff\xff" + bytes(100),
    "a byte too many": (FRAME_BYTES_MAX + 1).to_bytes(4, "big") + bytes(100),
    "half a header": b"\x00\x00\x00\x06\x00\x12\x00\x00\x00\x00",
    "no such API": b"\x00\x00\x00\x0a\x7f\xff\x00\x00\x00\x00\x00\x07\xff\xff",
    "a negative API": b"\x00\x00\x00\x0a\xff\xff\x00\x00\x00\x00\x00\x07\xff\xff",
    "no such version": b"\x00\x00\x00\x0a\x00\x03\x7f\xff\x00\x00\x00\x07\xff\xff",
    "a negative version": b"\x00\x00\x00\x0a\x00\x03\xff\xff\x00\x00\x00\x07\xff\xff",
    "a control request": b"\x00\x00\x00\x0a\x00\x04\x00\x00\x00\x00\x00\x07\xff\xff",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OdradekBroker]:
    """With the limits that it has by default."""
    running = OdradekBroker(tmp_path_factory.mktemp("broker") / "broker")
    running.start()
    yield running
    running.stop()


@pytest.mark.parametrize("said", FOREIGN)
def test_who_speaks_another_language_is_sent_away(broker: OdradekBroker, said: str) -> None:
    """At once: nothing is waited for that its first bytes seem to promise."""
    with Raw(broker) as client:
        client.send(FOREIGN[said])
        assert client.is_sent_away()


def test_who_asks_for_unknown_versions_of_versions_is_told(broker: OdradekBroker) -> None:
    """In the oldest form, which everybody reads (KIP-511)."""
    with Raw(broker) as client:
        client.send(b"\x00\x00\x00\x0a\x00\x12\x00\x63\x00\x00\x00\x07\xff\xff")
        answer = client.answer()
        assert answer[:6] == b"\x00\x00\x00\x07\x00\x23"
        assert client.ask(ApiVersionsRequest(), 0).api_keys


def test_noise(broker: OdradekBroker) -> None:
    """Random bytes behind a length that may be true; each connection comes to its end."""
    chance = Random(7)
    for _ in range(200):
        with Raw(broker) as client:
            noise = chance.randbytes(chance.randrange(1, 2_000))
            claimed = chance.choice((len(noise), len(noise) - 3, len(noise) + 1))
            client.send(max(claimed, 0).to_bytes(4, "big") + noise)
            client.hang_up_half()
            assert client.is_sent_away()


def test_noise_behind_a_true_header(broker: OdradekBroker) -> None:
    """For each API and version that is offered; the body is noise of one kind or another."""
    chance = Random(11)
    with Raw(broker) as client:
        offered = client.offered()
    for key, newest in sorted(offered.items()):
        for version in range(newest + 1):
            body = chance.choice((b"\xff", b"\x7f", b"\x00", b"\x01", b"\x80")) * 64
            body = chance.choice((body, chance.randbytes(64), b"\x00" + chance.randbytes(63)))
            header = (
                key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\x00\x00\x00\x07\xff\xff"
            )
            with Raw(broker) as client:
                client.send((len(header) + len(body)).to_bytes(4, "big") + header + body)
                client.hang_up_half()
                assert client.is_sent_away()


def test_every_beginning_of_a_request(broker: OdradekBroker) -> None:
    """Whoever hangs up in the middle of a word is not waited for."""
    with Raw(broker) as client:
        frame = client.frame(MetadataRequest(topics=None), 9)
    for end in range(len(frame)):
        with Raw(broker) as client:
            client.send(frame[:end])
            client.hang_up_half()
            assert client.is_sent_away()


def test_a_byte_at_a_time(broker: OdradekBroker) -> None:
    """However slowly it speaks: it is understood in the end."""
    with Raw(broker) as client:
        frame = client.frame(MetadataRequest(topics=None), 9)
        for byte in frame:
            client.send(bytes((byte,)))
        assert int.from_bytes(client.answer()[:4], "big") == 1


@pytest.mark.parametrize(
    "beginning",
    [
        b"\x00",
        b"\x00\x00\x00\x20\x00\x03",
        b"\x06\x40\x00\x00\x00\x00\x00\x09",
        b"\x00\x1f\xff\xff",
    ],
)
def test_half_a_request_and_then_silence(
    broker: OdradekBroker, neighbour: Neighbour, beginning: bytes
) -> None:
    """Of two hundred clients at once: what they promise, up to a hundred megabytes, is not made."""
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(Raw(broker)).send(beginning)
        with neighbour.undisturbed():
            pass


def test_clients_that_never_read(broker: OdradekBroker, neighbour: Neighbour) -> None:
    """Their answers fill what the kernel holds for them, and then they are not read any more.

    A client that asks again and again for megabytes, and takes none of them, cannot even finish
    asking.
    """
    name = filled_topic(broker)
    wanted = FetchPartition(0, fetch_offset=0, partition_max_bytes=10 * MIB)
    fetch = FetchRequest(max_bytes=10 * MIB, topics=[FetchTopic(name, partitions=[wanted])])
    asked = [(fetch, 12)] * 10 + [(MetadataRequest(topics=None), 9)]
    with ExitStack() as stack:
        for question, version in asked:
            client = stack.enter_context(Raw(broker))
            assert client.is_held_up(client.frame(question, version) * 1_000)
        with neighbour.undisturbed():
            pass


def filled_topic(broker: OdradekBroker) -> str:
    """Ten megabytes that a fetch can ask for."""
    name = create_topic(broker, "large")
    producer = Producer(quiet(broker))
    for _ in range(100):
        producer.produce(name, Random(0).randbytes(100_000))
    assert producer.flush(20) == 0
    return name


CROWD = """
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
crowd = [socket.create_connection((host, port), timeout=60) for _ in range(count)]
print("there", flush=True)
sys.stdin.readline()
"""


@contextmanager
def crowd(broker: OdradekBroker, count: int) -> Iterator[None]:
    """So many connections of another process, which say nothing."""
    host, _, port = broker.bootstrap.partition(":")
    with subprocess.Popen(
        [sys.executable, "-c", CROWD, host, port, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        yield
        process.communicate(b"\n")


def test_ten_thousand_who_say_nothing(broker: OdradekBroker, neighbour: Neighbour) -> None:
    """They cost a descriptor and a few kilobytes each, and nobody waits for them.

    As many as the machine allows, where it allows fewer.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = IDLE if limit == resource.RLIM_INFINITY else min(IDLE, max(limit - RESERVE, 100))
    with crowd(broker, count):
        with neighbour.undisturbed():
            pass
        with Raw(broker) as client:
            assert client.ask(MetadataRequest(topics=None)).brokers
    eventually(lambda: sockets_of(broker) < RESERVE)


def sockets_of(broker: OdradekBroker) -> int:
    """How many descriptors it has open."""
    return len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))


def test_clients_that_come_and_go(broker: OdradekBroker) -> None:
    """Two thousand, one after the other, some with a reset: none leaves anything behind."""
    before = sockets_of(broker)
    chance = Random(3)
    for _ in range(2_000):
        with Raw(broker) as client:
            if chance.random() < 0.5:
                client.send(client.frame(MetadataRequest(topics=None), 9))
            if chance.random() < 0.5:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # on, for no time: a reset
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    eventually(lambda: sockets_of(broker) <= before + 5)
