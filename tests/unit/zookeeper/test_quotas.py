"""Quotas in ZooKeeper's own nodes: counted by the server, enforced where they are hard."""

from odradek.zookeeper.protocol.codes import KeeperCode
from odradek.zookeeper.protocol.jute_replies import Created, Data, Results
from odradek.zookeeper.protocol.jute_requests import Create, Delete, GetData, Multi, SetData
from tests.samples.zookeeper import Client, World

LIMITS = b"count=-1,bytes=-1=;byteHardLimit=100;countHardLimit=3"


def limited() -> Client:
    """A client of a server where `/a` may have three nodes and a hundred bytes."""
    client = World().client()
    client.send(
        Create("/a", b"12345"),
        Create("/zookeeper/quota/a", b""),
        Create("/zookeeper/quota/a/zookeeper_limits", LIMITS),
        Create("/zookeeper/quota/a/zookeeper_stats", b"count=0,bytes=0"),
    )
    return client


def used(client: Client) -> bytes | None:
    """What the server counted."""
    reply = client.ask(GetData("/zookeeper/quota/a/zookeeper_stats"))
    assert isinstance(reply, Data)
    return reply.data


def test_the_server_counts() -> None:
    """From what is there when the quota is made, and with every change after that."""
    client = limited()
    assert used(client) == b"count=1,bytes=5"
    client.send(Create("/a/x", b"123"), SetData("/a/x", b"1"), Create("/b", b"not counted"))
    assert used(client) == b"count=2,bytes=6"
    client.ask(Delete("/a/x"))
    assert used(client) == b"count=1,bytes=5"


def test_a_hard_limit_holds() -> None:
    """For nodes and for bytes; making it smaller is always allowed."""
    client = limited()
    assert client.ask(SetData("/a", b"x" * 101)) is KeeperCode.QUOTAEXCEEDED
    client.send(Create("/a/x", b""), Create("/a/y", b""))
    assert client.ask(Create("/a/z", b"")) is KeeperCode.QUOTAEXCEEDED
    client.send(SetData("/a", b"x" * 100), SetData("/a", b"x" * 50), Delete("/a/x"))
    assert client.ask(Create("/a/z", b"")) == Created("/a/z")


def test_a_soft_limit_is_for_people_to_look_at() -> None:
    """It is exceeded without an error, as in ZooKeeper."""
    client = limited()
    client.ask(SetData("/zookeeper/quota/a/zookeeper_limits", b"count=1,bytes=1"))
    assert client.ask(Create("/a/x", b"123")) == Created("/a/x")


def test_a_multi_that_fails_is_not_counted() -> None:
    """What is undone is undone in the stats too."""
    client = limited()
    reply = client.ask(Multi((Create("/a/x", b"1"), Create("/a/x", b"1"))))
    assert isinstance(reply, Results)
    assert used(client) == b"count=1,bytes=5"


def test_without_its_limits_there_is_no_quota() -> None:
    """Deleting the node of the limits lifts them, over a restart too."""
    client = limited()
    assert client.world.restart_from_snapshot().server.database.tree.quotas == {"/a": None}
    client.ask(Delete("/zookeeper/quota/a/zookeeper_limits"))
    assert client.world.restart().server.database.tree.quotas == {}
    assert client.ask(SetData("/a", b"x" * 1_000)) is not KeeperCode.QUOTAEXCEEDED
