"""The server against a model too simple to be wrong: a dictionary, copied for every multi."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.zookeeper.protocol.codes import CreateMode, KeeperCode
from odradek.zookeeper.protocol.jute import OPEN_ACL, Stat
from odradek.zookeeper.protocol.jute_replies import (
    Checked,
    Children,
    Created,
    Data,
    Deleted,
    Done,
    Failed,
    Reply,
    Results,
    StatReply,
)
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    CloseSession,
    Create,
    Delete,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
    WriteOp,
)
from tests.samples.zookeeper import Client, World

PATHS = ["/a", "/b", "/a/x", "/a/x/1"]
MODES = [CreateMode.PERSISTENT, CreateMode.EPHEMERAL, CreateMode.PERSISTENT_SEQUENTIAL]


@dataclass
class Node:
    """As ZooKeeper's documentation describes one."""

    data: bytes | None
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    version: int = 0
    created: int = 0  # children, ever
    deleted: int = 0


@dataclass
class Model:
    """The whole tree, and the number of the last transaction."""

    zxid: int = 0
    nodes: dict[str, Node] = field(default_factory=lambda: {"/": Node(b"", 0, 0, 0, 0)})

    def children(self, path: str) -> list[str]:
        """Names, in the order of their making."""
        prefix = path.rstrip("/") + "/"
        return [
            other[len(prefix) :]
            for other in self.nodes
            if other != "/" and other.startswith(prefix) and "/" not in other[len(prefix) :]
        ]

    def write(self, op: WriteOp, zxid: int, session: int) -> Created | str | KeeperCode:
        """What happens: a path, `Created`, or an error."""
        if isinstance(op, Create):
            return self._create(op, zxid, session)
        node = self.nodes.get(op.path)
        if node is None:
            return KeeperCode.NONODE
        if isinstance(op, Delete | SetData | Check) and op.version not in {-1, node.version}:
            return KeeperCode.BADVERSION
        if isinstance(op, SetData):
            node.data, node.mzxid, node.version = op.data, zxid, node.version + 1
        elif isinstance(op, Delete):
            if self.children(op.path):
                return KeeperCode.NOTEMPTY
            self.delete(op.path, zxid)
        return op.path

    def delete(self, path: str, zxid: int) -> None:
        """A node goes."""
        del self.nodes[path]
        parent = self.nodes[parent_of(path)]
        parent.deleted, parent.pzxid = parent.deleted + 1, zxid

    def _create(self, op: Create, zxid: int, session: int) -> Created | KeeperCode:
        parent, path = self.nodes.get(parent_of(op.path)), op.path
        if parent is None:
            return KeeperCode.NONODE
        if op.mode == CreateMode.PERSISTENT_SEQUENTIAL:
            path += f"{parent.created:010d}"
        if path in self.nodes:
            return KeeperCode.NODEEXISTS
        if parent.owner:
            return KeeperCode.NOCHILDRENFOREPHEMERALS
        parent.created, parent.pzxid = parent.created + 1, zxid
        owner = session if op.mode == CreateMode.EPHEMERAL else 0
        self.nodes[path] = Node(op.data, owner, zxid, zxid, zxid)
        return Created(path)

    def multi(self, ops: Sequence[WriteOp], session: int) -> list[Failed] | None:
        """All or nothing; the codes of a failure, or None."""
        trial = Model(self.zxid, {path: replace(node) for path, node in self.nodes.items()})
        for done, op in enumerate(ops):
            outcome = trial.write(op, self.zxid + 1, session)
            if isinstance(outcome, KeeperCode):
                rest = len(ops) - done - 1
                return [Failed(0)] * done + [Failed(outcome)] + [Failed(-2)] * rest
        self.nodes = trial.nodes
        self.zxid += any(not isinstance(op, Check) for op in ops)
        return None


def parent_of(path: str) -> str:
    """The slow way."""
    return "/".join(path.split("/")[:-1]) or "/"


paths = st.sampled_from(PATHS)
versions = st.sampled_from([-1, -1, -1, 0, 1])
data = st.sampled_from([None, b"", b"1", b"22"])
creates = st.builds(Create, paths, data, st.just(OPEN_ACL), st.sampled_from(MODES))
writes: st.SearchStrategy[WriteOp] = st.one_of(
    creates,
    creates,
    st.builds(SetData, paths, data, versions),
    st.builds(Delete, paths, versions),
)
guarded: st.SearchStrategy[WriteOp] = st.one_of(writes, st.builds(Check, paths, versions))
multis = st.builds(Multi, st.lists(guarded, min_size=1, max_size=5).map(tuple))
anything = st.one_of(writes, writes, multis, multis, st.just(CloseSession()))
steps = st.tuples(st.integers(0, 1), anything)


@settings(max_examples=80, deadline=None)
@given(st.lists(steps, min_size=20, max_size=40))
def test_the_server_does_what_the_model_does(history: list[tuple[int, Request]]) -> None:
    """Answers, stats, lists of children and numbers of transactions, and so does a restart."""
    world = World()
    clients = [world.client(), world.client()]
    model = Model(world.server.database.zxid)
    model.nodes["/zookeeper"] = Node(b"", 0, 0, 0, 0)
    for number, request in history:
        client = clients[number]
        if isinstance(request, CloseSession):
            client.ask(request)
            model.zxid += 1
            mine = [path for path, node in model.nodes.items() if node.owner == client.session_id]
            for path in mine:
                model.delete(path, model.zxid)
            clients[number] = world.client()
            model.zxid += 1
        else:
            compare(client, model, request)
    for after in [world, world.restart(), world.restart_from_snapshot()]:
        assert after.server.database.zxid == model.zxid
        check_tree(after.client(), model)


def compare(client: Client, model: Model, request: Request) -> None:
    """One request, on both."""
    answer = client.ask(request)
    if isinstance(request, Multi):
        failure = model.multi(request.ops, client.session_id)
        assert isinstance(answer, Results)
        kinds = {Create: Created, SetData: StatReply, Delete: Deleted, Check: Checked}
        if failure is None:
            assert [type(each) for each in answer.results] == [
                kinds[type(op)] for op in request.ops
            ]
        else:
            assert answer.results == failure
        return
    assert isinstance(request, Create | SetData | Delete)
    outcome = model.write(request, model.zxid + 1, client.session_id)
    if isinstance(outcome, KeeperCode):
        assert answer is outcome
        return
    model.zxid += 1
    check_answer(answer, outcome, model)


def check_answer(answer: Reply | KeeperCode, outcome: Created | str, model: Model) -> None:
    """A path, a stat, or nothing."""
    if isinstance(outcome, Created):
        assert answer == outcome
    elif isinstance(answer, StatReply):
        check_stat(answer.stat, model, outcome)
    else:
        assert answer == Done()


def check_tree(client: Client, model: Model) -> None:
    """Every node that there is, and no other."""
    for path, node in model.nodes.items():
        if path.startswith("/zookeeper"):
            continue
        found = client.ask(GetData(path))
        names = client.ask(GetChildren(path))
        assert isinstance(found, Data)
        assert isinstance(names, Children)
        assert found.data == node.data
        assert sorted(names.names) == sorted(model.children(path))
        check_stat(found.stat, model, path)


def check_stat(stat: Stat, model: Model, path: str) -> None:
    """Everything but the times."""
    node = model.nodes[path]
    assert (stat.czxid, stat.mzxid, stat.pzxid) == (node.czxid, node.mzxid, node.pzxid)
    assert (stat.version, stat.aversion) == (node.version, 0)
    assert stat.ephemeral_owner == node.owner
    assert stat.data_length == len(node.data or b"")
    assert stat.num_children == len(model.children(path))
    if path != "/":  # the root counts its system nodes as there from the start
        assert stat.cversion == node.created + node.deleted
