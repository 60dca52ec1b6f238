"""Settings written to ZooKeeper directly: before there is a broker that could be asked."""

from collections.abc import Callable, Mapping

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.settings import Entity, SettingsChangeZnode, SettingsZnode
from odradek.zookeeper.client.errors import NodeExists, NoNode
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, SetData, WriteOp

Change = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From what is set to what shall be."""


async def write_settings(client: ZooKeeperClient, entity: Entity, change: Change) -> None:
    """Brokers that run hear of it."""
    path, parent = SettingsZnode.path(entity), SettingsZnode.parent(entity.type)
    paths = (parent.rpartition("/")[0], parent, SettingsChangeZnode.PARENT)
    creates = [Create(each, None, OPEN_ACL) for each in paths]
    for answer in await client.batch(creates):
        if isinstance(answer, KeeperError) and not isinstance(answer, NodeExists):
            raise answer
    write: WriteOp
    try:
        found = await client.get(path)
    except NoNode:
        write = Create(path, SettingsZnode.encode(change({})))
    else:
        after = change(SettingsZnode.decode(entity, found.data))
        write = SetData(path, SettingsZnode.encode(after), found.stat.version)
    news = SettingsChangeZnode.encode(entity)
    mode = CreateMode.PERSISTENT_SEQUENTIAL
    await client.multi([write, Create(SettingsChangeZnode.CREATE_PATH, news, mode=mode)])
