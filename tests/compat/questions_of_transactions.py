"""Requests about transactions of an id with which no producer has come, and codes of answers."""

from odradek.model.errors import ErrorCode as Code
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.wire.schema import Request

ID = "copier"
GROUP = "copiers"
PRODUCER = 7_778
NOBODYS = {Code.INVALID_PRODUCER_ID_MAPPING}
NONE = {Code.NONE}
BATCHED_SINCE = 4
KEYS = (24, 25, 26, 27, 28, 57, 65, 66)


def asked(key: int, version: int, topic: str, *, exists: bool) -> tuple[Request, set[Code]]:
    """One request about a topic, and the codes in its answer."""
    missing = {Code.UNKNOWN_TOPIC_OR_PARTITION}
    rows = [TxnOffsetCommitRequestPartition(0, 1)]
    topics = [TxnOffsetCommitRequestTopic(topic, rows)]
    marked = [WritableTxnMarkerTopic(topic, [0])]
    name = ID if exists else ""
    requests: dict[int, tuple[Request, set[Code]]] = {
        24: (_added(version, topic), NOBODYS if exists else missing),
        25: (AddOffsetsToTxnRequest(ID, PRODUCER, 0, GROUP), NOBODYS),
        26: (EndTxnRequest(name, PRODUCER, 0), NOBODYS if name else {Code.INVALID_REQUEST}),
        27: (
            WriteTxnMarkersRequest([WritableTxnMarker(7_777, topics=marked)]),
            NONE if exists else missing,
        ),
        28: (
            TxnOffsetCommitRequest(ID, GROUP, PRODUCER, topics=topics),
            NOBODYS if exists else missing,
        ),
        57: (
            UpdateFeaturesRequest(
                feature_updates=[FeatureUpdateKey("transaction.version" if exists else topic, 0)]
            ),
            NONE if exists else {Code.INVALID_UPDATE_VERSION},
        ),
        65: (DescribeTransactionsRequest([ID]), {Code.TRANSACTIONAL_ID_NOT_FOUND}),
        66: (ListTransactionsRequest([topic]), NONE),
    }
    return requests[key]


def _added(version: int, topic: str) -> Request:
    topics = [AddPartitionsToTxnTopic(topic, [0])]
    if version < BATCHED_SINCE:
        return AddPartitionsToTxnRequest((), ID, PRODUCER, 0, topics)
    return AddPartitionsToTxnRequest(
        [AddPartitionsToTxnTransaction(ID, PRODUCER, 0, topics=topics)]
    )
