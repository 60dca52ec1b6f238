"""Writes as clients see them: what follows, and the error for what does not."""

import pytest

from odradek.zookeeper.protocol.codes import CreateMode, KeeperCode
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_replies import (
    Checked,
    Created,
    Created2,
    Data,
    Deleted,
    Done,
    Failed,
    Results,
    StatReply,
)
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Exists,
    GetData,
    Multi,
    Request,
    SetAcl,
    SetData,
)
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.server.writes import TreeLimits
from odradek.zookeeper.tree.tree import VERSION_MAX
from tests.samples.zookeeper import Client, World


def stat(client: Client, path: str) -> StatReply:
    """A node's stat."""
    reply = client.ask(Exists(path))
    assert isinstance(reply, StatReply)
    return reply


def test_a_node_keeps_what_it_was_given() -> None:
    """A new node has version 0, and the number and time of the transaction that made it."""
    world = World()
    client = world.client()
    assert client.ask(Create("/a", b"1")) == Created("/a")
    reply = client.ask(GetData("/a"))
    assert isinstance(reply, Data)
    data, found = reply
    assert (data, found.data_length, found.version, found.cversion) == (b"1", 1, 0, 0)
    assert found.czxid == found.mzxid == found.pzxid == client.replies[0][1]
    assert found.ctime == found.mtime == world.wall


def test_no_data_is_not_empty_data() -> None:
    """Kafka makes nodes with null: they read as null, and nodes with no bytes as no bytes."""
    client = World().client()
    client.send(Create("/null", None), Create("/empty", b""))
    null, empty = client.ask(GetData("/null")), client.ask(GetData("/empty"))
    assert isinstance(null, Data)
    assert isinstance(empty, Data)
    assert (null.data, empty.data) == (None, b"")


def test_a_write_counts_versions_and_moves_the_time() -> None:
    """SetData raises version, mzxid and mtime, and leaves what belongs to creation alone."""
    world = World()
    client = world.client()
    before = client.ask(Create2("/a", b"1"))
    world.wait(5)
    after = client.ask(SetData("/a", b"22", 0))
    assert isinstance(before, Created2)
    assert isinstance(after, StatReply)
    assert after.stat == before.stat._replace(
        mzxid=before.stat.czxid + 1, mtime=before.stat.mtime + 5, version=1, data_length=2
    )


def test_a_wrong_version_changes_nothing() -> None:
    """Whoever names a version that is not there has lost the race, and is told so."""
    client = World().client()
    client.ask(Create("/a", b"1"))
    assert client.ask(SetData("/a", b"2", 7)) is KeeperCode.BADVERSION
    assert client.ask(Delete("/a", 7)) is KeeperCode.BADVERSION
    assert client.ask(SetAcl("/a", OPEN_ACL, 7)) is KeeperCode.BADVERSION
    assert stat(client, "/a").stat.version == 0


def test_what_is_not_there() -> None:
    """Nothing can be written, deleted or guarded that is not there, or created below it."""
    client = World().client()
    for request in (
        SetData("/x", b""),
        Delete("/x"),
        SetAcl("/x", OPEN_ACL),
        Create("/x/y", b""),
    ):
        assert client.ask(request) is KeeperCode.NONODE


def test_a_node_cannot_be_made_twice_nor_deleted_with_children() -> None:
    """A name is taken until it is free; a parent stays until its children are gone."""
    client = World().client()
    client.send(Create("/a", b""), Create("/a/b", b""))
    assert client.ask(Create("/a", b"")) is KeeperCode.NODEEXISTS
    assert client.ask(Delete("/a")) is KeeperCode.NOTEMPTY
    assert client.ask(Delete("/a/b")) == Done()
    assert client.ask(Delete("/a")) == Done()
    assert client.ask(Exists("/a")) is KeeperCode.NONODE


def test_a_parent_counts_its_children_coming_and_going() -> None:
    """Cversion counts both, pzxid is the last of both; data's version and mzxid stand still."""
    client = World().client()
    client.send(Create("/a", b""), Create("/a/b", b""), Create("/a/c", b""), Delete("/a/b"))
    found = stat(client, "/a").stat
    assert (found.cversion, found.num_children, found.version) == (3, 1, 0)
    assert found.pzxid == client.replies[3][1]
    assert found.mzxid == client.replies[0][1]


def test_sequence_numbers_count_creations_and_never_come_back() -> None:
    """Ten digits behind the name, from a count that deletions do not lower."""
    client = World().client()
    client.ask(Create("/q", b""))
    mode = CreateMode.PERSISTENT_SEQUENTIAL
    assert client.ask(Create("/q/n-", b"", OPEN_ACL, mode)) == Created("/q/n-0000000000")
    client.ask(Delete("/q/n-0000000000"))
    assert client.ask(Create("/q/n-", b"", OPEN_ACL, mode)) == Created("/q/n-0000000001")
    assert client.ask(Create("/q/", b"", OPEN_ACL, mode)) == Created("/q/0000000002")


def test_sequence_numbers_begin_anew_below_nothing() -> None:
    """As in ZooKeeper: behind the largest comes the smallest, and the server lives on."""
    world = World()
    nodes = world.server.database.tree.nodes
    nodes["/"] = nodes["/"]._replace(creations=VERSION_MAX)
    client, mode = world.client(), CreateMode.PERSISTENT_SEQUENTIAL
    assert client.ask(Create("/n", b"", OPEN_ACL, mode)) == Created("/n2147483647")
    assert client.ask(Create("/n", b"", OPEN_ACL, mode)) == Created("/n-2147483648")
    again = world.restart_from_snapshot().client()
    assert again.ask(Create("/n", b"", OPEN_ACL, mode)) == Created("/n-2147483647")


def test_an_ephemeral_node_has_an_owner_and_no_children() -> None:
    """It belongs to the session that made it; below it nothing may be."""
    client = World().client()
    client.ask(Create("/e", b"", OPEN_ACL, CreateMode.EPHEMERAL))
    assert stat(client, "/e").stat.ephemeral_owner == client.session_id
    assert client.ask(Create("/e/x", b"")) is KeeperCode.NOCHILDRENFOREPHEMERALS


def test_containers_and_ttls_do_not_show_as_owned() -> None:
    """Their marks stay inside: a client that looks for owners finds none."""
    client = World().client()
    client.send(CreateContainer("/c", b""), CreateTtl("/t", b"", OPEN_ACL, 5, 1_000))
    assert stat(client, "/c").stat.ephemeral_owner == 0
    assert stat(client, "/t").stat.ephemeral_owner == 0


@pytest.mark.parametrize(
    "request_",
    [
        Create("relative", b""),
        Create("//b", b""),
        Create("/..", b""),
        Create("/a\0", b""),
        Create("/\x01", b""),
        Create("/a", b"", OPEN_ACL, 99),
        Create("/a", b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL),
        CreateTtl("/a", b"", OPEN_ACL, CreateMode.PERSISTENT, 5),
        CreateTtl("/a", b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL, 0),
        CreateTtl("/a", b"", OPEN_ACL, CreateMode.PERSISTENT_WITH_TTL, 1 << 41),
        SetData("no-slash", b""),
        SetData("/a/", b""),
        Delete("/"),
        Delete("/zookeeper"),
        Delete("/zookeeper/quota"),
        Delete("/zookeeper/config"),
        Delete(""),
        Exists("/a\0"),
        SetAcl("/a/", (Acl(31, Identity("nobody", "x")),)),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(request_: Request) -> None:
    """Illegal paths, modes and times; and the system's own nodes are not for deletion."""
    assert World().client().ask(request_) is KeeperCode.BADARGUMENTS


@pytest.mark.parametrize(
    "acl",
    [(), (Acl(31, Identity("nobody", "x")),), (Acl(31, Identity("digest", "no-colon")),)],
    ids=str,
)
def test_an_acl_that_names_nobody_is_refused(acl: tuple[Acl, ...]) -> None:
    """A node that nobody could ever read is a mistake, and is told at once."""
    client = World().client()
    assert client.ask(Create("/a", b"", acl)) is KeeperCode.INVALIDACL


def test_a_multi_happens_as_one() -> None:
    """All its results come together, from one transaction, each having seen those before it."""
    client = World().client()
    reply = client.ask(
        Multi(
            (
                Create("/a", b"1"),
                Check("/a", 0),
                SetData("/a", b"2", 0),
                Create2("/a/b", b""),
                Delete("/a/b"),
            )
        )
    )
    assert isinstance(reply, Results)
    created, checked, written, created2, deleted = reply.results
    assert (created, checked, deleted) == (Created("/a"), Checked(), Deleted())
    assert isinstance(written, StatReply)
    assert isinstance(created2, Created2)
    assert written.stat.czxid == written.stat.mzxid == created2.stat.czxid


def test_each_write_of_a_multi_is_in_the_journal() -> None:
    """Those of data alone, which are decided quickly, like all others."""
    world = World()
    client = world.client()
    client.send(Create("/a", b"1"), Create("/b", b"1"), Create("/c", b"1"))
    client.ask(Multi((SetData("/a", b"2", 0), SetData("/b", b"3", 0), SetData("/c", b"4", 0))))
    again = world.restart().client()
    found = [again.ask(GetData(path)) for path in ("/a", "/b", "/c")]
    assert [it.data for it in found if isinstance(it, Data)] == [b"2", b"3", b"4"]


def test_a_multi_that_fails_leaves_nothing_behind() -> None:
    """The results say what would have been, what failed, and what was not tried; no more."""
    world = World()
    client = world.client()
    client.send(Create("/a", b"1"), Create("/a/x", b""))
    before = client.ask(GetData("/a")), world.server.database.state(), len(world.journal)
    reply = client.ask(
        Multi(
            (
                SetData("/a", b"2"),
                Delete("/a/x"),
                Create("/a/y", b""),
                Check("/a", 7),
                Delete("/a"),
            )
        )
    )
    assert reply == Results([Failed(0), Failed(0), Failed(0), Failed(-103), Failed(-2)])
    assert (
        client.ask(GetData("/a")),
        world.server.database.state(),
        len(world.journal),
    ) == before
    assert stat(client, "/a/x").stat.version == 0


def test_a_multi_of_checks_is_no_transaction() -> None:
    """Nothing changed, so nothing is written down."""
    world = World()
    client = world.client()
    client.ask(Create("/a", b"1"))
    entries = len(world.journal)
    assert client.ask(Multi((Check("/a", 0),))) == Results([Checked()])
    assert len(world.journal) == entries


def test_the_memory_has_bounds() -> None:
    """Neither nodes nor bytes grow without end; what is there can still be written and deleted."""
    limits = TreeLimits(nodes_max=6, bytes_max=300)  # type: ignore[arg-type] # a small number
    client = World(ServerSettings(tree=limits)).client()
    client.send(Create("/a", b""), Create("/b", b"x" * 100))
    assert client.ask(Create("/c", b"")) is KeeperCode.QUOTAEXCEEDED
    assert client.ask(SetData("/a", b"x" * 300)) is KeeperCode.QUOTAEXCEEDED
    assert client.ask(Delete("/b")) == Done()
    assert client.ask(Create("/c", b"")) == Created("/c")


def test_a_new_server_has_its_system_nodes() -> None:
    """Clients and tools expect them, and one of them is read-only."""
    client = World().client()
    for path in ("/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
        assert stat(client, path).stat.czxid == 0
    assert client.ask(SetData("/zookeeper/config", b"x")) is KeeperCode.NOAUTH
