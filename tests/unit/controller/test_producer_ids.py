"""No producer id is given out twice."""

import pytest

from odradek.controller.producer_ids import ProducerIdsUsedUp, decide_block
from odradek.metadata.znodes.cluster import ProducerIdBlock, ProducerIdBlockZnode
from odradek.model.ids import BrokerId, ProducerId
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import SetData
from tests.unit.controller.znode_stats import stat

ME = BrokerId(3)


def test_each_block_begins_behind_the_one_before() -> None:
    """The write names the version that was read, so two controllers cannot give out the same."""
    block, write = decide_block(ME, Data(None, stat(0)))
    assert block == ProducerIdBlock(ME, ProducerId(0), ProducerId(999))
    assert write == SetData("/latest_producer_id_block", ProducerIdBlockZnode.encode(block), 0)
    block, write = decide_block(ME, Data(write.data, stat(1)))
    assert block == ProducerIdBlock(ME, ProducerId(1000), ProducerId(1999))
    assert write.version == 1


def test_the_ids_end_before_they_wrap() -> None:
    """The last ones are never given: an id that wrapped would belong to somebody else."""
    last = ProducerIdBlock(ME, ProducerId(0), ProducerId((1 << 63) - 500))
    with pytest.raises(ProducerIdsUsedUp):
        decide_block(ME, Data(ProducerIdBlockZnode.encode(last), stat(1)))
