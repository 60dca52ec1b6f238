"""ListOffsets (key 2), versions 0 to 11, flexible from 6.

Generated from `codegen/messages/list_offsets.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
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


class ListOffsetsPartition(Struct):
    """Of `ListOffsetsTopic.partitions`."""

    __slots__ = ("partition_index", "current_leader_epoch", "timestamp", "max_num_offsets")

    FIELDS = (
        Field("partition_index", INT32),
        Field("current_leader_epoch", INT32, since=4, default=-1, ignorable=True),
        Field("timestamp", INT64),
        Field("max_num_offsets", INT32, until=0, default=1),
    )

    def __init__(
        self,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        max_num_offsets: int = 1,
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.max_num_offsets = max_num_offsets


class ListOffsetsTopic(Struct):
    """Of `ListOffsetsRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(ListOffsetsPartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[ListOffsetsPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class ListOffsetsRequest(Request):
    """Versions 0 to 11, flexible from 6."""

    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")

    VERSIONS = range(0, 12)
    FLEXIBLE_FROM = 6
    KEY = 2

    FIELDS = (
        Field("replica_id", INT32),
        Field("isolation_level", INT8, since=2),
        Field("topics", Array(ListOffsetsTopic)),
        Field("timeout_ms", INT32, since=10, ignorable=True),
    )

    def __init__(
        self,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: Sequence[ListOffsetsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics = topics
        self.timeout_ms = timeout_ms


class ListOffsetsPartitionResponse(Struct):
    """Of `ListOffsetsTopicResponse.partitions`."""

    __slots__ = (
        "partition_index",
        "error_code",
        "old_style_offsets",
        "timestamp",
        "offset",
        "leader_epoch",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("old_style_offsets", Array(INT64), until=0),
        Field("timestamp", INT64, since=1, default=-1),
        Field("offset", INT64, since=1, default=-1),
        Field("leader_epoch", INT32, since=4, default=-1),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        old_style_offsets: Sequence[int] = (),
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.old_style_offsets = old_style_offsets
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


class ListOffsetsTopicResponse(Struct):
    """Of `ListOffsetsResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(ListOffsetsPartitionResponse)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[ListOffsetsPartitionResponse] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class ListOffsetsResponse(Response):
    """Versions 0 to 11, flexible from 6."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 12)
    FLEXIBLE_FROM = 6
    KEY = 2

    FIELDS = (
        Field("throttle_time_ms", INT32, since=2, ignorable=True),
        Field("topics", Array(ListOffsetsTopicResponse)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[ListOffsetsTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
