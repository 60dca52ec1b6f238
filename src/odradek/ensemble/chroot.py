"""Makes the path below which a cluster lives, where an ensemble does not have it yet.

A client cannot do so itself: what is above its root it cannot name. So this is a session of its
own at the real root, for as long as it takes.
"""

import asyncio

from odradek.ensemble.client import ZooKeeperClient
from odradek.ports import Clock, Network, Random
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import NodeExists
from odradek.zookeeper.client.session import Session, SessionSettings
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Create


async def make_chroot(
    ensemble: Ensemble, random: Random, network: Network, clock: Clock, *, settings: SessionSettings
) -> None:
    """Every part of the chroot is there afterwards; others may make it at the same time."""
    session = Session(ensemble._replace(chroot=""), random, settings)
    client = ZooKeeperClient(session, network, clock, lambda _: None)
    parts = ensemble.chroot.split("/")
    paths = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.run())
        client.begin()
        try:
            answers = await client.batch([Create(path, None, OPEN_ACL) for path in paths])
        finally:
            await client.close()
    for answer in answers:
        if isinstance(answer, KeeperError) and not isinstance(answer, NodeExists):
            raise answer
