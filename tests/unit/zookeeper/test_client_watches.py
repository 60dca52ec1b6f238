"""Which events are owed to the owner, and which watches a new connection needs."""

import pytest

from odradek.zookeeper.client.errors import ERRORS, OperationError, error_of
from odradek.zookeeper.client.watches import SET_WATCHES_CHARACTERS_MAX, WatchBook
from odradek.zookeeper.protocol.codes import AddWatchMode, EventType, KeeperCode, WatcherType
from odradek.zookeeper.protocol.jute import PACKET_BYTES_MAX
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Exists,
    GetChildren,
    GetChildren2,
    GetData,
    RemoveWatches,
    Request,
    SetWatches,
    SetWatches2,
    framed_request,
)

CREATED = EventType.NODE_CREATED
DELETED = EventType.NODE_DELETED
CHANGED = EventType.NODE_DATA_CHANGED
CHILDREN = EventType.NODE_CHILDREN_CHANGED
RECURSIVE = AddWatch("/r", AddWatchMode.PERSISTENT_RECURSIVE)
PERSISTENT = AddWatch("/p", AddWatchMode.PERSISTENT)


def book(*requests: Request, error: int = 0) -> WatchBook:
    """After these were answered."""
    watches = WatchBook()
    for request in requests:
        watches.answered(request, error)
    return watches


@pytest.mark.parametrize(
    ("request_", "fire", "spare"),
    [
        (GetData("/a", watch=True), {CHANGED, DELETED}, {CHILDREN}),
        (Exists("/a", watch=True), {CREATED, CHANGED, DELETED}, {CHILDREN}),
        (GetChildren("/a", watch=True), {CHILDREN, DELETED}, {CREATED, CHANGED}),
        (GetChildren2("/a", watch=True), {CHILDREN, DELETED}, {CREATED, CHANGED}),
    ],
)
def test_a_read_arms_one_event(
    request_: Request, fire: set[EventType], spare: set[EventType]
) -> None:
    """One of the right kind and on the right path; a second one is nobody's business."""
    for kind in sorted(fire):
        watches = book(request_)
        assert not any(watches.fires(other, "/a") for other in sorted(spare))
        assert not watches.fires(kind, "/b")
        assert watches.fires(kind, "/a")
        assert not watches.fires(kind, "/a")
        assert not list(watches.rearming(1))


def test_a_read_without_the_wish_arms_nothing() -> None:
    """Nor does one that failed: the server has no watch then either."""
    assert not list(book(GetData("/a"), Exists("/a"), GetChildren2("/a")).rearming(1))
    failed = book(GetData("/a", watch=True), GetChildren2("/a", watch=True), PERSISTENT, error=-101)
    assert not list(failed.rearming(1))


def test_a_node_that_is_not_there_can_be_awaited() -> None:
    """An answer that there is none still arms; on a new connection it says that there was none."""
    watches = book(Exists("/a", watch=True), error=KeeperCode.NONODE)
    assert list(watches.rearming(5)) == [SetWatches(5, [], ["/a"], [])]
    assert watches.fires(CREATED, "/a")


def test_a_persistent_watch_stays() -> None:
    """It sees all that happens to one node, as often as it happens."""
    watches = book(PERSISTENT)
    for kind in (CREATED, CHANGED, CHILDREN, DELETED, CREATED):
        assert watches.fires(kind, "/p")
        assert not watches.fires(kind, "/p/child")


def test_a_recursive_watch_sees_all_below_but_no_lists() -> None:
    """A list of children is told only where somebody asked for that list."""
    watches = book(RECURSIVE)
    for kind in (CREATED, CHANGED, DELETED):
        assert watches.fires(kind, "/r")
        assert watches.fires(kind, "/r/a/b/c")
        assert not watches.fires(kind, "/rest")
        assert not watches.fires(kind, "/")
    assert not watches.fires(CHILDREN, "/r/a")
    watches.answered(GetChildren2("/r/a", watch=True), 0)
    assert watches.fires(CHILDREN, "/r/a")


def test_a_watch_on_the_root_sees_everything() -> None:
    """The root is above every path, and its own child is one of them."""
    watches = book(AddWatch("/", AddWatchMode.PERSISTENT_RECURSIVE))
    assert watches.fires(CREATED, "/a/b")
    assert watches.fires(CHANGED, "/")


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (WatcherType.DATA, SetWatches2(1, [], [], ["/p"], ["/p"], ["/p"])),
        (WatcherType.CHILDREN, SetWatches2(1, ["/p"], ["/p"], [], ["/p"], ["/p"])),
        (WatcherType.PERSISTENT, SetWatches2(1, ["/p"], ["/p"], ["/p"], [], ["/p"])),
        (WatcherType.PERSISTENT_RECURSIVE, SetWatches2(1, ["/p"], ["/p"], ["/p"], ["/p"], [])),
        (WatcherType.ANY, None),
    ],
)
def test_watches_are_removed_by_kind(kind: WatcherType, left: SetWatches2 | None) -> None:
    """Once the server has done so; a refusal changes nothing."""
    watches = book(
        GetData("/p", watch=True),
        GetChildren2("/p", watch=True),
        PERSISTENT,
        AddWatch("/p", AddWatchMode.PERSISTENT_RECURSIVE),
    )
    watches.answered(Exists("/p", watch=True), KeeperCode.NONODE)
    before = list(watches.rearming(1))
    watches.answered(RemoveWatches("/p", kind), KeeperCode.NOWATCHER)
    assert list(watches.rearming(1)) == before
    watches.answered(RemoveWatches("/p", kind), 0)
    assert list(watches.rearming(1)) == ([] if left is None else [left])


def test_old_servers_are_asked_in_the_old_way() -> None:
    """Only who uses the new watches needs the request that servers before 3.6 do not know."""
    one_shot = book(GetData("/a", watch=True), GetChildren2("/b", watch=True))
    assert list(one_shot.rearming(7)) == [SetWatches(7, ["/a"], [], ["/b"])]
    one_shot.answered(RECURSIVE, 0)
    assert list(one_shot.rearming(7)) == [SetWatches2(7, ["/a"], [], ["/b"], [], ["/r"])]


def test_very_many_watches_are_armed_in_several_requests() -> None:
    """Each fits into a packet, whatever the length of the paths; none is left out or repeated."""
    paths = [f"/{i:05d}-{'ä' * (i % 90)}" for i in range(5_000)]
    watches = book(*[GetData(path, watch=True) for path in paths])
    requests = list(watches.rearming(7))
    assert len(requests) > sum(map(len, paths)) // SET_WATCHES_CHARACTERS_MAX
    assert all(len(framed_request(-8, request)) <= PACKET_BYTES_MAX for request in requests)
    armed = [path for r in requests if isinstance(r, SetWatches) for path in r.data]
    assert armed == paths


def test_a_session_that_is_over_has_no_watches() -> None:
    """The next one begins without."""
    watches = book(GetData("/a", watch=True), PERSISTENT, RECURSIVE)
    watches.forget()
    assert not list(watches.rearming(1))
    assert not watches.fires(CHANGED, "/r")


def test_every_code_has_its_error() -> None:
    """So that callers can catch what they mean; each has a sentence for people."""
    assert set(ERRORS) == set(KeeperCode) - {KeeperCode.OK}
    for code, error in ERRORS.items():
        made = error_of(code, "GET_DATA /a")
        assert type(made) is error
        assert made.keeper_code == code
        assert error.__doc__
    assert len({error.__doc__ for error in ERRORS.values()}) == len(ERRORS)
    assert all(issubclass(error, OperationError) for error in ERRORS.values())
