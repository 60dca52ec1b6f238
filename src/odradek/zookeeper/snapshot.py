"""The whole state as rows of bytes, and back: a snapshot in the journal.

The first row names the format and the transaction up to which everything is in it. Then come rows
of sessions, the row of ACLs, rows of nodes, each of a few hundred, parents before children; the
last row counts what came before, so that rows that are missing are found. Checksums are the
journal's business.

Nodes are packed by hand, not by jute's primitives: a cluster of 100,000 partitions must be there
again within two seconds.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from odradek.zookeeper.codes import MalformedPacket
from odradek.zookeeper.jute import (
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
from odradek.zookeeper.transactions import SessionOpened
from odradek.zookeeper.tree import Node, Tree

FORMAT: Final = 1
NODES_PER_ROW: Final = 500
SESSIONS_PER_ROW: Final = 1_000

_FIRST: Final = struct.Struct(">cbq")
_LAST: Final = struct.Struct(">cqq")
_SESSION: Final = struct.Struct(">qi")
_NODE: Final = struct.Struct(">iiiqqqqiiiqq")  # three lengths or indexes, then the fields of a node


class State(NamedTuple):
    """What a snapshot holds: a view of the server at one transaction that nothing changes."""

    zxid: int
    sessions: tuple[SessionOpened, ...]
    nodes: Mapping[str, Node]


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
    nodes = iter(state.nodes.items())
    while part := list(islice(nodes, NODES_PER_ROW)):
        yield b"N" + b"".join([_put_node(path, node, acls[node.acl]) for path, node in part])
    yield _LAST.pack(b"E", len(state.sessions), len(state.nodes))


def decode(rows: Iterable[bytes], tree: Tree) -> tuple[int, list[SessionOpened]] | None:
    """Fills an empty tree; gives the transaction and the sessions. None where there is nothing.

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

    def read(self, row: bytes) -> None:
        kind = row[:1]
        if (kind == b"F") != (self.zxid is None) or self.whole:
            raise MalformedPacket("the snapshot's rows are not in order")
        match kind:
            case b"F":
                _, version, self.zxid = _FIRST.unpack(row)
                if version != FORMAT:
                    raise MalformedPacket(f"a snapshot of the format {version}; this is {FORMAT}")
            case b"S":
                self._read_sessions(row)
            case b"A":
                self._read_acls(row)
            case b"N":
                self._read_nodes(row)
            case b"E":
                _, sessions, nodes = _LAST.unpack(row)
                self.whole = True
                if (sessions, nodes) != (len(self.sessions), self._nodes):
                    raise MalformedPacket(
                        f"the snapshot has {self._nodes} nodes and {len(self.sessions)} sessions "
                        f"where it counted {nodes} and {sessions}"
                    )
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
        if self._acls[:1] == [OPEN_ACL]:
            self._acls[0] = OPEN_ACL  # the very one: that it is open is seen at a glance

    def _read_nodes(self, row: bytes) -> None:
        at, end, acls, insert = 1, len(row), self._acls, self.tree.insert
        unpack, size = _NODE.unpack_from, _NODE.size
        while at < end:
            path_length, data_length, acl, czxid, mzxid, ctime, mtime, *rest = unpack(row, at)
            start = at + size
            middle = start + path_length
            at = middle + max(data_length, 0)
            if not start <= middle <= at <= end or data_length < -1 or acl < 0:
                raise MalformedPacket("the snapshot has a node with a length that cannot be")
            path = row[start:middle].decode()
            data = row[middle:at] if data_length >= 0 else None
            version, creations, aversion, owner, pzxid = rest
            # Equal numbers are one object: most nodes were never written again.
            node = Node(
                data,
                acls[acl],
                czxid,
                czxid if mzxid == czxid else mzxid,
                ctime,
                ctime if mtime == ctime else mtime,
                version,
                creations,
                aversion,
                owner,
                czxid if pzxid == czxid else pzxid,
            )
            if not path.startswith("/") or not insert(path, node):
                raise MalformedPacket(f"the snapshot has {path!r}, but nothing above it")
            self._nodes += 1


def _put_session(session: SessionOpened) -> bytes:
    return _SESSION.pack(session.session_id, session.timeout) + put_buffer(session.password)


def _put_node(path: str, node: Node, acl: int) -> bytes:
    data, _, czxid, mzxid, ctime, mtime, version, creations, aversion, owner, pzxid, _ = node
    raw = path.encode()
    length = -1 if data is None else len(data)
    times = (czxid, mzxid, ctime, mtime)
    head = _NODE.pack(len(raw), length, acl, *times, version, creations, aversion, owner, pzxid)
    return head + raw + (data or b"")
