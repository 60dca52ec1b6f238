"""From a request to a change: the rules, in the order in which ZooKeeper holds them.

Each function looks at the tree and at who asks, and gives the change that follows, or raises the
error that a real server would answer. Nothing is changed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.model.units import GIB, Bytes
from odradek.zookeeper.protocol.codes import (
    ANY_VERSION,
    CreateMode,
    KeeperCode,
    KeeperError,
    Permission,
)
from odradek.zookeeper.protocol.jute import OPEN_ACL, Identity
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Create,
    Create2,
    CreateContainer,
    CreateTtl,
    Delete,
    Request,
    SetAcl,
    SetData,
)
from odradek.zookeeper.protocol.paths import parent_of, path_fault
from odradek.zookeeper.tree.access import check_access, settled_acl
from odradek.zookeeper.tree.quotas import check_quota
from odradek.zookeeper.tree.transactions import AclSet, DataSet, NodeCreated, NodeDeleted
from odradek.zookeeper.tree.tree import (
    CONTAINER,
    SYSTEM_PATHS,
    TTL_MAX,
    Node,
    NodeChange,
    Tree,
    next_version,
    ttl_owner,
)

_SEQUENTIAL: Final = frozenset(
    {
        CreateMode.PERSISTENT_SEQUENTIAL,
        CreateMode.EPHEMERAL_SEQUENTIAL,
        CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL,
    }
)
_EPHEMERAL: Final = frozenset({CreateMode.EPHEMERAL, CreateMode.EPHEMERAL_SEQUENTIAL})
_TTL: Final = frozenset({CreateMode.PERSISTENT_WITH_TTL, CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL})

AnyCreate = Create | Create2 | CreateContainer | CreateTtl


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How much one server keeps in memory: far more than a cluster of a million partitions."""

    nodes_max: int = 10_000_000
    bytes_max: Bytes = GIB  # of paths and data


class Writer(NamedTuple):
    """Who asks, and what they may fill."""

    session_id: int
    identities: Sequence[Identity]
    limits: TreeLimits


def decide(tree: Tree, request: Request, who: Writer) -> NodeChange | None:
    """The change that a request asks for; None for a check that held."""
    return _DECIDERS[type(request)](tree, request, who)


def _decide_set_data(tree: Tree, request: SetData, who: Writer) -> NodeChange:
    path, data, version = request
    node = tree.nodes.get(path) or _node(tree, path)
    acl, current, before = node.acl, node.version, node.data
    if acl is not OPEN_ACL:
        check_access(acl, Permission.WRITE, who.identities, path)
    growth = (len(data) if data else 0) - (len(before) if before else 0)
    if growth > 0:
        _check_room(tree, who.limits, growth)
        if tree.quotas:
            check_quota(tree, path, nodes=0, size=growth)
    if version not in (ANY_VERSION, current):
        _check_version(current, version, path)
    return DataSet(path, data, next_version(current))


def _decide_create(tree: Tree, request: AnyCreate, who: Writer) -> NodeChange:
    path, data = request.path, request.data
    owner, sequential = _kind(request, who.session_id)
    if "/" not in path or "\0" in path:
        raise KeeperError(KeeperCode.BADARGUMENTS, path_fault(path) or "")
    acl = settled_acl(request.acl, who.identities, path)
    parent = tree.nodes.get(parent_of(path))
    if parent is None:
        raise KeeperError(KeeperCode.NONODE, f"{path}: no parent")
    check_access(parent.acl, Permission.CREATE, who.identities, path)
    if sequential:
        path = f"{path}{parent.creations:010d}"
    fault = path_fault(path)
    if fault is not None:
        raise KeeperError(KeeperCode.BADARGUMENTS, fault)
    if path in tree.nodes:
        raise KeeperError(KeeperCode.NODEEXISTS, path)
    if parent.owner > 0:
        raise KeeperError(KeeperCode.NOCHILDRENFOREPHEMERALS, path)
    size = len(data) if data else 0
    if len(tree.nodes) >= who.limits.nodes_max:
        raise KeeperError(KeeperCode.QUOTAEXCEEDED, f"{path}: {who.limits.nodes_max} nodes are all")
    _check_room(tree, who.limits, size + len(path))
    if tree.quotas:
        check_quota(tree, path, nodes=1, size=size)
    return NodeCreated(path, data, acl, owner)


def _decide_delete(tree: Tree, request: Delete, who: Writer) -> NodeChange:
    path, version = request
    if path in SYSTEM_PATHS or "/" not in path or "\0" in path:
        raise KeeperError(KeeperCode.BADARGUMENTS, f"{path} cannot be deleted")
    parent = tree.nodes.get(parent_of(path))
    if parent is None:
        raise KeeperError(KeeperCode.NONODE, f"{path}: no parent")
    check_access(parent.acl, Permission.DELETE, who.identities, path)
    node = tree.nodes.get(path)
    if node is None:
        raise KeeperError(KeeperCode.NONODE, f"{path}: no such node")
    _check_version(node.version, version, path)
    if node.children:
        raise KeeperError(KeeperCode.NOTEMPTY, path)
    return NodeDeleted(path)


def _decide_check(tree: Tree, request: Check, who: Writer) -> None:
    path, version = request
    node = _node(tree, path)
    check_access(node.acl, Permission.READ, who.identities, path)
    _check_version(node.version, version, path)


def _decide_set_acl(tree: Tree, request: SetAcl, who: Writer) -> NodeChange:
    path, wanted, version = request
    fault = path_fault(path)
    if fault is not None:
        raise KeeperError(KeeperCode.BADARGUMENTS, fault)
    acl = settled_acl(wanted, who.identities, path)
    node = _node(tree, path)
    check_access(node.acl, Permission.ADMIN, who.identities, path)
    _check_version(node.aversion, version, path)
    return AclSet(path, acl, next_version(node.aversion))


def _kind(request: AnyCreate, session_id: int) -> tuple[int, bool]:
    """The owner that the mode stands for, and whether a number is put behind the name.

    It is the operation that makes a container or a TTL, as in ZooKeeper: a plain create with the
    mode of a container makes a plain node, one with the mode of a TTL has no TTL to give.
    """
    mode = request.mode
    if mode not in CreateMode._value2member_map_:
        raise KeeperError(KeeperCode.BADARGUMENTS, f"{request.path}: no mode {mode}")
    ttl = request.ttl if isinstance(request, CreateTtl) else None
    if (mode in _TTL) != (ttl is not None) or (ttl is not None and not 0 < ttl <= TTL_MAX):
        raise KeeperError(KeeperCode.BADARGUMENTS, f"{request.path}: mode {mode} with ttl {ttl}")
    if isinstance(request, CreateContainer):
        owner = CONTAINER
    elif ttl is not None:
        owner = ttl_owner(ttl)
    else:
        owner = session_id if mode in _EPHEMERAL else 0
    return owner, mode in _SEQUENTIAL


def _node(tree: Tree, path: str) -> Node:
    """The node; NONODE where it is not there, BADARGUMENTS where it cannot be."""
    node = tree.nodes.get(path)
    if node is None:
        fault = path_fault(path)
        code = KeeperCode.NONODE if fault is None else KeeperCode.BADARGUMENTS
        raise KeeperError(code, fault or f"{path}: no such node")
    return node


def _check_version(current: int, expected: int, path: str) -> None:
    if expected not in {ANY_VERSION, current}:
        raise KeeperError(
            KeeperCode.BADVERSION, f"{path}: version {current}, and {expected} was expected"
        )


def _check_room(tree: Tree, limits: TreeLimits, growth: int) -> None:
    if tree.bytes + growth > limits.bytes_max:
        raise KeeperError(KeeperCode.QUOTAEXCEEDED, f"{limits.bytes_max} bytes are all there is")


_DECIDERS: Final[Mapping[type, Callable[..., NodeChange | None]]] = {
    SetData: _decide_set_data,
    Create: _decide_create,
    Create2: _decide_create,
    CreateContainer: _decide_create,
    CreateTtl: _decide_create,
    Delete: _decide_delete,
    Check: _decide_check,
    SetAcl: _decide_set_acl,
}
