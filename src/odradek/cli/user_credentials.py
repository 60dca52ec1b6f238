"""Credentials of users written to ZooKeeper: for the first user, before a broker could be asked."""

from collections.abc import Sequence

from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.settings import SettingsChangeZnode, SettingsZnode, user_entity
from odradek.security.scram_changes import Deletion, Upsertion, changed
from odradek.zookeeper.client.errors import NodeExists, NoNode
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create, SetData, WriteOp


async def write_credentials(
    client: ZooKeeperClient, user: str, changes: Sequence[Deletion | Upsertion]
) -> None:
    """Brokers that run hear of it."""
    entity = user_entity(user)
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
        write = Create(path, SettingsZnode.encode(changed(user, list(changes), {})))
    else:
        after = changed(user, list(changes), SettingsZnode.decode(entity, found.data))
        write = SetData(path, SettingsZnode.encode(after), found.stat.version)
    news = SettingsChangeZnode.encode(entity)
    mode = CreateMode.PERSISTENT_SEQUENTIAL
    await client.multi([write, Create(SettingsChangeZnode.CREATE_PATH, news, mode=mode)])
