"""Quotas: how many nodes and bytes there may be at and below a path.

ZooKeeper keeps them in its own tree: `/zookeeper/quota<path>/zookeeper_limits` is what an operator
wrote, `/zookeeper/quota<path>/zookeeper_stats` is what is there now, kept by the server. Both are
text, `count=1,bytes=2`, where -1 is no limit, and the hard limits follow as
`=;byteHardLimit=3;countHardLimit=4`. Only the hard ones are enforced; an old, soft limit is for
people to look at. Of quotas within one another the innermost counts.
"""

import re
from collections.abc import Mapping
from typing import Final, Protocol

from odradek.zookeeper.protocol.codes import KeeperCode, KeeperError
from odradek.zookeeper.protocol.paths import parent_of

QUOTA: Final = "/zookeeper/quota"
LIMITS: Final = "/zookeeper_limits"
STATS: Final = "/zookeeper_stats"

_PAIR: Final = re.compile(rb"(\w+)=(-?\d{1,18})")


class Node(Protocol):
    """A node of the tree, as far as quotas are written in it."""

    @property
    def data(self) -> bytes | None:
        """What was written."""
        ...


class Tree(Protocol):
    """The tree, as far as quotas are kept in it."""

    quotas: dict[str, None]

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All of them, by their paths."""
        ...


def limits_of(data: bytes | None) -> dict[str, int]:
    """What the text says; what cannot be read is no limit."""
    return {key.decode(): int(value) for key, value in _PAIR.findall(data or b"")}


def quota_path(path: str) -> str | None:
    """The path under quota, if this is the node of its limits."""
    if path.startswith(QUOTA) and path.endswith(LIMITS):
        return path[len(QUOTA) : -len(LIMITS)]
    return None


def innermost(quotas: dict[str, None], path: str) -> str | None:
    """The longest path under quota that this one is, or is below."""
    while path != "/":
        if path in quotas:
            return path
        path = parent_of(path)
    return None


def check_quota(tree: Tree, path: str, *, nodes: int, size: int) -> None:
    """Raises QUOTAEXCEEDED where so many nodes or bytes more would break a hard limit."""
    prefix = innermost(tree.quotas, path)
    if prefix is None:
        return
    limits, used = (tree.nodes.get(QUOTA + prefix + leaf) for leaf in (LIMITS, STATS))
    if limits is None or used is None:
        return
    hard, now = limits_of(limits.data), limits_of(used.data)
    for what, limit, more in (("count", "countHardLimit", nodes), ("bytes", "byteHardLimit", size)):
        bound = hard.get(limit, -1)
        if more > 0 and bound > -1 and now.get(what, 0) + more > bound:
            raise KeeperError(
                KeeperCode.QUOTAEXCEEDED, f"{path}: {prefix} may have {bound} {what} and no more"
            )


def stats_text(count: int, size: int) -> bytes:
    """What the server writes into the node of the stats."""
    return b"count=%d,bytes=%d" % (count, size)
