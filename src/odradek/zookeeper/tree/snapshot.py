"""The whole state as rows of bytes, and back: a snapshot in the journal.

The first row names the format and the transaction up to which everything is in it. Then come rows
of sessions, the row of ACLs, rows of nodes, each of a few hundred; the last row counts what came
before, so that rows that are missing are found. Checksums are the journal's business.

Nodes come depth first, and each names its children: so no path is written or searched, only put
together. They are packed by hand, not by jute's primitives: a cluster of 100,000 partitions must
be there again within two seconds.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from sys import intern
from typing import Final, NamedTuple

from odradek.zookeeper.protocol.codes import MalformedPacket
from odradek.zookeeper.protocol.jute import (
    OPEN_ACL,
    UNREADABLE,
    Acl,
    malformed,
    put_acls,
    put_buffer,
    put_list,
    take_acls,
    take_buffer,
    take_int,
)
from odradek.zookeeper.tree.transactions import SessionOpened
from odradek.zookeeper.tree.tree import (
    CHILDREN_IN_A_TUPLE,
    ROOT,
    Children,
    Node,
    Tree,
    fields_to_node,
)

FORMAT: Final = 1
NODES_PER_ROW: Final = 500
SESSIONS_PER_ROW: Final = 1_000

_FIRST: Final = struct.Struct(">cbq")
_LAST: Final = struct.Struct(">cqq")
_SESSION: Final = struct.Struct(">qi")
_NODE: Final = struct.Struct(">iiiqqqqiiiqq")  # two lengths, an index, then a node's fields


class State(NamedTuple):
    """What a snapshot holds: a view of the server at one transaction that nothing changes.

    It keeps every node alive that was replaced meanwhile, so `encode` lets go of each as it writes
    it down: a view is encoded once.
    """

    zxid: int
    sessions: tuple[SessionOpened, ...]
    nodes: dict[str, Node]


def encode(state: State) -> Iterator[bytes]:
    """Rows, one by one; may run beside the server that the view was taken from."""
    yield _FIRST.pack(b"F", FORMAT, state.zxid)
    sessions = iter(state.sessions)
    while some := list(islice(sessions, SESSIONS_PER_ROW)):
        yield b"S" + put_list(some, _put_session)
    acls: dict[tuple[Acl, ...], int] = {OPEN_ACL: 0}
    for node in state.nodes.values():
        acls.setdefault(node.acl, len(acls))
    yield b"A" + put_list(list(acls), put_acls)
    count = len(state.nodes)
    nodes = _depth_first(state.nodes)
    while part := list(islice(nodes, NODES_PER_ROW)):
        yield b"N" + b"".join([_put_node(node, names, acls[node.acl]) for node, names in part])
    yield _LAST.pack(b"E", len(state.sessions), count)


def decode(rows: Iterable[bytes], tree: Tree) -> tuple[int, list[SessionOpened]] | None:
    """Fills a tree; gives the transaction and the sessions. None where there is nothing.

    `MalformedPacket` where the rows are not a whole snapshot of ours.
    """
    reader = _Reader(tree)
    for row in rows:
        try:
            reader.read(row)
        except (*UNREADABLE, LookupError) as error:
            raise malformed("the snapshot", error) from error
    if reader.zxid is None:
        return None
    if not reader.whole:
        raise MalformedPacket("the snapshot has no end")
    return reader.zxid, reader.sessions


class _Reader:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.zxid: int | None = None
        self.sessions: list[SessionOpened] = []
        self.whole = False
        self._nodes = 0
        self._acls: list[tuple[Acl, ...]] = []
        self._paths = [ROOT]  # of the nodes that were named and have not come, next one last
        self._last_raw = b""
        self._last_names: tuple[str, ...] = ()

    def read(self, row: bytes) -> None:
        kind = row[:1]
        if (kind == b"F") != (self.zxid is None) or self.whole:
            raise MalformedPacket("the snapshot's rows are not in order")
        match kind:
            case b"F":
                _, version, self.zxid = _FIRST.unpack(row)
                if version != FORMAT:
                    raise MalformedPacket(f"a snapshot of the format {version}; this is {FORMAT}")
                self.tree.clear()
            case b"S":
                self._read_sessions(row)
            case b"A":
                self._read_acls(row)
            case b"N":
                self.tree.load(self._nodes_of(row))
            case b"E":
                self._read_end(row)
            case _:
                raise MalformedPacket(f"the snapshot has a row of the kind {kind!r}")

    def _read_sessions(self, row: bytes) -> None:
        count, at = take_int(row, 1)
        for _ in range(count):
            session_id, timeout = _SESSION.unpack_from(row, at)
            password, at = take_buffer(row, at + _SESSION.size)
            self.sessions.append(SessionOpened(session_id, timeout, password or b""))

    def _read_acls(self, row: bytes) -> None:
        count, at = take_int(row, 1)
        for _ in range(count):
            acl, at = take_acls(row, at)
            self._acls.append(acl)

    def _nodes_of(self, row: bytes) -> Iterator[tuple[str, Node]]:
        at, end, acls, paths = 1, len(row), self._acls, self._paths
        unpack, size = _NODE.unpack_from, _NODE.size
        born = made = 0  # of the node before
        while at < end:
            names_length, data_length, acl, czxid, mzxid, ctime, mtime, *rest = unpack(row, at)
            start = at + size
            middle = start + names_length
            at = middle + max(data_length, 0)
            if not start <= middle <= at <= end or data_length < -1 or acl < 0:
                raise MalformedPacket("the snapshot has a node with a length that cannot be")
            path = paths.pop()
            names: Children = ()
            if names_length:
                names = self._names_of(row[start:middle])
                prefix = path if path == ROOT else path + "/"
                paths += [prefix + name for name in reversed(names)]
            version, creations, aversion, owner, pzxid = rest
            # Equal numbers are one object: most nodes were made together, and not written again.
            born = born if czxid == born else czxid
            made = made if ctime == made else ctime
            node = (
                row[middle:at] if data_length >= 0 else None,
                acls[acl],
                born,
                born if mzxid == born else mzxid,
                made,
                made if mtime == made else mtime,
                version,
                creations,
                aversion,
                owner,
                born if pzxid == born else pzxid,
                names,
            )
            self._nodes += 1
            yield path, fields_to_node(node)

    def _names_of(self, raw: bytes) -> Children:
        """Names of children; few that are the same as the last few are not made again."""
        if raw == self._last_raw:
            return self._last_names
        names = tuple([intern(name) for name in raw.decode().split("/")])
        if len(names) > CHILDREN_IN_A_TUPLE:
            return dict.fromkeys(names)
        self._last_raw, self._last_names = raw, names
        return names

    def _read_end(self, row: bytes) -> None:
        _, sessions, nodes = _LAST.unpack(row)
        self.whole = True
        if self._paths or (sessions, nodes) != (len(self.sessions), self._nodes):
            raise MalformedPacket(
                f"the snapshot has {self._nodes} nodes and {len(self.sessions)} sessions "
                f"where it counted {nodes} and {sessions}"
            )


def _depth_first(nodes: dict[str, Node]) -> Iterator[tuple[Node, Iterable[str]]]:
    """Takes out every node, with the names of its children, parents first.

    Where they are many, a node's names are a dictionary that the living tree goes on changing:
    those are gathered from the paths instead, which do not change.
    """
    crowded: dict[str, list[str]] = {
        path: [] for path, node in nodes.items() if isinstance(node.children, dict)
    }
    for path in nodes if crowded else ():
        above, _, name = path.rpartition("/")
        siblings = crowded.get(above or ROOT)
        if siblings is not None and name:
            siblings.append(intern(name))
    stack = [ROOT]
    while stack:
        path = stack.pop()
        node = nodes.pop(path)
        names = crowded.pop(path) if isinstance(node.children, dict) else node.children
        prefix = path if path == ROOT else path + "/"
        stack += [prefix + name for name in reversed(names)]
        yield node, names


def _put_session(session: SessionOpened) -> bytes:
    return _SESSION.pack(session.session_id, session.timeout) + put_buffer(session.password)


def _put_node(node: Node, names: Iterable[str], acl: int) -> bytes:
    data, _, czxid, mzxid, ctime, mtime, version, creations, aversion, owner, pzxid, _ = node
    raw = "/".join(names).encode()
    length = -1 if data is None else len(data)
    times = (czxid, mzxid, ctime, mtime)
    head = _NODE.pack(len(raw), length, acl, *times, version, creations, aversion, owner, pzxid)
    return head + raw + (data or b"")
