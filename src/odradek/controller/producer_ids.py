"""Blocks of producer ids: each broker gets a thousand at a time, and no id is ever given twice.

The znode's version guards the write. Where the answer was lost the block is forfeited: the next
try reads the znode anew, and a thousand ids of nine quintillion do not matter.
"""

from odradek.metadata.json_body import INT64_MAX
from odradek.metadata.znodes.cluster import (
    PRODUCER_IDS_PER_BLOCK,
    ProducerIdBlock,
    ProducerIdBlockZnode,
)
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId, ProducerId
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import SetData


class ProducerIdsUsedUp(BrokerError):
    """No more producer ids can be given out in the life of this cluster."""


def decide_block(broker: BrokerId, newest: Data) -> tuple[ProducerIdBlock, SetData]:
    """The next block, which is the broker's once the write has happened."""
    before = ProducerIdBlockZnode.decode(newest.data)
    first = 0 if before is None else before.last + 1
    if first > INT64_MAX - PRODUCER_IDS_PER_BLOCK:
        raise ProducerIdsUsedUp
    last = ProducerId(first + PRODUCER_IDS_PER_BLOCK - 1)
    block = ProducerIdBlock(broker, ProducerId(first), last)
    data = ProducerIdBlockZnode.encode(block)
    return block, SetData(ProducerIdBlockZnode.PATH, data, newest.stat.version)
