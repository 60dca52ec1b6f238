"""OffsetFetch (key 9), versions 0 to 10, flexible from 6.

Generated from `codegen/messages/offset_fetch.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
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


class OffsetFetchRequestTopic(Struct):
    """Of `OffsetFetchRequest.topics`."""

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


class OffsetFetchRequestTopics(Struct):
    """Of `OffsetFetchRequestGroup.topics`."""

    __slots__ = ("name", "topic_id", "partition_indexes")

    FIELDS = (
        Field("name", STRING, since=8, until=9, ignorable=True),
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("partition_indexes", Array(INT32)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = partition_indexes


class OffsetFetchRequestGroup(Struct):
    """Of `OffsetFetchRequest.groups`."""

    __slots__ = ("group_id", "member_id", "member_epoch", "topics")

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING, since=9, default=None, null=(9, 32767), ignorable=True),
        Field("member_epoch", INT32, since=9, default=-1, ignorable=True),
        Field("topics", Array(OffsetFetchRequestTopics), null=(0, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: Sequence[OffsetFetchRequestTopics] | None = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = topics


class OffsetFetchRequest(Request):
    """Versions 0 to 10, flexible from 6."""

    __slots__ = ("group_id", "topics", "groups", "require_stable")

    VERSIONS = range(0, 11)
    FLEXIBLE_FROM = 6
    KEY = 9

    FIELDS = (
        Field("group_id", STRING, until=7),
        Field("topics", Array(OffsetFetchRequestTopic), until=7, null=(2, 7)),
        Field("groups", Array(OffsetFetchRequestGroup), since=8),
        Field("require_stable", BOOL, since=7),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[OffsetFetchRequestTopic] | None = (),
        groups: Sequence[OffsetFetchRequestGroup] = (),
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.groups = groups
        self.require_stable = require_stable


class OffsetFetchResponsePartition(Struct):
    """Of `OffsetFetchResponseTopic.partitions`."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("committed_offset", INT64),
        Field("committed_leader_epoch", INT32, since=5, until=7, default=-1, ignorable=True),
        Field("metadata", STRING, null=(0, 32767)),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Struct):
    """Of `OffsetFetchResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(OffsetFetchResponsePartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[OffsetFetchResponsePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class OffsetFetchResponsePartitions(Struct):
    """Of `OffsetFetchResponseTopics.partitions`."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "metadata",
        "error_code",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("committed_offset", INT64),
        Field("committed_leader_epoch", INT32, default=-1, ignorable=True),
        Field("metadata", STRING, null=(0, 32767)),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopics(Struct):
    """Of `OffsetFetchResponseGroup.topics`."""

    __slots__ = ("name", "topic_id", "partitions")

    FIELDS = (
        Field("name", STRING, since=8, until=9, ignorable=True),
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("partitions", Array(OffsetFetchResponsePartitions)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[OffsetFetchResponsePartitions] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


class OffsetFetchResponseGroup(Struct):
    """Of `OffsetFetchResponse.groups`."""

    __slots__ = ("group_id", "topics", "error_code")

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(OffsetFetchResponseTopics)),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[OffsetFetchResponseTopics] = (),
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = topics
        self.error_code = error_code


class OffsetFetchResponse(Response):
    """Versions 0 to 10, flexible from 6."""

    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")

    VERSIONS = range(0, 11)
    FLEXIBLE_FROM = 6
    KEY = 9

    FIELDS = (
        Field("throttle_time_ms", INT32, since=3, ignorable=True),
        Field("topics", Array(OffsetFetchResponseTopic), until=7),
        Field("error_code", INT16, since=2, until=7, ignorable=True),
        Field("groups", Array(OffsetFetchResponseGroup), since=8),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetFetchResponseTopic] = (),
        error_code: int = 0,
        groups: Sequence[OffsetFetchResponseGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
        self.error_code = error_code
        self.groups = groups
