"""DescribeTopicPartitions (key 75), version 0, flexible from 0.

Generated from `codegen/messages/describe_topic_partitions.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT16,
    INT32,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class TopicRequest(Struct):
    """Of `DescribeTopicPartitionsRequest.topics`."""

    __slots__ = ("name",)

    FIELDS = (Field("name", STRING),)

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class Cursor(Struct):
    """Of `DescribeTopicPartitionsRequest.cursor` and `DescribeTopicPartitionsResponse.next_cursor`."""

    __slots__ = ("topic_name", "partition_index")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partition_index", INT32),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("topics", "response_partition_limit", "cursor")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 75

    FIELDS = (
        Field("topics", Array(TopicRequest)),
        Field("response_partition_limit", INT32, default=2000),
        Field("cursor", Cursor, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        topics: Sequence[TopicRequest] = (),
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics = topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor


class DescribeTopicPartitionsResponsePartition(Struct):
    """Of `DescribeTopicPartitionsResponseTopic.partitions`."""

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "eligible_leader_replicas",
        "last_known_elr",
        "offline_replicas",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("partition_index", INT32),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32, default=-1, ignorable=True),
        Field("replica_nodes", Array(INT32)),
        Field("isr_nodes", Array(INT32)),
        Field("eligible_leader_replicas", Array(INT32), default=None, null=(0, 32767)),
        Field("last_known_elr", Array(INT32), default=None, null=(0, 32767)),
        Field("offline_replicas", Array(INT32), ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = replica_nodes
        self.isr_nodes = isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = offline_replicas


class DescribeTopicPartitionsResponseTopic(Struct):
    """Of `DescribeTopicPartitionsResponse.topics`."""

    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("name", STRING, null=(0, 32767)),
        Field("topic_id", UUID, ignorable=True),
        Field("is_internal", BOOL, ignorable=True),
        Field("partitions", Array(DescribeTopicPartitionsResponsePartition)),
        Field("topic_authorized_operations", INT32, default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = NO_UUID,
        is_internal: bool = False,
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.topic_authorized_operations = topic_authorized_operations


class DescribeTopicPartitionsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "topics", "next_cursor")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 75

    FIELDS = (
        Field("throttle_time_ms", INT32, ignorable=True),
        Field("topics", Array(DescribeTopicPartitionsResponseTopic)),
        Field("next_cursor", Cursor, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[DescribeTopicPartitionsResponseTopic] = (),
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
        self.next_cursor = next_cursor
