"""DescribeQuorum (key 55), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/describe_quorum.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UINT16,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class RequestPartitionData(Struct):
    """Of `RequestTopicData.partitions`."""

    __slots__ = ("partition_index",)

    FIELDS = (Field("partition_index", INT32),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class RequestTopicData(Struct):
    """Of `DescribeQuorumRequest.topics`."""

    __slots__ = ("topic_name", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partitions", Array(RequestPartitionData)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: Sequence[RequestPartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class DescribeQuorumRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("topics",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 55

    FIELDS = (Field("topics", Array(RequestTopicData)),)

    def __init__(
        self,
        topics: Sequence[RequestTopicData] = (),
    ) -> None:
        self.topics = topics


class ReplicaState(Struct):
    """Of `ResponsePartitionData.current_voters` and `ResponsePartitionData.observers`."""

    __slots__ = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )

    FIELDS = (
        Field("replica_id", INT32),
        Field("replica_directory_id", UUID, since=2),
        Field("log_end_offset", INT64),
        Field("last_fetch_timestamp", INT64, since=1, default=-1, ignorable=True),
        Field("last_caught_up_timestamp", INT64, since=1, default=-1, ignorable=True),
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: bytes = NO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


class ResponsePartitionData(Struct):
    """Of `ResponseTopicData.partitions`."""

    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, since=2, null=(2, 32767), ignorable=True),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
        Field("high_watermark", INT64),
        Field("current_voters", Array(ReplicaState)),
        Field("observers", Array(ReplicaState)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: Sequence[ReplicaState] = (),
        observers: Sequence[ReplicaState] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = current_voters
        self.observers = observers


class ResponseTopicData(Struct):
    """Of `DescribeQuorumResponse.topics`."""

    __slots__ = ("topic_name", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partitions", Array(ResponsePartitionData)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: Sequence[ResponsePartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class Listener(Struct):
    """Of `Node.listeners`."""

    __slots__ = ("name", "host", "port")

    FIELDS = (
        Field("name", STRING),
        Field("host", STRING),
        Field("port", UINT16),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class Node(Struct):
    """Of `DescribeQuorumResponse.nodes`."""

    __slots__ = ("node_id", "listeners")

    FIELDS = (
        Field("node_id", INT32),
        Field("listeners", Array(Listener)),
    )

    def __init__(
        self,
        node_id: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.node_id = node_id
        self.listeners = listeners


class DescribeQuorumResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("error_code", "error_message", "topics", "nodes")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 55

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, since=2, null=(2, 32767), ignorable=True),
        Field("topics", Array(ResponseTopicData)),
        Field("nodes", Array(Node), since=2),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[ResponseTopicData] = (),
        nodes: Sequence[Node] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = topics
        self.nodes = nodes
