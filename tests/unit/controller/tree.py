"""A ZooKeeper tree in a dictionary, for the controller's reads and writes.

Each write has a transaction; a multi does all or nothing. `refuse` answers what a test says, as an
ensemble that is cut off, or forbids something, would.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NodeExists,
    NoNode,
    NotEmpty,
    OperationError,
)
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import Stat
from odradek.zookeeper.protocol.jute_replies import (
    Checked,
    Children2,
    Created,
    Data,
    Deleted,
    Done,
    Number,
    Result,
    Results,
    StatReply,
)
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Check,
    Create,
    Delete,
    Exists,
    GetChildren2,
    GetData,
    Multi,
    RemoveWatches,
    Request,
    SetData,
    WriteOp,
)

ANY = -1


class Node(NamedTuple):
    """One znode."""

    data: bytes
    version: int
    czxid: int
    mzxid: int
    owner: int = 0

    @property
    def stat(self) -> Stat:
        """What ZooKeeper says of it."""
        return Stat(
            self.czxid, self.mzxid, 0, 0, self.version, 0, 0, self.owner, len(self.data), 0, 0
        )


class Tree:
    """All nodes by their paths."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.zxid = 0
        self.session = 1  # whose ephemerals are made
        self.writes: list[Multi] = []  # that were done
        self.refuse: Callable[[Request], Answer | None] = lambda _: None

    def put(self, path: str, data: bytes = b"", *, owner: int = 0) -> None:
        """A node as it shall be; those above it are made."""
        above = path.rpartition("/")[0]
        if above and above not in self.nodes:
            self.put(above)
        self.zxid += 1
        before = self.nodes.get(path)
        if before is None:
            self.nodes[path] = Node(data, 0, self.zxid, self.zxid, owner)
        else:
            self.nodes[path] = before._replace(
                data=data, version=before.version + 1, mzxid=self.zxid
            )

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """One after the other."""
        return [self.answer(request) for request in requests]

    def answer(self, request: Request) -> Answer:
        """What one request comes to."""
        refused = self.refuse(request)
        if refused is not None:
            return refused
        match request:
            case GetData(path):
                node = self.nodes.get(path)
                return NoNode(path) if node is None else Data(node.data, node.stat)
            case Exists(path):
                node = self.nodes.get(path)
                return NoNode(path) if node is None else StatReply(node.stat)
            case GetChildren2(path):
                node = self.nodes.get(path)
                return NoNode(path) if node is None else Children2(self.children(path), node.stat)
            case Multi(ops):
                return self._multi(ops)
            case AddWatch():
                return Number(0)
            case RemoveWatches():
                return Done()
            case _:
                raise AssertionError(request)

    def children(self, path: str) -> list[str]:
        """Their names."""
        prefix = f"{path}/"
        names = (it.removeprefix(prefix) for it in self.nodes if it.startswith(prefix))
        return sorted(name for name in names if "/" not in name)

    def _multi(self, ops: Sequence[WriteOp]) -> Answer:
        before, zxid = dict(self.nodes), self.zxid
        self.zxid += 1
        results: list[Result] = []
        for at, op in enumerate(ops):
            error = self._fault(op)
            if error is not None:
                self.nodes, self.zxid = before, zxid
                return MultiFailed(error, at)
            results.append(self._do(op))
        self.writes.append(Multi(tuple(ops)))
        return Results(results)

    def _fault(self, op: WriteOp) -> OperationError | None:
        path: str = op.path
        node = self.nodes.get(path)
        if isinstance(op, Create):
            if node is not None:
                return NodeExists(path)
            above = path.rpartition("/")[0]
            return NoNode(path) if above and above not in self.nodes else None
        if node is None:
            return NoNode(path)
        if isinstance(op, Delete) and self.children(path):
            return NotEmpty(path)
        assert isinstance(op, SetData | Delete | Check), op
        return BadVersion(path) if op.version not in {ANY, node.version} else None

    def _do(self, op: WriteOp) -> Result:
        path: str = op.path
        if isinstance(op, Create):
            owner = self.session if op.mode is CreateMode.EPHEMERAL else 0
            self.nodes[path] = Node(op.data or b"", 0, self.zxid, self.zxid, owner)
            return Created(path)
        if isinstance(op, SetData):
            node = self.nodes[path]
            self.nodes[path] = changed = node._replace(
                data=op.data or b"", version=node.version + 1, mzxid=self.zxid
            )
            return StatReply(changed.stat)
        if isinstance(op, Delete):
            del self.nodes[path]
            return Deleted()
        return Checked()
