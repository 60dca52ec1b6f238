"""What the server refuses, within bounded memory and without a word to the other sessions."""

import pytest

from odradek.model.units import Bytes, Millis
from odradek.zookeeper.protocol.codes import AddWatchMode, KeeperCode
from odradek.zookeeper.protocol.jute import INT, PACKET_BYTES_MAX, framed
from odradek.zookeeper.protocol.jute_replies import Created, Done, ReplyHeader, reply_header
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Connect,
    Create,
    GetData,
    Ping,
    SetData,
    SetWatches,
)
from odradek.zookeeper.server.connection import Phase
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import Client, World


def still_works(client: Client) -> bool:
    """Another session is not disturbed."""
    return client.ask(Ping()) == Done()


def reading(client: Client) -> bool:
    """Whether the server reads from it."""
    return not client.paused


@pytest.mark.parametrize("length", [-1, -(1 << 31), PACKET_BYTES_MAX + 1, (1 << 31) - 1])
def test_a_packet_of_a_length_that_cannot_be_ends_the_connection(length: int) -> None:
    """Negative or above jute.maxbuffer: nothing that follows could be understood."""
    world = World()
    bad, other = world.client(), world.client()
    bad.say(INT.pack(length) + b"x" * 100)
    assert bad.hung_up is not None
    assert still_works(other)


def test_a_header_that_is_cut_ends_the_connection() -> None:
    """Without an xid there is nobody to answer."""
    client = World().client()
    client.say(framed(b"\0\0\0"))
    assert client.hung_up is not None


@pytest.mark.parametrize("op", [1, 4, 5, 14, 101])
def test_a_body_that_is_cut_is_answered_with_an_error(op: int) -> None:
    """The client is told by its xid; the connection goes on, since the packet was whole."""
    client = World().client()
    client.say(framed(INT.pack(77), INT.pack(op), b"\0\0\0\5/"))
    assert reply_header(client.replies[-1][3])[::2] == (77, KeeperCode.MARSHALLINGERROR)
    assert still_works(client)


def test_a_count_that_lies_is_answered_with_an_error() -> None:
    """Two thousand million watches in forty bytes: nothing is made of it."""
    client = World().client()
    client.say(framed(INT.pack(1), INT.pack(101), bytes(8), INT.pack((1 << 31) - 1), bytes(20)))
    assert client.replies[-1][2] == KeeperCode.MARSHALLINGERROR


def test_an_unknown_operation_is_answered_and_ends_the_connection() -> None:
    """As a real server does: UNIMPLEMENTED, and goodbye."""
    world = World()
    client, other = world.client(), world.client()
    client.say(framed(INT.pack(5), INT.pack(999)))
    header = reply_header(client.replies[-1][3])
    assert header == ReplyHeader(5, 2, KeeperCode.UNIMPLEMENTED)
    assert client.hung_up is not None
    assert still_works(other)


def test_reconfiguration_is_not_enabled() -> None:
    """There is one server; the client is told so and stays connected."""
    client = World().client()
    client.say(framed(INT.pack(5), INT.pack(16), b""))
    assert client.replies[-1][2] == KeeperCode.RECONFIGDISABLED
    assert still_works(client)


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", framed(b"short"), framed(b"x" * 1025)])
def test_who_does_not_begin_with_a_connect_request_is_sent_away(data: bytes) -> None:
    """Whatever it is, it is no client of ours; it is trusted with a kilobyte."""
    client = World().client(greets=False)
    client.say(data)
    assert client.hung_up is not None
    assert client.connection.packets._rest == b""


def test_requests_may_come_right_behind_the_connect_request() -> None:
    """A client that re-arms many watches does not wait: only the first packet must be small."""
    client = World().client(greets=False)
    client._greeted = True
    watches = SetWatches(0, [], [f"/{number:0100}" for number in range(100)], [])
    client.say(framed(Connect(0, 10_000).body()) + client.frame(watches))
    assert client.answers() == [Done()]


def test_a_thousand_connections_that_say_nothing() -> None:
    """They hold almost no memory, they are sent away in time, and others get in meanwhile."""
    world = World(ServerSettings(connections_per_host_max=0))
    silent = [world.client(f"10.0.{n // 250}.{n % 250}", greets=False) for n in range(1_000)]
    for client in silent[:500]:
        client.say(b"\0\0")
    other = world.client()
    assert still_works(other)
    world.wait(9_000)
    other.send(Ping())
    world.wait(3_000)
    assert all(client.hung_up == "asked for no session in time" for client in silent)
    assert list(world.server.connections) == [other.connection]
    assert world.server.next_tick() is not None


def test_one_host_has_only_so_many_connections() -> None:
    """maxClientCnxns: the one too many is closed, those that are there and other hosts are not."""
    world = World(ServerSettings(connections_per_host_max=2))
    one, _ = world.client("10.0.0.1"), world.client("10.0.0.1")
    assert world.server.connected(("10.0.0.1", 1), world.moment) is None
    assert still_works(world.client("10.0.0.2"))
    one.leave()
    assert still_works(world.client("10.0.0.1"))


def test_there_are_only_so_many_connections() -> None:
    """MaxCnxns holds over all hosts."""
    world = World(ServerSettings(connections_max=1))
    assert still_works(world.client("10.0.0.1"))
    assert world.server.connected(("10.0.0.2", 1), world.moment) is None
    assert world.server.stats.refused == 1


def test_a_client_that_never_reads_is_not_read_either() -> None:
    """Its requests wait in its own socket; what it is owed is bounded; others are served."""
    world = World()
    greedy, other = world.client(), world.client()
    other.ask(Create("/big", b"x" * 200_000))
    greedy.reads = False
    greedy.send(*(GetData("/big") for _ in range(100)))
    assert not reading(greedy)
    assert greedy.unread < 5_000_000
    left = len(greedy.connection.backlog)
    assert left > 70
    assert still_works(other)
    greedy.reads, greedy.unread = True, 0
    world.server.sent(greedy.connection, 0)
    world.settle()
    assert reading(greedy)
    assert len(greedy.replies) == left


def test_requests_that_wait_for_the_disk_are_bounded() -> None:
    """A disk that stalls slows the clients down, it does not fill the memory."""
    world = World(ServerSettings(requests_waiting_max=10))
    client = world.client()
    world.slow = True
    client.send(*(Create(f"/{number}", b"") for number in range(25)))
    assert not reading(client)
    assert len(world.journal) == 1 + 10
    world.catch_up()
    world.catch_up()
    world.catch_up()
    assert reading(client)
    assert len(client.replies) == 25


def test_bytes_that_wait_for_the_disk_are_bounded() -> None:
    """Large writes are held in memory until they are durable: few of them are many."""
    world = World(ServerSettings(waiting_bytes_max=Bytes(30_000)))
    client, other = world.client(), world.client()
    world.slow = True
    client.send(*(Create(f"/{number}", b"x" * 10_000) for number in range(25)))
    assert not reading(client)
    assert sum(len(entry.data) for entry in world.journal) < 50_000
    assert reading(other)
    for _ in range(10):
        world.catch_up()
    assert reading(client)
    assert client.connection.asked == 0
    assert len(client.replies) == 25


def test_events_that_are_never_read_end_the_connection() -> None:
    """A persistent watch on a busy tree cannot be slowed down: who does not read it goes."""
    fatal = Bytes(5 << 20)
    world = World(ServerSettings(unsent_bytes_fatal=fatal))
    deaf, actor = world.client(), world.client()
    path = "/" + "p" * 10_000
    actor.ask(Create(path, b""))
    deaf.ask(AddWatch(path, AddWatchMode.PERSISTENT))
    deaf.reads = False
    for number in range(600):
        actor.ask(SetData(path, b"%d" % number))
    assert deaf.hung_up == "does not read its events"
    assert deaf.unread < fatal + 20_000
    assert world.server.watches.count() == 0


def test_a_connection_that_does_not_take_its_last_answer_is_cut() -> None:
    """Closing waits for the client to read, but not for ever."""
    world = World(ServerSettings(greeting_timeout=Millis(5_000)))
    client = world.client()
    client.lingers = True
    client.say(framed(INT.pack(5), INT.pack(999)))
    assert client.connection.phase is Phase.ENDING
    world.wait(6_000)
    assert client.hung_up == "does not read"


def test_an_unknown_scheme_ends_the_connection() -> None:
    """AUTHFAILED, and goodbye, as a real server does."""
    client = World().client()
    assert client.ask(Auth("kerberos", b"ticket")) is KeeperCode.AUTHFAILED
    assert client.hung_up is not None


def test_identities_have_a_bound() -> None:
    """A client that gathers names without end is sent away."""
    client = World(ServerSettings(identities_max=3)).client()
    client.send(*(Auth("digest", b"u%d:p" % number) for number in range(4)))
    assert client.answers() == [Done(), Done(), KeeperCode.AUTHFAILED]
    assert client.hung_up is not None


def test_what_follows_a_goodbye_is_not_read() -> None:
    """Requests behind the one that ended the connection do not happen."""
    world = World()
    client = world.client()
    client.send(Auth("kerberos", b""), Create("/a", b""))
    assert "/a" not in world.server.database.tree.nodes
    assert world.client().ask(Create("/a", b"")) == Created("/a")
