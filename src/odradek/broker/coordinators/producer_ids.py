"""Producer ids, a block of a thousand at a time from ZooKeeper."""

import asyncio

from odradek.controller.producer_ids import decide_block
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.cluster import ProducerIdBlockZnode
from odradek.model.ids import BrokerId, ProducerId
from odradek.zookeeper.client.errors import BadVersion, ConnectionLost


class ProducerIds:
    """Each is given out once in the life of a cluster."""

    def __init__(self, me: BrokerId, client: ZooKeeperClient) -> None:
        self._me = me
        self._client = client
        self._next = 0
        self._end = 0  # exclusive
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> ProducerId:
        """The next one."""
        if self._next == self._end:
            async with self._one_at_a_time:
                if self._next == self._end:
                    await self._take_block()
        self._next += 1
        return ProducerId(self._next - 1)

    async def _take_block(self) -> None:
        """Another broker may take one at the same moment: then the next one is ours."""
        while True:
            newest = await self._client.get(ProducerIdBlockZnode.PATH)
            block, write = decide_block(self._me, newest)
            try:
                await self._client.set(write.path, write.data or b"", write.version)
            except (BadVersion, ConnectionLost):
                await self._client.connected()
                continue
            self._next, self._end = block.first, block.last + 1
            return
