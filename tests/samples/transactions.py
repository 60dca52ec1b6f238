"""One producer of transactions, as requests name it: a record of `orders`, and a marker."""

from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.produce import PartitionProduceData, TopicProduceData
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

PRODUCER = 7


def one_record(
    sequence: int, *, epoch: int = 0, transactional: bool = True, producer: int = PRODUCER
) -> list[TopicProduceData]:
    """What a request of Produce has of it."""
    batch = build_batch(
        [Record(0, 1_700_000_000_000, None, b"in transaction")],
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    return [TopicProduceData("orders", partition_data=[PartitionProduceData(0, batch)])]


def one_marker(*, epoch: int, committed: bool, transactions: int = 2) -> WriteTxnMarkersRequest:
    """The end of its transaction, in this version of transactions."""
    topics = [WritableTxnMarkerTopic("orders", [0])]
    marker = WritableTxnMarker(PRODUCER, epoch, committed, topics, 0, transactions)
    return WriteTxnMarkersRequest([marker])
