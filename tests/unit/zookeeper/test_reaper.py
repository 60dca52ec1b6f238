"""Nodes that go by themselves: when, and when not."""

from odradek.model.units import Millis, Timestamp
from odradek.zookeeper.protocol.codes import CreateMode, KeeperCode
from odradek.zookeeper.protocol.codes import EventType as Kind
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Results
from odradek.zookeeper.protocol.jute_requests import (
    Create,
    CreateContainer,
    CreateTtl,
    Delete,
    Exists,
    Multi,
    Ping,
    SetData,
)
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import Client, World

SETTINGS = ServerSettings(container_interval=Millis(1_000))


def wait(client: Client, milliseconds: int) -> None:
    """Time passes, and the client says that it is there."""
    while milliseconds > 0:
        client.world.wait(min(milliseconds, 3_000))
        client.send(Ping())
        milliseconds -= 3_000


def gone(client: Client, path: str) -> bool:
    """Whether the node is not there any more."""
    return client.ask(Exists(path)) is KeeperCode.NONODE


def ttl(path: str, milliseconds: int) -> CreateTtl:
    """A node that lives so long after its last write."""
    return CreateTtl(path, b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL, milliseconds)


def test_a_node_with_a_ttl_goes_when_nobody_wrote_it_for_so_long() -> None:
    """A write starts its time anew; its end is a transaction like others, and is heard of."""
    client = World(SETTINGS).client()
    client.ask(ttl("/t", 30_000))
    wait(client, 24_000)
    client.ask(SetData("/t", b""))
    wait(client, 27_000)
    assert not gone(client, "/t")
    client.ask(Exists("/t", watch=True))
    wait(client, 6_000)
    assert gone(client, "/t")
    assert [event.kind for event in client.events] == [Kind.NODE_DELETED]


def test_a_node_with_a_ttl_stays_as_long_as_it_has_children() -> None:
    """It goes after they have gone."""
    client = World(SETTINGS).client()
    client.send(ttl("/t", 3_000), Create("/t/x", b""))
    wait(client, 12_000)
    assert not gone(client, "/t")
    client.ask(Delete("/t/x"))
    wait(client, 6_000)
    assert gone(client, "/t")


def test_a_node_whose_children_have_gone_goes_soon() -> None:
    """However long it was to live: it has done so already."""
    client = World(SETTINGS).client()
    client.send(ttl("/t", 3_600_000), Create("/t/x", b""))
    wait(client, 3_700_000)
    client.ask(Delete("/t/x"))
    wait(client, 3_000)
    assert gone(client, "/t")


def test_a_name_that_is_due_twice_goes_once() -> None:
    """After a stall: the node that had the name before was to be looked at as well."""
    client = World(SETTINGS).client()
    client.send(ttl("/t", 4_000), Create("/t/x", b""))
    wait(client, 6_000)
    client.send(Delete("/t/x"), Delete("/t"), ttl("/t", 4_000))
    world = client.world
    world.monotonic, world.wall = Millis(world.monotonic + 30_000), Timestamp(world.wall + 30_000)
    world.server.tick(world.moment)
    world.settle()
    assert gone(client, "/t")


def test_a_node_that_came_and_went_in_one_multi_is_nobody_to_wait_for() -> None:
    """The multi is answered, and the server lives on."""
    client = World(SETTINGS).client()
    assert isinstance(client.ask(Multi((ttl("/t", 3_000), Delete("/t")))), Results)
    wait(client, 6_000)
    assert gone(client, "/t")


def test_a_ttl_goes_on_over_a_restart() -> None:
    """It counts from the last write, whoever was there to count."""
    world = World(SETTINGS)
    world.client().ask(ttl("/t", 9_000))
    after = world.restart()
    after.wall = world.wall
    client = after.client()
    wait(client, 6_000)
    assert not gone(client, "/t")
    wait(client, 6_000)
    assert gone(client, "/t")


def test_an_empty_container_goes_once_it_was_used() -> None:
    """After its last child, and not before its first."""
    client = World(SETTINGS).client()
    client.ask(CreateContainer("/c", b""))
    wait(client, 9_000)
    client.ask(Create("/c/x", b""))
    wait(client, 30_000)
    assert not gone(client, "/c")
    client.ask(Delete("/c/x"))
    wait(client, 3_000)
    assert gone(client, "/c")


def test_a_container_that_was_never_used_stays() -> None:
    """Whoever made it may take its time over the first child, over a restart of the server too."""
    client = World(SETTINGS).client()
    client.ask(CreateContainer("/c", b""))
    wait(client, 600_000)
    assert not gone(client, "/c")
    client = client.world.restart_from_snapshot().client()
    wait(client, 600_000)
    assert not gone(client, "/c")
    client.send(Create("/c/x", b""), Delete("/c/x"))
    client = client.world.restart_from_snapshot().client()
    wait(client, 3_000)
    assert gone(client, "/c")


def test_a_name_that_was_used_again_is_judged_anew() -> None:
    """The new node has its own time; a plain one has none."""
    client = World(SETTINGS).client()
    client.send(ttl("/t", 3_000), Delete("/t"), Create("/t", b""))
    client.send(ttl("/u", 3_000), Delete("/u"), ttl("/u", 20_000))
    wait(client, 9_000)
    assert not gone(client, "/t")
    assert not gone(client, "/u")


def test_very_many_at_once_go_in_portions() -> None:
    """A thousand at each look, so that nobody waits long behind them."""
    world = World(SETTINGS)
    client = world.client()
    client.send(*(ttl(f"/{number}", 2_000) for number in range(2_500)))
    wait(client, 9_000)
    assert not world.server.database.tree.ttls
