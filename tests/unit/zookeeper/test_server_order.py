"""Durable before told, and in order: what a client may rely on, whatever the disk does."""

from odradek.zookeeper.protocol.codes import KeeperCode
from odradek.zookeeper.protocol.jute_replies import Created, Data, Done
from odradek.zookeeper.protocol.jute_requests import (
    Create,
    Delete,
    Exists,
    GetData,
    Multi,
    Ping,
    SetData,
)
from tests.samples.zookeeper import World


def test_nothing_is_answered_before_it_is_durable() -> None:
    """Neither the write, nor a read of what it wrote by somebody else."""
    world = World()
    writer, reader = world.client(), world.client()
    world.slow = True
    writer.send(Create("/a", b"1"))
    reader.send(GetData("/a"))
    assert writer.replies == reader.replies == []
    world.catch_up()
    assert writer.answers() == [Created("/a")]
    assert isinstance(reader.answers()[0], Data)


def test_what_was_answered_is_there_after_a_restart() -> None:
    """And what was not answered may be lost, without a trace."""
    world = World()
    client = world.client()
    client.ask(Create("/kept", b""))
    world.slow = True
    client.send(Create("/lost", b""))
    after = world.restart(lost=1).client()
    assert after.ask(Exists("/kept")) is not KeeperCode.NONODE
    assert after.ask(Exists("/lost")) is KeeperCode.NONODE


def test_answers_keep_the_order_of_the_requests() -> None:
    """A read behind a write waits for it, however quick it was."""
    world = World()
    client = world.client()
    client.ask(Create("/a", b"1"))
    world.slow = True
    client.send(SetData("/a", b"2"), GetData("/a"), Ping(), Create("/a", b""), Delete("/a"))
    assert len(client.replies) == 1
    world.catch_up()
    _, _, read, ping, error, deleted = client.answers()
    assert isinstance(read, Data)
    assert (read.data, ping, error, deleted) == (b"2", Done(), KeeperCode.NODEEXISTS, Done())
    xids = [xid for xid, *_ in client.replies]
    assert xids == sorted(xids)


def test_some_of_it_may_become_durable_first() -> None:
    """A commit that ends in the middle lets out exactly what it made durable."""
    world = World()
    one, two = world.client(), world.client()
    world.slow = True
    one.send(Create("/a", b""))
    two.send(Create("/b", b""))
    world.server.durable(world.journal[-2].zxid, world.moment)
    world.settle()
    assert (one.answers(), two.answers()) == ([Created("/a")], [])


def test_a_reader_of_nothing_new_does_not_wait() -> None:
    """While nothing is on its way to the disk, a read is answered at once."""
    world = World()
    client = world.client()
    client.ask(Create("/a", b"1"))
    world.slow = True
    client.send(GetData("/a"), Exists("/x"))
    assert len(client.replies) == 3


def test_numbers_of_transactions_rise_by_one_and_failures_take_none() -> None:
    """The journal has no gaps, so that a missing entry is found."""
    world = World()
    client = world.client()
    client.send(Create("/a", b""), Create("/a", b""), SetData("/x", b""), Create("/b", b""))
    client.send(Multi((Create("/c", b""), Create("/c", b""))), Multi((Create("/d", b""),)))
    assert [entry.zxid for entry in world.journal] == [1, 2, 3, 4]


def test_a_restart_is_the_same_state() -> None:
    """Replaying the journal and reading a snapshot both give what was there."""
    world = World()
    client = world.client()
    client.send(Create("/a", b"1"), Create("/a/b", None), SetData("/a", b"2"), Delete("/a/b"))
    client.send(Multi((Create("/m", b""), SetData("/m", b"x"))))
    state = world.server.database.state()
    assert world.restart().server.database.state() == state
    assert world.restart_from_snapshot().server.database.state() == state


def test_a_connection_that_broke_does_not_take_its_write_back() -> None:
    """The outcome is unknown to the client; here it happened."""
    world = World()
    client = world.client()
    world.slow = True
    client.send(Create("/a", b""))
    client.leave()
    world.slow = False
    world.catch_up()
    assert world.client().ask(Exists("/a")) is not KeeperCode.NONODE
