"""DescribeShareGroupOffsets (key 90), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/describe_share_group_offsets.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class DescribeShareGroupOffsetsRequestTopic(Struct):
    """Of `DescribeShareGroupOffsetsRequestGroup.topics`."""

    __slots__ = ("topic_name", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class DescribeShareGroupOffsetsRequestGroup(Struct):
    """Of `DescribeShareGroupOffsetsRequest.groups`."""

    __slots__ = ("group_id", "topics")

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(DescribeShareGroupOffsetsRequestTopic), null=(0, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsRequestTopic] | None = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class DescribeShareGroupOffsetsRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("groups",)

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 90

    FIELDS = (Field("groups", Array(DescribeShareGroupOffsetsRequestGroup)),)

    def __init__(
        self,
        groups: Sequence[DescribeShareGroupOffsetsRequestGroup] = (),
    ) -> None:
        self.groups = groups


class DescribeShareGroupOffsetsResponsePartition(Struct):
    """Of `DescribeShareGroupOffsetsResponseTopic.partitions`."""

    __slots__ = (
        "partition_index",
        "start_offset",
        "leader_epoch",
        "lag",
        "error_code",
        "error_message",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("start_offset", INT64),
        Field("leader_epoch", INT32),
        Field("lag", INT64, since=1, default=-1, ignorable=True),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
        leader_epoch: int = 0,
        lag: int = -1,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponseTopic(Struct):
    """Of `DescribeShareGroupOffsetsResponseGroup.topics`."""

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("topic_id", UUID),
        Field("partitions", Array(DescribeShareGroupOffsetsResponsePartition)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[DescribeShareGroupOffsetsResponsePartition] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = partitions


class DescribeShareGroupOffsetsResponseGroup(Struct):
    """Of `DescribeShareGroupOffsetsResponse.groups`."""

    __slots__ = ("group_id", "topics", "error_code", "error_message")

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(DescribeShareGroupOffsetsResponseTopic)),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[DescribeShareGroupOffsetsResponseTopic] = (),
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("throttle_time_ms", "groups")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 90

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("groups", Array(DescribeShareGroupOffsetsResponseGroup)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribeShareGroupOffsetsResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
