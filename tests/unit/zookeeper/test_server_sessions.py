"""Sessions: how long they last, who may take them up again, and what goes with them."""

import pytest

from odradek.zookeeper.protocol.codes import CreateMode, KeeperCode
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Connected, Created, Data, Done, StatReply
from odradek.zookeeper.protocol.jute_requests import (
    CloseSession,
    Connect,
    Create,
    Exists,
    GetData,
    Ping,
    SetData,
)
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import Client, World

EPHEMERAL = CreateMode.EPHEMERAL


def back(world: World, client: Client, zxid: int = 0) -> Client:
    """The client's session over a new connection."""
    again = world.client(greets=False)
    assert client.connected is not None
    again.greet(Connect(zxid, 10_000, client.session_id, client.connected.password))
    return again


@pytest.mark.parametrize(("wanted", "got"), [(1, 4_000), (10_000, 10_000), (1 << 30, 40_000)])
def test_a_time_out_is_negotiated(wanted: int, got: int) -> None:
    """Between two and twenty ticks, whatever the client wants."""
    client = World().client(greets=False)
    connected = client.greet(Connect(0, wanted))
    assert connected is not None
    assert connected.timeout == got


def test_an_old_client_gets_an_old_answer() -> None:
    """Who sends no read-only flag gets none back."""
    client = World().client(greets=False)
    connected = client.greet(Connect(0, 10_000, read_only=None))
    assert connected is not None
    assert connected.read_only is None


def test_a_session_is_durable_before_its_client_hears_of_it() -> None:
    """A session that a crash could forget must not have been promised."""
    world = World()
    world.slow = True
    client = world.client()
    assert client.connected is None
    world.catch_up()
    assert client.connected is not None


def test_a_silent_session_expires_with_its_ephemeral_nodes() -> None:
    """One transaction closes it and deletes them; its connection is closed."""
    world = World()
    silent, other = world.client(), world.client()
    silent.send(*(Create(path, b"", OPEN_ACL, EPHEMERAL) for path in ("/e1", "/e2")))
    for _ in range(11):
        world.wait(1_000)
        other.send(Ping())
    assert silent.hung_up == "its session expired"
    entries = len(world.journal)
    for path in ("/e1", "/e2"):
        assert other.ask(Exists(path)) is KeeperCode.NONODE
    assert len(world.journal) == entries == 5  # two sessions, two nodes, one end


def test_pings_keep_a_session_alive() -> None:
    """Anything that is heard from a client does, a ping is the least of it."""
    world = World()
    client = world.client()
    for _ in range(10):
        world.wait(9_000)
        client.send(Ping())
    assert client.hung_up is None
    world.wait(10_300)
    assert client.hung_up == "its session expired"


def test_closing_a_session_answers_and_then_hangs_up() -> None:
    """The client knows that its ephemeral nodes are gone when it has the answer."""
    world = World()
    client, other = world.client(), world.client()
    client.ask(Create("/e", b"", OPEN_ACL, EPHEMERAL))
    assert client.ask(CloseSession()) == Done()
    assert client.hung_up is not None
    assert other.ask(Exists("/e")) is KeeperCode.NONODE
    again = back(world, client)
    assert again.connected == Connected(0, 0, bytes(16))


def test_a_session_outlives_its_connection() -> None:
    """Within its time-out it goes on over another one, with its ephemeral nodes."""
    world = World()
    client = world.client()
    client.ask(Create("/e", b"", OPEN_ACL, EPHEMERAL))
    client.leave()
    world.wait(9_000)
    again = back(world, client)
    assert again.session_id == client.session_id
    world.wait(9_000)
    assert isinstance(again.ask(Exists("/e")), StatReply)


def test_a_session_may_come_back_in_more_of_a_hurry() -> None:
    """The time-out is what its last connection asked for, and counts from then on."""
    world = World()
    client, again, other = world.client(greets=False), world.client(greets=False), world.client()
    first = client.greet(Connect(0, 40_000))
    assert first is not None
    assert again.greet(Connect(0, 4_000, first.session_id, first.password)) is not None
    again.ask(Create("/e", b"", OPEN_ACL, EPHEMERAL))
    world.wait(4_300)
    assert other.ask(Exists("/e")) is KeeperCode.NONODE
    entries = len(world.journal)
    world.wait(9_000)
    other.send(Ping())
    world.wait(9_000)
    other.send(Ping())
    world.wait(9_000)
    other.send(Ping())
    world.wait(9_000)
    assert len(world.journal) == entries  # it ended once


def test_a_session_moves_and_the_old_connection_is_closed() -> None:
    """Two connections of one session cannot both speak for it."""
    world = World()
    client = world.client()
    again = back(world, client)
    assert client.hung_up == "its session moved to another connection"
    assert again.ask(Create("/a", b"")) == Created("/a")


def test_a_wrong_password_gets_nothing_and_disturbs_nobody() -> None:
    """The thief is told that the session is gone; its owner stays connected."""
    world = World()
    client = world.client()
    thief = world.client(greets=False)
    answer = thief.greet(Connect(0, 10_000, client.session_id, b"guessed".ljust(16)))
    assert answer == Connected(0, 0, bytes(16))
    assert thief.hung_up == "its session is gone"
    assert client.ask(Create("/a", b"")) == Created("/a")


def test_an_expired_session_cannot_be_taken_up() -> None:
    """The client must learn that its ephemeral nodes are gone."""
    world = World()
    client = world.client()
    client.leave()
    world.wait(10_300)
    assert back(world, client).connected == Connected(0, 0, bytes(16))


def test_who_has_seen_more_than_we_know_is_sent_away() -> None:
    """It would travel back in time here: another server may know more, we must not answer."""
    world = World()
    client = world.client(greets=False)
    client.greet(Connect(10_000, 10_000))
    assert client.connected is None
    assert client.hung_up is not None


def test_sessions_survive_a_restart_with_a_fresh_time_out() -> None:
    """Nobody could be heard while the server was down, so nobody is blamed for it."""
    world = World()
    client = world.client()
    client.ask(Create("/e", b"1", OPEN_ACL, EPHEMERAL))
    for after in (world.restart(), world.restart_from_snapshot()):
        after.wait(9_000)
        again = back(after, client, zxid=2)
        assert again.session_id == client.session_id
        assert isinstance(again.ask(GetData("/e")), Data)


def test_a_session_that_does_not_come_back_after_a_restart_expires() -> None:
    """It is looked after from the start on."""
    world = World()
    world.client().ask(Create("/e", b"", OPEN_ACL, EPHEMERAL))
    after = world.restart()
    after.wait(10_300)
    assert after.client().ask(Exists("/e")) is KeeperCode.NONODE


def test_a_server_that_was_stopped_blames_nobody() -> None:
    """A suspended machine heard nobody: the sessions get that time back."""
    world = World()
    client = world.client()
    world._move_to(world.monotonic + 60_000)
    world.server.tick(world.moment)
    world.settle()
    assert client.hung_up is None
    client.send(Ping())
    world.wait(9_000)
    assert client.hung_up is None


def test_a_stall_excuses_the_dead_only_once() -> None:
    """Who is not heard after it either is closed: no stall keeps a session for ever."""
    world = World()
    client = world.client()
    for _ in range(2):
        world._move_to(world.monotonic + 60_000)
        world.server.tick(world.moment)
        world.settle()
    assert client.hung_up == "its session expired"


def test_session_numbers_never_come_back() -> None:
    """Kafka tells lives of a broker apart by them, across restarts too."""
    world = World()
    first = world.client()
    first.ask(CloseSession())
    second = world.restart().client()
    assert first.session_id < second.session_id


def test_sessions_have_a_bound() -> None:
    """Whoever opens sessions and leaves cannot fill the server's memory with them."""
    world = World(ServerSettings(sessions_max=2))
    world.client().leave()
    client = world.client()
    third = world.client()
    assert third.connected is None
    assert third.hung_up == "there are too many sessions"
    assert client.ask(SetData("/", b"")) is not None
