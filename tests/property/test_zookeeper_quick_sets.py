"""The quick way of a set is the general one: same change, same tree, same stat, or not taken."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.units import Bytes
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError, Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl
from odradek.zookeeper.protocol.jute_requests import Create2, SetData
from odradek.zookeeper.server.writes import TreeLimits, Writer, decide
from odradek.zookeeper.tree.quick_sets import Outcome, set_quickly
from odradek.zookeeper.tree.quotas import LIMITS, QUOTA, STATS
from odradek.zookeeper.tree.tree import CONTAINER, VERSION_MAX, Tree, ttl_owner

WHO = Writer(7, (), TreeLimits())
TO_READ = (Acl(Permission.READ, ANYONE),)


def planted(
    before: bytes | None,
    version: int,
    acl: tuple[Acl, ...],
    *,
    owner: int,
    crowd: int,
    quota: bool,
) -> Tree:
    """A tree with one node at /a that is as one likes it."""
    tree = Tree()
    requests = [Create2("/a", before), *(Create2(f"/a/{number}", b"") for number in range(crowd))]
    if quota:
        requests += [
            Create2(f"{QUOTA}/a", b""),
            Create2(f"{QUOTA}/a{LIMITS}", b"count=-1,bytes=-1"),
            Create2(f"{QUOTA}/a{STATS}", b""),
        ]
    for zxid, request in enumerate(requests, 1):
        change = decide(tree, request, WHO)
        assert change is not None
        tree.apply(change, zxid, 1_000 + zxid)
    tree.nodes["/a"] = tree.nodes["/a"]._replace(version=version, acl=acl, owner=owner)
    return tree


def in_general(tree: Tree, request: SetData) -> Outcome | KeeperError:
    """By the rules, then by the tree, then by the node; and the tree is full."""
    try:
        change = decide(tree, request, Writer(7, (), TreeLimits(bytes_max=Bytes(tree.bytes))))
    except KeeperError as error:
        return error
    assert change is not None
    touched = tree.apply(change, 99, 2_000)
    return change, touched, tree.nodes[request.path].stat_bytes()  # type: ignore[return-value] # of a set


ODDITIES: dict[str, Sequence[object]] = {
    "before": [None],
    "after": [None],
    "version": [VERSION_MAX - 1, VERSION_MAX, -2, -(1 << 31)],
    "expected": [ANY_VERSION, 0, 5],
    "acl": [TO_READ],
    "owner": [7, CONTAINER, ttl_owner(9)],
    "crowd": [1, 10],
    "quota": [True],
    "path": ["/b", "a", ""],
}


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """What a controller writes, but for a few oddities."""
    case: dict[str, Any] = {"before": draw(st.binary(max_size=2)), "version": 3, "acl": OPEN_ACL}
    case |= {"after": draw(st.binary(max_size=2)), "owner": 0, "crowd": 0, "quota": False}
    case["path"] = "/a"
    odd = draw(st.sets(st.sampled_from(sorted(ODDITIES)), max_size=2))
    case |= {name: draw(st.sampled_from(ODDITIES[name])) for name in sorted(odd)}
    return {"expected": case["version"], **case}


@settings(max_examples=500)
@given(case=cases())
def test_both_ways_are_one(case: dict[str, Any]) -> None:
    """Whatever the node is like: the quick way does the same, or leaves everything as it was."""
    request = SetData(case.pop("path"), case.pop("after"), case.pop("expected"))
    one, other = planted(**case), planted(**case)
    untouched = dict(one.nodes), one.bytes
    one.begin()
    quick = set_quickly(one, request, 99, 2_000)
    if quick is None:
        assert (one.nodes, one.bytes) == untouched
        return
    assert quick == in_general(other, request)
    assert (one.nodes, one.bytes) == (other.nodes, other.bytes)
    one.rollback()
    assert (one.nodes, one.bytes) == untouched


def test_what_a_controller_writes_is_quick() -> None:
    """The case for which it is there."""
    tree = planted(b"old", 3, OPEN_ACL, owner=0, crowd=0, quota=False)
    assert set_quickly(tree, SetData("/a", b"new", 3), 99, 2_000) is not None
