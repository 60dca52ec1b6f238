"""DeleteRecords (key 21), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/delete_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class DeleteRecordsPartition(Struct):
    """Of `DeleteRecordsTopic.partitions`."""

    __slots__ = ("partition_index", "offset")

    FIELDS = (
        Field("partition_index", INT32),
        Field("offset", INT64),
    )

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


class DeleteRecordsTopic(Struct):
    """Of `DeleteRecordsRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(DeleteRecordsPartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DeleteRecordsRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("topics", "timeout_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 21

    FIELDS = (
        Field("topics", Array(DeleteRecordsTopic)),
        Field("timeout_ms", INT32),
    )

    def __init__(
        self,
        topics: Sequence[DeleteRecordsTopic] = (),
        timeout_ms: int = 0,
    ) -> None:
        self.topics = topics
        self.timeout_ms = timeout_ms


class DeleteRecordsPartitionResult(Struct):
    """Of `DeleteRecordsTopicResult.partitions`."""

    __slots__ = ("partition_index", "low_watermark", "error_code")

    FIELDS = (
        Field("partition_index", INT32),
        Field("low_watermark", INT64),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Struct):
    """Of `DeleteRecordsResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(DeleteRecordsPartitionResult)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[DeleteRecordsPartitionResult] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DeleteRecordsResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 21

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("topics", Array(DeleteRecordsTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[DeleteRecordsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
