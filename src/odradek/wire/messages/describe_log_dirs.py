"""DescribeLogDirs (key 35), versions 0 to 5, flexible from 2.

Generated from `codegen/messages/describe_log_dirs.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
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


class DescribableLogDirTopic(Struct):
    """Of `DescribeLogDirsRequest.topics`."""

    __slots__ = ("topic", "partitions")

    FIELDS = (
        Field("topic", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class DescribeLogDirsRequest(Request):
    """Versions 0 to 5, flexible from 2."""

    __slots__ = ("topics",)

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 2
    KEY = 35

    FIELDS = (Field("topics", Array(DescribableLogDirTopic), null=(0, 32767)),)

    def __init__(
        self,
        topics: Sequence[DescribableLogDirTopic] | None = (),
    ) -> None:
        self.topics = topics


class DescribeLogDirsPartition(Struct):
    """Of `DescribeLogDirsTopic.partitions`."""

    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    FIELDS = (
        Field("partition_index", INT32),
        Field("partition_size", INT64),
        Field("offset_lag", INT64),
        Field("is_future_key", BOOL),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Struct):
    """Of `DescribeLogDirsResult.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(DescribeLogDirsPartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[DescribeLogDirsPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class DescribeLogDirsResult(Struct):
    """Of `DescribeLogDirsResponse.results`."""

    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    FIELDS = (
        Field("error_code", INT16),
        Field("log_dir", STRING),
        Field("topics", Array(DescribeLogDirsTopic)),
        Field("total_bytes", INT64, since=4, default=-1, ignorable=True),
        Field("usable_bytes", INT64, since=4, default=-1, ignorable=True),
        Field("is_cordoned", BOOL, since=5, ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: Sequence[DescribeLogDirsTopic] = (),
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


class DescribeLogDirsResponse(Response):
    """Versions 0 to 5, flexible from 2."""

    __slots__ = ("throttle_time_ms", "error_code", "results")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 2
    KEY = 35

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16, since=3, ignorable=True),
        Field("results", Array(DescribeLogDirsResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: Sequence[DescribeLogDirsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = results
