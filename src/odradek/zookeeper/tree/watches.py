"""Watches: who wants to hear of what, and who hears of a change.

Two tables, as in ZooKeeper: data watches (getData, exists) and child watches (getChildren). A
standard watch fires once and is gone. A persistent one sits in both tables and stays. A recursive
one sits among the data watches, stays, and hears of every creation, write and deletion at and
below its path, but of no list of children. A watcher has each path at most once in each table,
with the sum of its modes, and hears of one change of one path once.

A watcher is whatever the server says: a connection. Order of arming is order of hearing. A tree
without watches pays two failed look-ups for a change.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, Generic, TypeVar

from odradek.zookeeper.protocol.codes import EventType, WatcherType
from odradek.zookeeper.protocol.jute import Acl
from odradek.zookeeper.protocol.paths import parent_of
from odradek.zookeeper.tree.tree import Touched, Tree

W = TypeVar("W")


class Mode(IntEnum):
    """How a watch behaves; one watcher may have several on one path, as a sum of plain numbers."""

    STANDARD = 1
    PERSISTENT = 2
    RECURSIVE = 4


ANY_MODE: Final = Mode.STANDARD | Mode.PERSISTENT | Mode.RECURSIVE

Fired = tuple[W, EventType, str, Sequence[Acl]]
"""Who hears, of what, where, and the ACL that must let them read."""


class Table(Generic[W]):
    """Watches of one kind, by path and by watcher."""

    def __init__(self) -> None:
        self.by_path: dict[str, dict[W, int]] = {}
        self.by_watcher: dict[W, dict[str, None]] = {}
        self.count = 0
        self._recursive = 0  # while there are none, only the path itself is looked up

    def add(self, path: str, watcher: W, mode: int) -> None:
        """Arms a watch; arming it again changes nothing."""
        watchers = self.by_path.setdefault(path, {})
        before = watchers.get(watcher, 0)
        watchers[watcher] = before | mode
        self.by_watcher.setdefault(watcher, {})[path] = None
        if not before:
            self.count += 1
        if mode & ~before & Mode.RECURSIVE:
            self._recursive += 1

    def modes(self, path: str, watcher: W) -> int:
        """The sum of the watcher's modes on this path; 0 for none."""
        return self.by_path.get(path, {}).get(watcher, 0)

    def remove(self, path: str, watcher: W, modes: int) -> bool:
        """Disarms these modes; whether there were any."""
        watchers = self.by_path.get(path)
        before = watchers.get(watcher, 0) if watchers else 0
        if watchers is None or not before & modes:
            return False
        if before & modes & Mode.RECURSIVE:
            self._recursive -= 1
        if before & ~modes:
            watchers[watcher] = before & ~modes
            return True
        del watchers[watcher]
        self.count -= 1
        if not watchers:
            del self.by_path[path]
        paths = self.by_watcher[watcher]
        del paths[path]
        if not paths:
            del self.by_watcher[watcher]
        return True

    def forget(self, watcher: W) -> None:
        """Disarms everything of one watcher."""
        for path in list(self.by_watcher.get(watcher, ())):
            self.remove(path, watcher, ANY_MODE)

    def trigger(self, path: str) -> dict[W, None]:
        """Who hears of a change of this path; the standard watches among them are spent."""
        heard: dict[W, None] = {}
        watchers = self.by_path.get(path)
        if watchers:
            heard = dict.fromkeys(watchers)
            for watcher in heard:
                self.remove(path, watcher, Mode.STANDARD)
        if self._recursive:
            while path != "/":
                path = parent_of(path)
                above = self.by_path.get(path, {})
                heard |= {who: None for who, mode in above.items() if mode & Mode.RECURSIVE}
        return heard


class Watches(Generic[W]):
    """Both tables."""

    def __init__(self) -> None:
        self.data: Table[W] = Table()
        self.child: Table[W] = Table()

    def add(self, path: str, watcher: W, mode: int) -> None:
        """Arms a persistent or a recursive watch."""
        self.data.add(path, watcher, mode)
        if mode != Mode.RECURSIVE:
            self.child.add(path, watcher, mode)

    def remove(self, path: str, watcher: W, kind: int) -> bool:
        """Disarms what a `WatcherType` names; whether there was any."""
        removed = [table.remove(path, watcher, modes) for table, modes in self._meant(kind)]
        return any(removed)

    def has(self, path: str, watcher: W, kind: int) -> bool:
        """Whether there is any of what a `WatcherType` names.

        A persistent watch sits in both tables: it is asked for where it was armed first.
        """
        return any(table.modes(path, watcher) & modes for table, modes in self._meant(kind))

    def forget(self, watcher: W) -> None:
        """Disarms everything of one watcher: its connection is gone."""
        self.data.forget(watcher)
        self.child.forget(watcher)

    def fire(self, changes: Iterable[Touched]) -> Iterator[Fired[W]]:
        """Who hears of these changes, change by change."""
        if not self.data.by_path and not self.child.by_path:
            return
        for kind, path, acl, parent_acl in changes:
            if kind is EventType.NONE:
                continue
            heard = self.data.trigger(path)
            for watcher in heard:
                yield watcher, kind, path, acl
            if kind is EventType.NODE_DELETED:
                for watcher in self.child.trigger(path):
                    if watcher not in heard:
                        yield watcher, kind, path, acl
            if parent_acl is not None:
                above = parent_of(path)
                for watcher in self.child.trigger(above):
                    yield watcher, EventType.NODE_CHILDREN_CHANGED, above, parent_acl

    def count(self) -> int:
        """How many watches are armed, of all watchers."""
        return self.data.count + self.child.count

    def count_of(self, watcher: W) -> int:
        """How many watches one watcher has armed."""
        return sum(len(table.by_watcher.get(watcher, ())) for table in (self.data, self.child))

    def summary(self) -> tuple[int, int, int]:
        """How many watchers, paths and watches there are."""
        watchers = self.data.by_watcher.keys() | self.child.by_watcher.keys()
        paths = self.data.by_path.keys() | self.child.by_path.keys()
        return len(watchers), len(paths), self.count()

    def _meant(self, kind: int) -> Sequence[tuple[Table[W], int]]:
        match kind:
            case WatcherType.DATA:
                return ((self.data, Mode.STANDARD),)
            case WatcherType.CHILDREN:
                return ((self.child, Mode.STANDARD),)
            case WatcherType.PERSISTENT:
                return ((self.data, Mode.PERSISTENT), (self.child, Mode.PERSISTENT))
            case WatcherType.PERSISTENT_RECURSIVE:
                return ((self.data, Mode.RECURSIVE),)
            case _:
                return ((self.data, ANY_MODE), (self.child, ANY_MODE))


def missed(
    tree: Tree, since: int, paths: Iterable[str], *, kind: WatcherType
) -> Iterator[tuple[str, EventType | None]]:
    """What a session missed that watched these paths on another connection, up to `since`.

    For each path the event that it would have had, or None where the watch is to be armed anew.
    `kind` is DATA, CHILDREN, or ANY for the watches on nodes that were not there.
    """
    for path in paths:
        node = tree.nodes.get(path)
        if kind is WatcherType.ANY:
            yield path, EventType.NODE_CREATED if node else None
        elif node is None:
            yield path, EventType.NODE_DELETED
        elif kind is WatcherType.DATA:
            yield path, EventType.NODE_DATA_CHANGED if node.mzxid > since else None
        else:
            yield path, EventType.NODE_CHILDREN_CHANGED if node.pzxid > since else None
