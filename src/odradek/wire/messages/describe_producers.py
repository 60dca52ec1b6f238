"""DescribeProducers (key 61), version 0, flexible from 0.

Generated from `codegen/messages/describe_producers.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class TopicRequest(Struct):
    """Of `DescribeProducersRequest.topics`."""

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


class DescribeProducersRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("topics",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 61

    FIELDS = (Field("topics", Array(TopicRequest)),)

    def __init__(
        self,
        topics: Sequence[TopicRequest] = (),
    ) -> None:
        self.topics = topics


class ProducerState(Struct):
    """Of `PartitionResponse.active_producers`."""

    __slots__ = (
        "producer_id",
        "producer_epoch",
        "last_sequence",
        "last_timestamp",
        "coordinator_epoch",
        "current_txn_start_offset",
    )

    FIELDS = (
        Field("producer_id", INT64),
        Field("producer_epoch", INT32),
        Field("last_sequence", INT32, default=-1),
        Field("last_timestamp", INT64, default=-1),
        Field("coordinator_epoch", INT32),
        Field("current_txn_start_offset", INT64, default=-1),
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        last_sequence: int = -1,
        last_timestamp: int = -1,
        coordinator_epoch: int = 0,
        current_txn_start_offset: int = -1,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.last_sequence = last_sequence
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_start_offset = current_txn_start_offset


class PartitionResponse(Struct):
    """Of `TopicResponse.partitions`."""

    __slots__ = ("partition_index", "error_code", "error_message", "active_producers")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("active_producers", Array(ProducerState)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        active_producers: Sequence[ProducerState] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.active_producers = active_producers


class TopicResponse(Struct):
    """Of `DescribeProducersResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(PartitionResponse)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[PartitionResponse] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DescribeProducersResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 61

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("topics", Array(TopicResponse)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[TopicResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
