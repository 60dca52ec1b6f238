"""ZooKeeper's tree for `odradek debug bundle`: everything but what may be secret.

Contents are taken of nodes that are known to hold none; of all others it is told that they are
there, of which version, and how long they are. Users' password hashes and brokers' dynamic settings
are among those others.
"""

import asyncio
from typing import Final

from odradek.cli.reaching.tree import in_tree
from odradek.ensemble.client import ZooKeeperClient
from odradek.security.zookeeper_access import ZooKeeperAccess
from odradek.zookeeper.client.errors import NoAuth, NoNode

OPEN: Final = ("/brokers/", "/config/topics/", "/admin/", "/isr_change_notification/")
OPEN_NODES: Final = frozenset({"/controller", "/controller_epoch", "/cluster/id", "/feature"})


def is_open(path: str) -> bool:
    """Whether what a node holds may be seen by others."""
    return path in OPEN_NODES or path.startswith(OPEN)


async def nodes_at(connect: str, access: ZooKeeperAccess) -> list[dict[str, object]]:
    """All nodes, each with its path, by path."""
    return sorted(await in_tree(connect, _all, access), key=lambda it: str(it["path"]))


async def _all(client: ZooKeeperClient) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    level = ["/"]
    while level:
        told = await asyncio.gather(*(_one(client, path) for path in level))
        found += [node for node, _ in told if node]
        level = [below for _, names in told for below in names]
    return found


async def _one(client: ZooKeeperClient, path: str) -> tuple[dict[str, object], list[str]]:
    try:
        read = await client.get(path)
        names = (await client.children(path)).names
    except NoNode:
        return {}, []
    except NoAuth:
        return {"path": path, "refused": True}, []
    node: dict[str, object] = {
        "path": path,
        "version": read.stat.version,
        "owner": read.stat.ephemeral_owner,
        "length": len(read.data or b""),
    }
    if is_open(path):
        node["data"] = (read.data or b"").decode(errors="replace")
    above = path.rstrip("/")
    return node, [f"{above}/{name}" for name in names]
