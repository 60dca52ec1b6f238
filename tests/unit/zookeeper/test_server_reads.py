"""Reads as clients see them."""

from odradek.model.units import Bytes
from odradek.zookeeper.protocol.codes import AddWatchMode, CreateMode, KeeperCode, WatcherType
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_replies import (
    AclReply,
    Children,
    Children2,
    Created,
    Data,
    Done,
    Failed,
    Identities,
    Number,
    Results,
)
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Create,
    Exists,
    GetAcl,
    GetAllChildrenNumber,
    GetChildren,
    GetChildren2,
    GetData,
    GetEphemerals,
    MultiRead,
    RemoveWatches,
    SetAcl,
    SetWatches,
    Sync,
    WhoAmI,
)
from odradek.zookeeper.server.settings import ServerSettings
from tests.samples.zookeeper import World

PRIVATE = (Acl(31, Identity("auth", "")),)


def test_children_by_name() -> None:
    """Names, not paths; the second form adds the parent's stat."""
    client = World().client()
    client.send(Create("/a", b""), Create("/a/x", b""), Create("/a/y", b""))
    assert client.ask(GetChildren("/a")) == Children(["x", "y"])
    reply = client.ask(GetChildren2("/a"))
    assert isinstance(reply, Children2)
    assert (reply.names, reply.stat.num_children) == (["x", "y"], 2)


def test_many_children_come_and_go() -> None:
    """A node may have few children or many; none is lost where the one becomes the other."""
    client = World().client()
    client.ask(Create("/a", b""))
    names = [str(number) for number in range(30)]
    client.send(*(Create(f"/a/{name}", b"") for name in names))
    assert client.ask(GetChildren("/a")) == Children(names)
    assert client.ask(GetAllChildrenNumber("/a")) == Number(30)
    assert client.ask(GetAllChildrenNumber("/")) == Number(34)  # and /a, /zookeeper and its two


def test_ephemeral_nodes_of_a_session_by_prefix() -> None:
    """Only one's own, and only below the prefix."""
    world = World()
    mine, other = world.client(), world.client()
    for client, path in ((mine, "/x1"), (mine, "/y1"), (other, "/x2")):
        client.ask(Create(path, b"", OPEN_ACL, CreateMode.EPHEMERAL))
    assert mine.ask(GetEphemerals("/x")) == Children(["/x1"])
    assert mine.ask(GetEphemerals("")) == Children(["/x1", "/y1"])


def test_sync_answers_with_its_path() -> None:
    """One server is always in step with itself."""
    assert World().client().ask(Sync("/anything")) == Created("/anything")


def test_a_multi_read_answers_each_for_itself() -> None:
    """A read that fails does not take the others with it."""
    client = World().client()
    client.ask(Create("/a", b"1"))
    reply = client.ask(MultiRead((GetData("/a"), GetData("/x"), GetChildren("/a"))))
    assert isinstance(reply, Results)
    data, failed, children = reply.results
    assert isinstance(data, Data)
    assert (data.data, failed, children) == (b"1", Failed(-101), Children([]))


def test_a_private_node_is_for_its_owner() -> None:
    """`auth` stands for whoever made it: others may not read, nor list, nor take it over."""
    world = World()
    anna, otto = world.client(), world.client()
    anna.send(Auth("digest", b"anna:secret"), Create("/p", b"1", PRIVATE))
    for request in (GetData("/p"), GetChildren("/p"), GetAcl("/p"), SetAcl("/p", OPEN_ACL)):
        assert otto.ask(request) is KeeperCode.NOAUTH
    assert isinstance(anna.ask(GetData("/p")), Data)


def test_hashes_are_for_admins_only() -> None:
    """Who may read an ACL but not write it does not see the hash of a password."""
    world = World()
    anna, otto = world.client(), world.client()
    acl = (Acl(31, Identity("auth", "")), Acl(1, Identity("world", "anyone")))
    anna.send(Auth("digest", b"anna:secret"), Create("/p", b"1", acl))
    mine, theirs = anna.ask(GetAcl("/p")), otto.ask(GetAcl("/p"))
    assert isinstance(mine, AclReply)
    assert isinstance(theirs, AclReply)
    assert mine.acl[0].identity.id == "anna:Wap/fLaD11BLJBT+7fkDcVxaT7c="
    assert theirs.acl[0].identity.id == "anna:x"


def test_an_acl_has_a_version_of_its_own() -> None:
    """Aversion counts; nothing else of the stat moves."""
    client = World().client()
    client.ask(Create("/a", b""))
    client.ask(SetAcl("/a", (Acl(1, Identity("world", "anyone")),), 0))
    reply = client.ask(GetAcl("/a"))
    assert isinstance(reply, AclReply)
    assert (reply.stat.aversion, reply.stat.version) == (1, 0)
    assert client.ask(SetAcl("/a", OPEN_ACL, 1)) is KeeperCode.NOAUTH


def test_permissions_of_a_network() -> None:
    """An ip entry may name a network; it holds for who comes from there."""
    world = World()
    near, far = world.client("10.1.2.3"), world.client("192.168.0.9")
    near.ask(Create("/n", b"1", (Acl(31, Identity("ip", "10.0.0.0/8")),)))
    assert isinstance(near.ask(GetData("/n")), Data)
    assert far.ask(GetData("/n")) is KeeperCode.NOAUTH


def test_the_super_user_passes_everywhere() -> None:
    """An operator's way in, where the settings have one."""
    settings = ServerSettings(super_digest="root:qScoE+LkbrbWBh/au3OD5Aq2Yx0=")
    world = World(settings)
    anna, root = world.client(), world.client()
    anna.send(Auth("digest", b"anna:secret"), Create("/p", b"1", PRIVATE))
    root.send(Auth("digest", b"root:pw"))
    assert isinstance(root.ask(GetData("/p")), Data)


def test_a_client_may_ask_who_it_is() -> None:
    """By address and by name, never by hash."""
    client = World().client("10.1.2.3")
    client.send(Auth("digest", b"anna:secret"))
    assert client.ask(WhoAmI()) == Identities(
        [Identity("ip", "10.1.2.3"), Identity("digest", "anna")]
    )


def test_watches_have_a_bound() -> None:
    """A client cannot fill the server's memory with watches on nothing."""
    client = World(ServerSettings(watches_max=2)).client()
    recursive = AddWatchMode.PERSISTENT_RECURSIVE
    assert client.ask(AddWatch("/a", recursive)) == Number(0)
    assert client.ask(AddWatch("/b", recursive)) == Number(0)
    assert client.ask(AddWatch("/c", recursive)) is KeeperCode.QUOTAEXCEEDED


def test_the_watches_of_one_client_have_a_bound() -> None:
    """What one has armed leaves room for the others; of what is removed the room comes back."""
    world = World(ServerSettings(watches_per_connection_max=2))
    greedy, modest = world.client(), world.client()
    greedy.ask(Create("/a", b""))
    assert type(greedy.ask(GetData("/a", watch=True))) is Data
    assert type(greedy.ask(GetChildren("/a", watch=True))) is Children
    assert greedy.ask(Exists("/b", watch=True)) is KeeperCode.QUOTAEXCEEDED
    assert greedy.ask(SetWatches(0, [], ["/b"], [])) is KeeperCode.QUOTAEXCEEDED
    assert type(modest.ask(GetData("/a", watch=True))) is Data
    assert greedy.ask(RemoveWatches("/a", WatcherType.DATA)) == Done()
    assert greedy.ask(Exists("/b", watch=True)) is KeeperCode.NONODE


def test_the_answers_of_a_multi_read_have_a_bound() -> None:
    """A small request can ask for one large node again and again."""
    client = World(ServerSettings(multi_read_bytes_max=Bytes(10_000))).client()
    client.ask(Create("/a", b"x" * 5_000))
    assert type(client.ask(MultiRead((GetData("/a"),) * 2))) is Results
    assert client.ask(MultiRead((GetData("/a"),) * 100)) is KeeperCode.MARSHALLINGERROR
    assert type(client.ask(GetData("/a"))) is Data
