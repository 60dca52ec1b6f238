"""Which watches this session has, so that a new connection can have them too.

The server forgets a connection's watches with the connection. The book holds what was armed, by
the server's paths: it decides which event is still owed to the owner, forgets one-shot watches as
they fire, and writes the requests that arm the rest anew. A read arms its watch with its answer,
not before: until then the server had not.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from odradek.zookeeper.protocol.codes import AddWatchMode, EventType, KeeperCode, WatcherType
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
)
from odradek.zookeeper.protocol.paths import parent_of

SET_WATCHES_CHARACTERS_MAX: Final = 128 << 10  # of paths in one request; a packet holds more


class Kind(Enum):
    """What a watch looks at. The order is that of the lists in `SetWatches2`."""

    DATA = "data of a node that is there"
    EXIST = "a node that is not there yet"
    CHILD = "the list of children"
    PERSISTENT = "all of one node, until it is removed"
    RECURSIVE = "all of a node and of those below it, until it is removed"


_FIRES: Final[Mapping[int, tuple[Kind, ...]]] = {
    EventType.NODE_CREATED: (Kind.DATA, Kind.EXIST),
    EventType.NODE_DATA_CHANGED: (Kind.DATA, Kind.EXIST),
    EventType.NODE_CHILDREN_CHANGED: (Kind.CHILD,),
    EventType.NODE_DELETED: (Kind.DATA, Kind.EXIST, Kind.CHILD),
}
WATCHING: Final = frozenset({GetData, Exists, GetChildren, GetChildren2, AddWatch, RemoveWatches})
"""The requests that can arm or remove a watch."""

_REMOVES: Final[Mapping[int, tuple[Kind, ...]]] = {
    WatcherType.CHILDREN: (Kind.CHILD,),
    WatcherType.DATA: (Kind.DATA, Kind.EXIST),
    WatcherType.PERSISTENT: (Kind.PERSISTENT,),
    WatcherType.PERSISTENT_RECURSIVE: (Kind.RECURSIVE,),
    WatcherType.ANY: tuple(Kind),
}


class WatchBook:
    """The watches of one session. Paths are kept in the order in which they were armed."""

    def __init__(self) -> None:
        self._armed: dict[Kind, dict[str, None]] = {kind: {} for kind in Kind}

    def answered(self, request: Request, error: int) -> None:
        """Arms or removes what this request, as it was sent, arms or removes by its answer."""
        match request:
            case GetData(path, True) if error == KeeperCode.OK:
                self._armed[Kind.DATA][path] = None
            case Exists(path, True) if error == KeeperCode.OK:
                self._armed[Kind.DATA][path] = None
            case Exists(path, True) if error == KeeperCode.NONODE:
                self._armed[Kind.EXIST][path] = None
            case GetChildren(path, True) | GetChildren2(path, True) if error == KeeperCode.OK:
                self._armed[Kind.CHILD][path] = None
            case AddWatch(path, mode) if error == KeeperCode.OK:
                recursive = mode == AddWatchMode.PERSISTENT_RECURSIVE
                self._armed[Kind.RECURSIVE if recursive else Kind.PERSISTENT][path] = None
            case RemoveWatches(path, watcher) if error == KeeperCode.OK:
                for kind in _REMOVES[watcher]:
                    self._armed[kind].pop(path, None)
            case _:
                pass

    def fires(self, event: int, path: str) -> bool:
        """Whether the owner is owed this event. A one-shot watch is forgotten as it fires.

        A recursive watch promises no event about lists of children: the server sends them only
        where there is another watch that asked for them.
        """
        if event not in _FIRES:
            return False
        fired = path in self._armed[Kind.PERSISTENT]
        for kind in _FIRES[event]:
            if path in self._armed[kind]:
                del self._armed[kind][path]
                fired = True
        if fired:
            return True
        return event != EventType.NODE_CHILDREN_CHANGED and self._is_below_recursive(path)

    def _is_below_recursive(self, path: str) -> bool:
        watched = self._armed[Kind.RECURSIVE]
        if not watched or not path.startswith("/"):
            return False
        while path not in watched and path != "/":
            path = parent_of(path)
        return path in watched

    def rearming(self, since: int) -> Iterator[Request]:
        """The requests that arm all of it on a new connection, as of the transaction `since`.

        Many small ones, so that each fits a packet. The older form is used where it suffices,
        because servers before 3.6 know no other.
        """
        lists: list[list[str]] = [[] for _ in Kind]
        characters = 0
        for place, kind in enumerate(Kind):
            for path in self._armed[kind]:
                lists[place].append(path)
                characters += len(path)
                if characters >= SET_WATCHES_CHARACTERS_MAX:
                    yield _set_watches(since, lists)
                    lists = [[] for _ in Kind]
                    characters = 0
        if characters:
            yield _set_watches(since, lists)

    def forget(self) -> None:
        """The session is over: its watches went with it."""
        for paths in self._armed.values():
            paths.clear()


def _set_watches(since: int, lists: list[list[str]]) -> Request:
    data, exist, child, persistent, recursive = lists
    if persistent or recursive:
        return SetWatches2(since, data, exist, child, persistent, recursive)
    return SetWatches(since, data, exist, child)
