"""Writes: from a request to a transaction and the bytes of its answer.

A multi is decided and applied operation by operation, so that each sees what those before it did;
if one fails all are undone, nothing is written down, and the answer says which it was.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from odradek.model.units import Timestamp
from odradek.zookeeper.protocol.codes import KeeperCode, KeeperError, OpCode
from odradek.zookeeper.protocol.jute import INT, put_text
from odradek.zookeeper.protocol.jute_replies import multi_end, multi_result
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Multi,
    Request,
    SetAcl,
    SetData,
)
from odradek.zookeeper.server.writes import Writer, decide
from odradek.zookeeper.tree.database import Database
from odradek.zookeeper.tree.quick_sets import set_quickly
from odradek.zookeeper.tree.transactions import Change
from odradek.zookeeper.tree.tree import NodeChange, Touched, Tree

_RESULTS: Final = {
    SetData: multi_result(OpCode.SET_DATA),
    Create: multi_result(OpCode.CREATE),
    Create2: multi_result(OpCode.CREATE2),
    CreateContainer: multi_result(OpCode.CREATE2),
    CreateTtl: multi_result(OpCode.CREATE2),
    Delete: multi_result(OpCode.DELETE),
    Check: multi_result(OpCode.CHECK),
}
WRITES: Final = frozenset({*_RESULTS, SetAcl, Multi})


class Writable(Protocol):
    """What of the server a write needs."""

    database: Database

    @property
    def wall(self) -> Timestamp:
        """What time it is, for the node's stat."""
        ...

    def commit(self, changes: Sequence[Change]) -> int:
        """Carries out changes that were decided."""
        ...

    def record(self, changes: Sequence[Change], touched: Sequence[Touched]) -> None:
        """Writes down changes that were carried out."""
        ...


def write(server: Writable, who: Writer, request: Request) -> bytes:
    """The body of the answer; `KeeperError` where the request is refused."""
    if isinstance(request, Multi):
        return _multi(server, who, request)
    tree = server.database.tree
    change = decide(tree, request, who)
    if change is None:
        return b""
    server.commit((change,))
    return _outcome(tree, request, change)


def _multi(server: Writable, who: Writer, request: Multi) -> bytes:
    tree, zxid, time = server.database.tree, server.database.zxid + 1, server.wall
    change: NodeChange | None
    changes: list[NodeChange] = []
    touched: list[Touched] = []
    parts: list[bytes] = []
    tree.begin()
    for done, op in enumerate(request.ops):
        quick = set_quickly(tree, op, zxid, time) if type(op) is SetData else None
        if quick is not None:
            change, touch, stat = quick
            changes.append(change)
            touched.append(touch)
            parts += (_RESULTS[SetData], stat)
            continue
        try:
            change = decide(tree, op, who)
        except KeeperError as error:
            tree.rollback()
            return _failure(done, len(request.ops), error.keeper_code)
        parts.append(_RESULTS[type(op)])
        if change is not None:
            touched.append(tree.apply(change, zxid, time))
            changes.append(change)
            parts.append(_outcome(tree, op, change))
    tree.commit()
    if changes:
        server.record(changes, touched)
    parts.append(multi_end())
    return b"".join(parts)


def _outcome(tree: Tree, request: Request, change: NodeChange) -> bytes:
    match request:
        case SetData() | SetAcl():
            return tree.nodes[change.path].stat_bytes()
        case Create():
            return put_text(change.path)
        case Create2() | CreateContainer() | CreateTtl():
            return put_text(change.path) + tree.nodes[change.path].stat_bytes()
        case _:
            return b""


def _failure(done: int, total: int, code: KeeperCode) -> bytes:
    """The results of a multi that did not happen: what would have, what failed, what came after."""
    codes = [0] * done + [code] + [KeeperCode.RUNTIMEINCONSISTENCY] * (total - done - 1)
    results = [multi_result(OpCode.ERROR, each) + INT.pack(each) for each in codes]
    return b"".join(results) + multi_end()
