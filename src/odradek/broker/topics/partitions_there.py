"""Which partitions a topic has: what ZooKeeper says, and not what this broker was told."""

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.zookeeper.client.errors import NoNode
from odradek.zookeeper.protocol.codes import KeeperError


async def partitions_there(client: ZooKeeperClient, topic: str) -> frozenset[int] | None:
    """Of the topic that has this name now, none if there is no such topic; None: it is not known.

    Without ZooKeeper nothing is known.
    """
    path = TopicZnode.path(topic)
    try:
        await client.sync(path)
        data = (await client.get(path)).data
        return frozenset(TopicZnode.decode(topic, data).partitions)
    except NoNode:
        return frozenset()
    except (KeeperError, MalformedZnode):
        return None
