"""OffsetCommit (key 8), versions 0 to 10, flexible from 8.

Generated from `codegen/messages/offset_commit.txt` by `python -m codegen`.
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


class OffsetCommitRequestPartition(Struct):
    """Of `OffsetCommitRequestTopic.partitions`."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "commit_timestamp",
        "committed_metadata",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("committed_offset", INT64),
        Field("committed_leader_epoch", INT32, since=6, default=-1, ignorable=True),
        Field("commit_timestamp", INT64, since=1, until=1, default=-1),
        Field("committed_metadata", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        commit_timestamp: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.commit_timestamp = commit_timestamp
        self.committed_metadata = committed_metadata


class OffsetCommitRequestTopic(Struct):
    """Of `OffsetCommitRequest.topics`."""

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS = (
        Field("name", STRING, until=9, ignorable=True),
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("partitions", Array(OffsetCommitRequestPartition)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[OffsetCommitRequestPartition] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


class OffsetCommitRequest(Request):
    """Versions 0 to 10, flexible from 8."""

    __slots__ = (
        "group_id",
        "generation_id_or_member_epoch",
        "member_id",
        "group_instance_id",
        "retention_time_ms",
        "topics",
    )

    VERSIONS = range(0, 11)
    FLEXIBLE_FROM = 8
    KEY = 8

    FIELDS = (
        Field("group_id", STRING),
        Field("generation_id_or_member_epoch", INT32, since=1, default=-1, ignorable=True),
        Field("member_id", STRING, since=1, ignorable=True),
        Field("group_instance_id", STRING, since=7, default=None, null=(7, 32767)),
        Field("retention_time_ms", INT64, since=2, until=4, default=-1, ignorable=True),
        Field("topics", Array(OffsetCommitRequestTopic)),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: Sequence[OffsetCommitRequestTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = topics


class OffsetCommitResponsePartition(Struct):
    """Of `OffsetCommitResponseTopic.partitions`."""

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


class OffsetCommitResponseTopic(Struct):
    """Of `OffsetCommitResponse.topics`."""

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS = (
        Field("name", STRING, until=9, ignorable=True),
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("partitions", Array(OffsetCommitResponsePartition)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[OffsetCommitResponsePartition] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


class OffsetCommitResponse(Response):
    """Versions 0 to 10, flexible from 8."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 11)
    FLEXIBLE_FROM = 8
    KEY = 8

    FIELDS = (
        Field("throttle_time_ms", INT32, since=3, ignorable=True),
        Field("topics", Array(OffsetCommitResponseTopic)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
