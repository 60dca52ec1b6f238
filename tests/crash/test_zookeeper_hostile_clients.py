"""Clients that mean harm, over real sockets: bounded memory, and a neighbour who notices nothing.

One server process with the settings that its users have. Its neighbour is an ordinary client that
writes and reads between all the misdeeds; each of its answers must come, and be right.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from odradek.model.units import KIB, MIB
from odradek.zookeeper.protocol.codes import AddWatchMode, CreateMode, KeeperCode
from odradek.zookeeper.protocol.jute import INT, OPEN_ACL, PACKET_BYTES_MAX, framed
from odradek.zookeeper.protocol.jute_replies import reply_header
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    CloseSession,
    Create,
    GetData,
    Multi,
    Ping,
    SetData,
)
from odradek.zookeeper.server.settings import ServerSettings
from tests.crash.zookeeper_process import ZookeeperProcess

SETTINGS: Final = ServerSettings()
HOME: Final = "127.0.99.1"  # of the neighbour; all of 127.0.0.0/8 is this machine
CROWD: Final = 1_000
FILES_OF_A_LOGIN: Final = 1_024
XID: Final = INT.pack(7)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperProcess]:
    """Started from a shell, with its limit of open files. Nothing that comes makes it stumble."""
    running = ZookeeperProcess(tmp_path_factory.mktemp("zookeeper") / "data")
    assert running.start(RLIMIT_NOFILE=FILES_OF_A_LOGIN) is None
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.said


class Neighbour:
    """Writes and reads, and must always be served."""

    def __init__(self, server: ZookeeperProcess) -> None:
        self._talker = server.talker(HOME)
        self._version = 0
        self._talker.ask(Create("/neighbour", b"", OPEN_ACL, CreateMode.EPHEMERAL))

    def works(self) -> None:
        """By version: a write that was lost or done twice would be refused."""
        write = SetData("/neighbour", b"mine", self._version)
        self._version += 1
        assert [header.error for header in self._talker.ask(write, GetData("/neighbour"))] == [
            0,
            0,
        ]

    def leaves(self) -> None:
        """Its node goes with it."""
        assert [header.error for header in self._talker.ask(CloseSession())] == [0]


@pytest.fixture
def neighbour(server: ZookeeperProcess) -> Iterator[Neighbour]:
    """Somebody who lives from this server, to the end."""
    neighbour = Neighbour(server)
    yield neighbour
    neighbour.works()
    neighbour.leaves()


def test_a_thousand_connections_that_say_nothing(
    server: ZookeeperProcess, neighbour: Neighbour
) -> None:
    """They hold next to no memory, each host has only so many, and all are sent away in time."""
    before = server.memory()
    hosts = [f"127.0.1.{number}" for number in range(1, 1 + CROWD // 50)]
    silent = [server.talker(host, greets=False) for host in hosts * 50]
    neighbour.works()
    room = SETTINGS.connections_per_host_max - 50
    silent += [server.talker(hosts[0], greets=False) for _ in range(room)]
    one_too_many = server.talker(hosts[0], greets=False)
    assert one_too_many.is_hung_up_on()
    neighbour.works()
    assert server.memory() - before < 16 * MIB
    for each in silent:
        assert each.is_hung_up_on()
    neighbour.works()
    latecomer = server.talker(hosts[0])
    assert [header.error for header in latecomer.ask(Ping())] == [0]


def test_clients_that_never_read_their_answers(
    server: ZookeeperProcess, neighbour: Neighbour
) -> None:
    """Each is read no further than a few answers ahead, however much it has asked for."""
    owner = server.talker()
    owner.ask(Create("/large", b"x" * (900 * KIB)))
    before = server.memory()
    deaf = [server.talker() for _ in range(8)]
    for each in deaf:
        each.send([GetData("/large")] * 1_000)  # nearly a gigabyte of answers
        neighbour.works()
    held = server.memory() - before
    assert held < len(deaf) * (SETTINGS.unsent_bytes_max + 4 * MIB)
    first = reply_header(deaf[0].receive(1)[0])  # who reads after all is served after all
    assert first.error == 0


def test_a_client_that_never_reads_its_events(
    server: ZookeeperProcess, neighbour: Neighbour
) -> None:
    """Nobody's writes wait for it: once it is owed too much it goes, and its memory is free."""
    path = "/" + "long" * 2_000
    writer, deaf = server.talker(), server.talker()
    writer.ask(Create(path, b""))
    assert [header.error for header in deaf.ask(AddWatch(path, AddWatchMode.PERSISTENT))] == [0]
    before = server.memory()
    events = 4 * SETTINGS.unsent_bytes_fatal // len(path)
    for _ in range(events // 100):
        many = Multi(tuple([SetData(path, b"", -1)] * 100))
        assert [header.error for header in writer.ask(many)] == [0]
    neighbour.works()
    assert server.memory() - before < 2 * SETTINGS.unsent_bytes_fatal
    assert deaf.is_hung_up_on()


@pytest.mark.parametrize(
    "packet",
    [
        INT.pack(-1),
        INT.pack(PACKET_BYTES_MAX + 1),
        INT.pack((1 << 31) - 1) + b"x" * 1_000,
        framed(b"\0\0\0"),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["negative length", "oversized", "two gigabytes", "no header", "another protocol"],
)
@pytest.mark.parametrize("greets", [True, False], ids=["in a session", "as the first thing"])
def test_what_is_no_packet_ends_the_connection(
    server: ZookeeperProcess, neighbour: Neighbour, packet: bytes, *, greets: bool
) -> None:
    """Nothing that follows could be understood."""
    neighbour.works()
    talker = server.talker(greets=greets)
    talker.socket.sendall(packet)
    assert talker.is_hung_up_on()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (INT.pack(4) + INT.pack(5) + b"/a", KeeperCode.MARSHALLINGERROR),
        (INT.pack(101) + bytes(8) + INT.pack((1 << 31) - 1), KeeperCode.MARSHALLINGERROR),
        (INT.pack(1) + INT.pack(2) + b"ab" + bytes(12), KeeperCode.BADARGUMENTS),
        (INT.pack(5) + INT.pack(4) + b"/a//" + bytes(8), KeeperCode.BADARGUMENTS),
        (INT.pack(3) + INT.pack(3) + b"/\0b" + b"\0", KeeperCode.BADARGUMENTS),
        (INT.pack(3) + INT.pack(2) + b"/\xff" + b"\0", KeeperCode.MARSHALLINGERROR),
    ],
    ids=["cut", "lying count", "relative", "empty name", "control character", "no UTF-8"],
)
def test_what_means_nothing_is_answered_with_an_error(
    server: ZookeeperProcess, neighbour: Neighbour, body: bytes, code: KeeperCode
) -> None:
    """The packet was whole, so the session goes on."""
    neighbour.works()
    talker = server.talker()
    talker.socket.sendall(framed(XID + body))
    assert reply_header(talker.receive(1)[0])[::2] == (7, code)
    assert [header.error for header in talker.ask(Ping())] == [0]


def test_a_packet_that_never_ends_holds_only_what_came(
    server: ZookeeperProcess, neighbour: Neighbour
) -> None:
    """An announcement costs nothing, and who goes in the middle of it leaves nothing behind."""
    before = server.memory()
    slow = [server.talker(f"127.0.2.{number}") for number in range(1, 201)]
    for each in slow:
        each.socket.sendall(INT.pack(PACKET_BYTES_MAX) + b"x" * 100)
    neighbour.works()
    assert server.memory() - before < 16 * MIB
    for each in slow:
        each.close()
    neighbour.works()


def test_what_its_operator_asks_for_holds(tmp_path: Path) -> None:
    """The options of the command reach the server."""
    options = ("--words", "ruok,wchs", "--connections-per-host", "2", "--jute-maxbuffer", "2000")
    server = ZookeeperProcess(tmp_path / "data", *options)
    assert server.start() is None
    first, second = server.talker(), server.talker(greets=False)
    assert server.talker(greets=False).is_hung_up_on()
    second.socket.sendall(b"ruok")
    assert second.socket.recv(100) == b"imok"
    first.send([SetData("/", b"x" * 2_000, -1)])
    assert first.is_hung_up_on()
    assert server.stop() == 0
