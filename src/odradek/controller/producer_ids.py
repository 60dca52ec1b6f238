"""Blocks of producer ids: each broker gets a thousand at a time, and no id is ever given twice.

The znode's version guards the write. Where the answer was lost the block is forfeited: the next
try reads the znode anew, and a thousand ids of nine quintillion do not matter.
"""

from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.steps import Steps, commit, read
from odradek.metadata.json_body import INT64_MAX
from odradek.metadata.znodes.cluster import (
    PRODUCER_IDS_PER_BLOCK,
    ProducerIdBlock,
    ProducerIdBlockZnode,
)
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId, ProducerId
from odradek.model.positions import BrokerEpoch
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import GetData, Multi, SetData

TRIES_MAX: Final = 5


class ProducerIdsUsedUp(BrokerError):
    """No more producer ids can be given out in the life of this cluster."""


class StaleBrokerEpoch(BrokerError):
    """The broker that asks is not registered, or asks for an earlier life."""

    code = ErrorCode.STALE_BROKER_EPOCH


class ProducerIdsNotAllocated(BrokerError):
    """ZooKeeper did not take the new block; the broker asks again."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def on_producer_ids(
    context: ControllerContext, broker: BrokerId, epoch: BrokerEpoch
) -> Steps[ProducerIdBlock]:
    """The next block, for a broker that is registered."""
    known = context.image.brokers.get(broker)
    if known is None or known.epoch != epoch:
        raise StaleBrokerEpoch(f"broker {broker} is not registered with broker epoch {epoch}")
    reason = ""
    for _ in range(TRIES_MAX):
        (newest,) = yield from read(GetData(ProducerIdBlockZnode.PATH, watch=False))
        if not isinstance(newest, Data):
            raise ProducerIdsNotAllocated(str(newest))
        block, write = decide_block(broker, newest)
        (answer,) = yield from commit(Multi((write,)))
        if not isinstance(answer, KeeperError):
            return block
        reason = str(answer)
    raise ProducerIdsNotAllocated(reason)


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
