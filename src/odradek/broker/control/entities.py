"""What has settings in the tree, by kind."""

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.zookeeper.protocol.jute_replies import Children
from odradek.zookeeper.protocol.jute_requests import GetChildren


async def entities(client: ZooKeeperClient, kind: EntityType) -> list[Entity]:
    """All of a kind that have a znode; below a user are its clients."""
    parent = SettingsZnode.parent(kind)
    names = sorted((await client.children(parent)).names)
    found = [Entity(kind, name) for name in names]
    if kind is not EntityType.USERS or not names:
        return found
    below = [f"{name}/{EntityType.CLIENTS.value}" for name in names]
    answers = await client.batch([GetChildren(f"{parent}/{each}") for each in below])
    for each, answer in zip(below, answers, strict=True):
        if isinstance(answer, Children):
            found += [Entity(kind, f"{each}/{name}") for name in sorted(answer.names)]
    return found
