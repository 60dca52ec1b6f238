"""Watches: who hears of what, how often, and in which place among the answers."""

import pytest

from odradek.zookeeper.protocol.codes import AddWatchMode, CreateMode, KeeperCode, WatcherType
from odradek.zookeeper.protocol.codes import EventType as Kind
from odradek.zookeeper.protocol.jute import OPEN_ACL, Acl, Identity
from odradek.zookeeper.protocol.jute_replies import Data, Done, Event
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    CheckWatches,
    CloseSession,
    Connect,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    RemoveWatches,
    Request,
    SetData,
    SetWatches,
    SetWatches2,
)
from tests.samples.zookeeper import Client, World


def pair() -> tuple[Client, Client]:
    """One who watches and one who acts."""
    world = World()
    return world.client(), world.client()


def heard(client: Client) -> list[tuple[int, str]]:
    """Kinds and paths of the events so far, which are then forgotten."""
    events = [(event.kind, event.path) for event in client.events]
    client.events.clear()
    return events


def test_a_watch_fires_once() -> None:
    """The second write is not heard of: a watch is armed anew by the next read."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.ask(GetData("/a", watch=True))
    actor.send(SetData("/a", b"1"), SetData("/a", b"2"))
    assert heard(watcher) == [(Kind.NODE_DATA_CHANGED, "/a")]


def test_exists_watches_what_is_not_there_yet() -> None:
    """NONODE arms the watch all the same; getData and getChildren do not."""
    watcher, actor = pair()
    assert watcher.ask(Exists("/a", watch=True)) is KeeperCode.NONODE
    assert watcher.ask(GetData("/b", watch=True)) is KeeperCode.NONODE
    actor.send(Create("/a", b""), Create("/b", b""))
    assert heard(watcher) == [(Kind.NODE_CREATED, "/a")]


def test_children_are_watched_at_their_parent() -> None:
    """A child that comes or goes is heard of; its data is not."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    for act in (Create("/a/x", b""), Delete("/a/x")):
        watcher.ask(GetChildren("/a", watch=True))
        actor.ask(act)
        assert heard(watcher) == [(Kind.NODE_CHILDREN_CHANGED, "/a")]
    actor.ask(Create("/a/x", b""))
    watcher.ask(GetChildren("/a", watch=True))
    actor.ask(SetData("/a/x", b"1"))
    assert heard(watcher) == []


def test_a_deletion_is_heard_of_once_by_each() -> None:
    """Who watches both data and children of a node hears once that it is gone."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.send(GetData("/a", watch=True), GetChildren("/a", watch=True))
    watcher.ask(GetChildren("/", watch=True))
    actor.ask(Delete("/a"))
    assert heard(watcher) == [(Kind.NODE_DELETED, "/a"), (Kind.NODE_CHILDREN_CHANGED, "/")]


def test_a_persistent_watch_stays() -> None:
    """It hears of the node and of its list of children again and again, of nothing further down."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.ask(AddWatch("/a", AddWatchMode.PERSISTENT))
    actor.send(SetData("/a", b"1"), SetData("/a", b"2"), Create("/a/x", b""), SetData("/a/x", b"1"))
    assert heard(watcher) == [
        (Kind.NODE_DATA_CHANGED, "/a"),
        (Kind.NODE_DATA_CHANGED, "/a"),
        (Kind.NODE_CHILDREN_CHANGED, "/a"),
    ]


def test_a_recursive_watch_hears_of_everything_below() -> None:
    """Creations, writes and deletions at any depth, and no lists of children."""
    watcher, actor = pair()
    watcher.ask(AddWatch("/a", AddWatchMode.PERSISTENT_RECURSIVE))
    actor.send(
        Create("/a", b""), Create("/a/b", b""), Create("/a/b/c", b""), SetData("/a/b/c", b"1")
    )
    actor.send(Delete("/a/b/c"), Create("/other", b""))
    assert heard(watcher) == [
        (Kind.NODE_CREATED, "/a"),
        (Kind.NODE_CREATED, "/a/b"),
        (Kind.NODE_CREATED, "/a/b/c"),
        (Kind.NODE_DATA_CHANGED, "/a/b/c"),
        (Kind.NODE_DELETED, "/a/b/c"),
    ]


def test_watches_of_several_modes_do_not_get_in_each_others_way() -> None:
    """A standard watch beside a persistent one: one event for both, and the latter stays."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.ask(AddWatch("/a", AddWatchMode.PERSISTENT_RECURSIVE))
    watcher.ask(GetData("/a", watch=True))
    actor.send(SetData("/a", b"1"), SetData("/a", b"2"))
    assert heard(watcher) == [(Kind.NODE_DATA_CHANGED, "/a")] * 2
    watcher.ask(AddWatch("/a", AddWatchMode.PERSISTENT))
    assert watcher.ask(RemoveWatches("/a", WatcherType.PERSISTENT_RECURSIVE)) == Done()
    actor.ask(SetData("/a", b"3"))
    assert heard(watcher) == [(Kind.NODE_DATA_CHANGED, "/a")]


@pytest.mark.parametrize("kind", list(WatcherType))
def test_watches_are_removed_by_kind(kind: WatcherType) -> None:
    """What is removed is silent; what is not there is NOWATCHER, asked or removed."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    assert watcher.ask(CheckWatches("/a", kind)) is KeeperCode.NOWATCHER
    assert watcher.ask(RemoveWatches("/a", kind)) is KeeperCode.NOWATCHER
    arm: dict[int, Request] = {
        WatcherType.CHILDREN: GetChildren("/a", watch=True),
        WatcherType.DATA: GetData("/a", watch=True),
        WatcherType.ANY: GetData("/a", watch=True),
        WatcherType.PERSISTENT: AddWatch("/a", AddWatchMode.PERSISTENT),
        WatcherType.PERSISTENT_RECURSIVE: AddWatch("/a", AddWatchMode.PERSISTENT_RECURSIVE),
    }
    watcher.ask(arm[kind])
    assert watcher.ask(CheckWatches("/a", kind)) == Done()
    assert watcher.ask(RemoveWatches("/a", kind)) == Done()
    actor.send(SetData("/a", b"1"), Create("/a/x", b""))
    assert heard(watcher) == []
    assert watcher.world.server.watches.count() == 0


@pytest.mark.parametrize(
    "request_", [AddWatch("/a", 2), RemoveWatches("/a", 0), CheckWatches("/a", 6)], ids=str
)
def test_a_watch_of_no_kind_cannot_be_read(request_: Request) -> None:
    """A real server answers so too: the number stands for nothing, so the packet means nothing."""
    client = World().client()
    client.ask(Create("/a", b""))
    assert client.ask(request_) is KeeperCode.MARSHALLINGERROR


def test_an_event_is_ahead_of_the_answer_that_shows_it() -> None:
    """Whoever reads the new data has heard before that it changed."""
    watcher, actor = pair()
    watcher.world.slow = True
    actor.send(Create("/a", b"1"))
    watcher.send(GetData("/a", watch=True))
    actor.send(SetData("/a", b"2"))
    watcher.send(GetData("/a"))
    assert watcher.order == []
    watcher.world.catch_up()
    assert watcher.order == ["reply", "event", "reply"]
    first, second = watcher.answers()
    assert isinstance(first, Data)
    assert isinstance(second, Data)
    assert (first.data, second.data) == (b"1", b"2")


def test_ones_own_write_fires_ones_own_watch_first() -> None:
    """The event of a write is ahead of the write's own answer."""
    client = World().client()
    client.ask(Create("/a", b""))
    client.ask(GetData("/a", watch=True))
    client.ask(SetData("/a", b"1"))
    assert client.order == ["reply", "reply", "event", "reply"]


def test_a_multi_is_heard_of_change_by_change() -> None:
    """All its events come, in its order; one that failed is heard of by nobody."""
    watcher, actor = pair()
    watcher.ask(AddWatch("/", AddWatchMode.PERSISTENT_RECURSIVE))
    actor.ask(Multi((Create("/a", b""), Delete("/missing"))))
    assert heard(watcher) == []
    actor.ask(Multi((Create("/a", b""), SetData("/a", b"1"), Delete("/a"))))
    assert heard(watcher) == [
        (Kind.NODE_CREATED, "/a"),
        (Kind.NODE_DATA_CHANGED, "/a"),
        (Kind.NODE_DELETED, "/a"),
    ]


def test_an_ephemeral_node_that_goes_is_heard_of() -> None:
    """Its session closed: one transaction, and who watches hears."""
    watcher, actor = pair()
    actor.ask(Create("/e", b"", OPEN_ACL, CreateMode.EPHEMERAL))
    watcher.ask(Exists("/e", watch=True))
    actor.send(CloseSession())
    assert heard(watcher) == [(Kind.NODE_DELETED, "/e")]


def test_watches_go_with_their_connection() -> None:
    """A session that comes back arms its watches anew; until then it hears nothing."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.ask(GetData("/a", watch=True))
    watcher.leave()
    assert watcher.world.server.watches.count() == 0
    actor.ask(SetData("/a", b"1"))
    assert watcher.events == []


def test_what_was_missed_is_heard_at_once() -> None:
    """SetWatches compares with the last transaction that the client saw."""
    world = World()
    watcher, actor = world.client(), world.client()
    actor.send(*(Create(path, b"") for path in ("/same", "/written", "/gone", "/parent")))
    seen = actor.replies[-1][1]
    watcher.leave()
    actor.send(SetData("/written", b"1"), Delete("/gone"), Create("/parent/x", b""))
    actor.send(Create("/come", b""))
    again = world.client(greets=False)
    connected = watcher.connected
    assert connected is not None
    again.greet(Connect(seen, 10_000, watcher.session_id, connected.password))
    again.ask(
        SetWatches(
            seen, ["/same", "/written", "/gone"], ["/come", "/not-yet"], ["/parent", "/same"]
        )
    )
    assert heard(again) == [
        (Kind.NODE_DATA_CHANGED, "/written"),
        (Kind.NODE_DELETED, "/gone"),
        (Kind.NODE_CREATED, "/come"),
        (Kind.NODE_CHILDREN_CHANGED, "/parent"),
    ]
    assert again.order[-1] == "reply"
    actor.send(SetData("/same", b""), Create("/same/x", b""), Create("/not-yet", b""))
    assert heard(again) == [
        (Kind.NODE_DATA_CHANGED, "/same"),
        (Kind.NODE_CHILDREN_CHANGED, "/same"),
        (Kind.NODE_CREATED, "/not-yet"),
    ]


def test_an_event_says_which_transaction_it_was() -> None:
    """As since 3.9; of what was missed nobody knows any more."""
    watcher, actor = pair()
    actor.ask(Create("/a", b""))
    watcher.ask(GetData("/a", watch=True))
    actor.ask(SetData("/a", b"1"))
    written = actor.replies[-1][1]
    assert watcher.event_zxids == [written]
    watcher.ask(SetWatches(written - 1, ["/a"], [], []))
    assert watcher.event_zxids == [written, -1]


def test_persistent_watches_are_armed_anew() -> None:
    """The second form of setWatches carries them."""
    watcher, actor = pair()
    watcher.ask(SetWatches2(0, [], [], [], ["/p"], ["/r"]))
    actor.send(Create("/p", b""), Create("/r", b""), Create("/r/x", b""), Create("/p/x", b""))
    assert heard(watcher) == [
        (Kind.NODE_CREATED, "/p"),
        (Kind.NODE_CREATED, "/r"),
        (Kind.NODE_CREATED, "/r/x"),
        (Kind.NODE_CHILDREN_CHANGED, "/p"),
    ]


def test_events_tell_nothing_that_may_not_be_read() -> None:
    """A recursive watch does not see into nodes that its owner could not read."""
    watcher, actor = pair()
    watcher.ask(AddWatch("/", AddWatchMode.PERSISTENT_RECURSIVE))
    private = (Acl(31, Identity("auth", "")),)
    actor.send(Auth("digest", b"anna:secret"), Create("/secret", b"", private))
    actor.ask(Create("/open", b""))
    assert watcher.events == [Event(Kind.NODE_CREATED, "/open")]
