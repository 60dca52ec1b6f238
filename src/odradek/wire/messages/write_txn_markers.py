"""WriteTxnMarkers (key 27), versions 0 to 2, flexible from 1.

Generated from `codegen/messages/write_txn_markers.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class WritableTxnMarkerTopic(Struct):
    """Of `WritableTxnMarker.topics`."""

    __slots__ = ("name", "partition_indexes")

    FIELDS = (
        Field("name", STRING),
        Field("partition_indexes", Array(INT32)),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes


class WritableTxnMarker(Struct):
    """Of `WriteTxnMarkersRequest.markers`."""

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )

    FIELDS = (
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("transaction_result", BOOL),
        Field("topics", Array(WritableTxnMarkerTopic)),
        Field("coordinator_epoch", INT32),
        Field("transaction_version", INT8, since=2, ignorable=True),
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: Sequence[WritableTxnMarkerTopic] = (),
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version


class WriteTxnMarkersRequest(Request):
    """Versions 0 to 2, flexible from 1."""

    __slots__ = ("markers",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 1
    KEY = 27

    FIELDS = (Field("markers", Array(WritableTxnMarker)),)

    def __init__(
        self,
        markers: Sequence[WritableTxnMarker] = (),
    ) -> None:
        self.markers = markers


class WritableTxnMarkerPartitionResult(Struct):
    """Of `WritableTxnMarkerTopicResult.partitions`."""

    __slots__ = ("partition_index", "error_code")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class WritableTxnMarkerTopicResult(Struct):
    """Of `WritableTxnMarkerResult.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(WritableTxnMarkerPartitionResult)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[WritableTxnMarkerPartitionResult] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class WritableTxnMarkerResult(Struct):
    """Of `WriteTxnMarkersResponse.markers`."""

    __slots__ = ("producer_id", "topics")

    FIELDS = (
        Field("producer_id", INT64),
        Field("topics", Array(WritableTxnMarkerTopicResult)),
    )

    def __init__(
        self,
        producer_id: int = 0,
        topics: Sequence[WritableTxnMarkerTopicResult] = (),
    ) -> None:
        self.producer_id = producer_id
        self.topics = topics


class WriteTxnMarkersResponse(Response):
    """Versions 0 to 2, flexible from 1."""

    __slots__ = ("markers",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 1
    KEY = 27

    FIELDS = (Field("markers", Array(WritableTxnMarkerResult)),)

    def __init__(
        self,
        markers: Sequence[WritableTxnMarkerResult] = (),
    ) -> None:
        self.markers = markers
