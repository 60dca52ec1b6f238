"""OffsetDelete (key 47), version 0.

Generated from `codegen/messages/offset_delete.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class OffsetDeleteRequestPartition(Struct):
    """Of `OffsetDeleteRequestTopic.partitions`."""

    __slots__ = ("partition_index",)

    FIELDS = (Field("partition_index", INT32),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Struct):
    """Of `OffsetDeleteRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(OffsetDeleteRequestPartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[OffsetDeleteRequestPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class OffsetDeleteRequest(Request):
    """Version 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 1)
    KEY = 47

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(OffsetDeleteRequestTopic)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[OffsetDeleteRequestTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class OffsetDeleteResponsePartition(Struct):
    """Of `OffsetDeleteResponseTopic.partitions`."""

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


class OffsetDeleteResponseTopic(Struct):
    """Of `OffsetDeleteResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(OffsetDeleteResponsePartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[OffsetDeleteResponsePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class OffsetDeleteResponse(Response):
    """Version 0."""

    __slots__ = ("error_code", "throttle_time_ms", "topics")

    VERSIONS = range(0, 1)
    KEY = 47

    FIELDS = (
        Field("error_code", INT16),
        Field("throttle_time_ms", INT32, ignorable=True),
        Field("topics", Array(OffsetDeleteResponseTopic)),
    )

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetDeleteResponseTopic] = (),
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
