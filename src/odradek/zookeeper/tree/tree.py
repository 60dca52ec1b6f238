"""The tree: nodes by their path, and what changes them.

A node is a value that is never changed, only replaced. So a copy of the dictionary is a snapshot
of the whole tree, and undoing a change is putting the old value back: a multi whose third
operation fails leaves nothing behind. Only the names of children, where they are many, are shared
between the versions of a node; snapshots do not look at them, because paths say the same.

The tree knows no rule about who may do what (`writes` does). It gives back what each change
touched, which is what watches are about. Invariants: every node but the root has a parent here;
`children` of a node are exactly the nodes whose path continues its own by one part.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from sys import intern
from typing import Final, NamedTuple

from odradek.zookeeper.protocol.codes import EventType, Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, STAT, Acl, Stat
from odradek.zookeeper.protocol.paths import parent_of
from odradek.zookeeper.tree.quotas import QUOTA, STATS, innermost, limits_of, quota_path, stats_text
from odradek.zookeeper.tree.transactions import AclSet, DataSet, NodeCreated, NodeDeleted

ROOT: Final = "/"
SYSTEM: Final = "/zookeeper"
CONFIG: Final = "/zookeeper/config"
_SYSTEM_NODES: Final = {
    ROOT: ("zookeeper",),
    SYSTEM: ("config", "quota"),
    CONFIG: (),
    QUOTA: (),
}
SYSTEM_PATHS: Final = frozenset(_SYSTEM_NODES)  # they cannot be deleted

CONTAINER: Final = -(1 << 63)  # the owner of a container, as ZooKeeper marks it
_TTL: Final = -(1 << 56)  # 0xff in the first byte, the milliseconds in the last five
TTL_MAX: Final = (1 << 40) - 1
VERSION_MAX: Final = (1 << 31) - 1

CHILDREN_IN_A_TUPLE: Final = 8  # most nodes have few: a dictionary for each costs 180 bytes

Children = tuple[str, ...] | dict[str, None]
NodeChange = NodeCreated | NodeDeleted | DataSet | AclSet


class Node(NamedTuple):
    """One version of a node."""

    data: bytes | None
    acl: tuple[Acl, ...]
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    creations: int  # of children, ever: the next sequence number; the stat's cversion follows
    aversion: int
    owner: int  # a session (> 0), 0, CONTAINER, or a TTL
    pzxid: int
    children: Children = ()

    def stat(self) -> Stat:
        """What clients see."""
        return Stat._make(STAT.unpack(self.stat_bytes()))

    def stat_bytes(self) -> bytes:
        """The same as it goes out.

        The cversion counts every creation and every deletion of a child; containers and TTLs are
        not shown as owners.
        """
        data, _, czxid, mzxid, ctime, mtime, version, creations, aversion, owner, pzxid, names = (
            self
        )
        count = len(names)
        return STAT.pack(
            czxid,
            mzxid,
            ctime,
            mtime,
            version,
            ((creations * 2 - count + 0x80000000) & 0xFFFFFFFF) - 0x80000000,
            aversion,
            owner if owner > 0 else 0,  # noqa: FURB136 - this runs for every answer
            len(data) if data else 0,
            count,
            pzxid,
        )


Touched = tuple[EventType, str, tuple[Acl, ...], tuple[Acl, ...] | None]
"""What a change did that a watch may be waiting for: its kind, its path, the node's ACL, and the
parent's where its list of children changed. A plain tuple, for most are never looked at."""

fields_to_node: Final[Callable[[tuple[object, ...]], Node]] = partial(tuple.__new__, Node)
"""As `Node(...)`, in half the time: every write makes one."""


def wrapped(number: int) -> int:
    """A count as a 32-bit number: past the largest comes the smallest, as in Java."""
    return ((number + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def next_version(version: int) -> int:
    """The one after; -1 is left out, since it stands for any."""
    following = version + 1
    if 0 < following <= VERSION_MAX:
        return following
    return 0 if following == -1 else wrapped(following)


def ttl_owner(ttl: int) -> int:
    """The mark of a node that lives so many milliseconds after its last write."""
    assert 0 < ttl <= TTL_MAX, ttl
    return _TTL | ttl


def ttl_of(owner: int) -> int | None:
    """The milliseconds, if this is the mark of a TTL."""
    return owner & TTL_MAX if _TTL <= owner < 0 else None


def name_of(path: str) -> str:
    """The last part of a path. Names repeat a thousandfold, so each is kept once."""
    return intern(path[path.rindex("/") + 1 :])


def _with(names: Children, name: str) -> Children:
    if isinstance(names, dict):
        names[name] = None
        return names
    if len(names) < CHILDREN_IN_A_TUPLE:
        return (*names, name)
    return dict.fromkeys((*names, name))


def _without(names: Children, name: str) -> Children:
    if isinstance(names, dict):
        del names[name]
        return names
    return tuple(other for other in names if other != name)


def _system_nodes() -> Iterator[tuple[str, Node]]:
    for path, names in _SYSTEM_NODES.items():
        config = path == CONFIG  # for reading only
        acl = (Acl(Permission.READ, ANYONE),) if config else OPEN_ACL
        aversion = -1 if config else 0
        yield path, Node(b"", acl, 0, 0, 0, 0, 0, 0, aversion, 0, 0, names)


class Tree:
    """All nodes, with what must be found fast: ephemerals by session, containers, TTLs."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.ephemerals: dict[int, dict[str, None]] = {}
        self.containers: dict[str, None] = {}
        self.ttls: dict[str, None] = {}
        self.quotas: dict[str, None] = {}  # the paths that have one
        self.bytes = 0  # of paths and data
        self._undo: list[tuple[str, Node | None, Node | None]] | None = None
        self.load(_system_nodes())

    def clear(self) -> None:
        """Forgets everything, so that a snapshot can be put in its place."""
        for path, node in self.nodes.items():
            self._count(path, node, -1)
        self.nodes.clear()

    def load(self, found: Iterable[tuple[str, Node]]) -> None:
        """Puts nodes in as they are, names of children and all, as from a snapshot."""
        nodes, size = self.nodes, 0
        for path, node in found:
            nodes[path] = node
            data = node.data
            size += len(path) + (len(data) if data else 0)
            if node.owner or path.startswith(QUOTA):
                self._list(path, node, 1)
        self.bytes += size

    def apply(self, change: NodeChange, zxid: int, time: int) -> Touched:
        """Carries a change out. It was decided on this very tree, so it cannot fail."""
        match change:
            case DataSet():
                return self._set_data(change, zxid, time)
            case NodeCreated():
                return self._create(change, zxid, time)
            case NodeDeleted():
                return self.delete(change.path, zxid)
            case AclSet():
                return self._set_acl(change)

    def replace_data(self, path: str, before: Node, after: Node, growth: int) -> None:
        """Puts the next version of a node in its place: so many bytes more, and else the same."""
        self.nodes[path] = after
        self.bytes += growth
        if self._undo is not None:
            self._undo.append((path, before, None))

    def begin(self) -> None:
        """From here on every change can be taken back."""
        assert self._undo is None
        self._undo = []

    def commit(self) -> None:
        """What happened since `begin` stays."""
        self._undo = None

    def rollback(self) -> None:
        """What happened since `begin` did not."""
        assert self._undo is not None
        undo, self._undo = self._undo, None
        for path, before, parent in reversed(undo):
            now = self.nodes.get(path)
            if now is not None:
                self._count(path, now, -1)
            if before is not None:
                self.nodes[path] = before
                self._count(path, before, 1)
            else:
                del self.nodes[path]
            if parent is not None:
                self.nodes[parent_of(path)] = parent
                if isinstance(parent.children, dict):
                    change = _with if before is not None else _without
                    change(parent.children, name_of(path))

    def below(self, path: str) -> Iterator[str]:
        """The path of every node below this one, which is there."""
        stack = [path]
        while stack:
            above = stack.pop()
            prefix = above.rstrip("/")
            children = [f"{prefix}/{name}" for name in self.nodes[above].children]
            yield from children
            stack += children

    def _set_data(self, change: DataSet, zxid: int, time: int) -> Touched:
        path, data, version = change
        node = self.nodes[path]
        before, acl, czxid, _, ctime, _, _, creations, aversion, owner, pzxid, children = node
        times = (czxid, zxid, ctime, time)
        after = fields_to_node(
            (data, acl, *times, version, creations, aversion, owner, pzxid, children)
        )
        growth = (len(data) if data else 0) - (len(before) if before else 0)
        self.replace_data(path, node, after, growth)
        if self.quotas:
            self._use(path, 0, growth)
        return EventType.NODE_DATA_CHANGED, path, acl, None

    def _create(self, change: NodeCreated, zxid: int, time: int) -> Touched:
        path, data, acl, owner = change
        parent = self._renew_parent(path, _with, zxid)
        node = Node(data, acl, zxid, zxid, time, time, 0, 0, 0, owner, zxid)
        self.nodes[path] = node
        self._count(path, node, 1)
        if self._undo is not None:
            self._undo.append((path, None, parent))
        if self.quotas:
            self._use(path, 1, len(data) if data else 0)
            if path.startswith(QUOTA) and path.endswith(STATS):
                self._measure(path[len(QUOTA) : -len(STATS)])
        return EventType.NODE_CREATED, path, acl, parent.acl

    def delete(self, path: str, zxid: int) -> Touched:
        """Takes a node out."""
        parent = self._renew_parent(path, _without, zxid)
        node = self.nodes.pop(path)
        self._count(path, node, -1)
        if self._undo is not None:
            self._undo.append((path, node, parent))
        if self.quotas:
            self._use(path, -1, -len(node.data) if node.data else 0)
        return EventType.NODE_DELETED, path, node.acl, parent.acl

    def _set_acl(self, change: AclSet) -> Touched:
        path, acl, version = change
        node = self.nodes[path]
        self.nodes[path] = node._replace(acl=acl, aversion=version)
        if self._undo is not None:
            self._undo.append((path, node, None))
        return EventType.NONE, path, acl, None

    def _renew_parent(
        self, path: str, change: Callable[[Children, str], Children], zxid: int
    ) -> Node:
        """Replaces the parent by one with a child more or less; gives back the old one."""
        above = parent_of(path)
        parent = self.nodes[above]
        *before, creations, aversion, owner, _, names = parent
        creations = wrapped(creations + 1) if change is _with else creations
        names = change(names, name_of(path))
        self.nodes[above] = fields_to_node((*before, creations, aversion, owner, zxid, names))
        return parent

    def _count(self, path: str, node: Node, sign: int) -> None:
        """Keeps the indexes and the sum of bytes true."""
        self.bytes += sign * (len(path) + (len(node.data) if node.data else 0))
        if node.owner or path.startswith(QUOTA):
            self._list(path, node, sign)

    def _list(self, path: str, node: Node, sign: int) -> None:
        if path.startswith(QUOTA) and (limited := quota_path(path)):
            self._index(self.quotas, limited, sign)
        owner = node.owner
        if owner == 0:
            return
        if owner > 0:
            index = self.ephemerals.setdefault(owner, {})
        else:
            index = self.containers if owner == CONTAINER else self.ttls
        self._index(index, path, sign)
        if owner > 0 and not index:
            del self.ephemerals[owner]

    @staticmethod
    def _index(index: dict[str, None], path: str, sign: int) -> None:
        if sign > 0:
            index[path] = None
        else:
            index.pop(path, None)

    def _use(self, path: str, nodes: int, size: int) -> None:
        """Counts what came or went under the innermost quota, in the node of its stats."""
        prefix = innermost(self.quotas, path)
        stats = self.nodes.get(QUOTA + prefix + STATS) if prefix else None
        if prefix and stats is not None:
            used = limits_of(stats.data)
            self._write_stats(prefix, used.get("count", 0) + nodes, used.get("bytes", 0) + size)

    def _measure(self, prefix: str) -> None:
        """Counts everything under a quota that is new."""
        paths = (prefix, *self.below(prefix)) if prefix in self.nodes else ()
        size = sum(len(self.nodes[path].data or b"") for path in paths)
        self._write_stats(prefix, len(paths), size)

    def _write_stats(self, prefix: str, count: int, size: int) -> None:
        path = QUOTA + prefix + STATS
        stats = self.nodes[path]
        if self._undo is not None:
            self._undo.append((path, stats, None))
        data = stats_text(count, size)
        self.bytes += len(data) - len(stats.data or b"")
        self.nodes[path] = stats._replace(data=data)
