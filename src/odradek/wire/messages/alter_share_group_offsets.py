"""AlterShareGroupOffsets (key 91), version 0, flexible from 0.

Generated from `codegen/messages/alter_share_group_offsets.txt` by `python -m codegen`.
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


class AlterShareGroupOffsetsRequestPartition(Struct):
    """Of `AlterShareGroupOffsetsRequestTopic.partitions`."""

    __slots__ = ("partition_index", "start_offset")

    FIELDS = (
        Field("partition_index", INT32),
        Field("start_offset", INT64),
    )

    def __init__(
        self,
        partition_index: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset


class AlterShareGroupOffsetsRequestTopic(Struct):
    """Of `AlterShareGroupOffsetsRequest.topics`."""

    __slots__ = ("topic_name", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partitions", Array(AlterShareGroupOffsetsRequestPartition)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: Sequence[AlterShareGroupOffsetsRequestPartition] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class AlterShareGroupOffsetsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 91

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(AlterShareGroupOffsetsRequestTopic)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[AlterShareGroupOffsetsRequestTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class AlterShareGroupOffsetsResponsePartition(Struct):
    """Of `AlterShareGroupOffsetsResponseTopic.partitions`."""

    __slots__ = ("partition_index", "error_code", "error_message")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class AlterShareGroupOffsetsResponseTopic(Struct):
    """Of `AlterShareGroupOffsetsResponse.responses`."""

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("topic_id", UUID),
        Field("partitions", Array(AlterShareGroupOffsetsResponsePartition)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[AlterShareGroupOffsetsResponsePartition] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = partitions


class AlterShareGroupOffsetsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 91

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("responses", Array(AlterShareGroupOffsetsResponseTopic)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: Sequence[AlterShareGroupOffsetsResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = responses
