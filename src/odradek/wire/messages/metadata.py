"""Metadata (key 3), versions 0 to 13, flexible from 9.

Generated from `codegen/messages/metadata.txt` by `python -m codegen`.
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


class MetadataRequestTopic(Struct):
    """Of `MetadataRequest.topics`."""

    __slots__ = ("topic_id", "name")

    FIELDS = (
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("name", STRING, null=(10, 32767)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        name: str | None = "",
    ) -> None:
        self.topic_id = topic_id
        self.name = name


class MetadataRequest(Request):
    """Versions 0 to 13, flexible from 9."""

    __slots__ = (
        "topics",
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9
    KEY = 3

    FIELDS = (
        Field("topics", Array(MetadataRequestTopic), null=(1, 32767)),
        Field("allow_auto_topic_creation", BOOL, since=4, default=True),
        Field("include_cluster_authorized_operations", BOOL, since=8, until=10),
        Field("include_topic_authorized_operations", BOOL, since=8),
    )

    def __init__(
        self,
        topics: Sequence[MetadataRequestTopic] | None = (),
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics = topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations


class MetadataResponseBroker(Struct):
    """Of `MetadataResponse.brokers`."""

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS = (
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
        Field("rack", STRING, since=1, default=None, null=(1, 32767), ignorable=True),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class MetadataResponsePartition(Struct):
    """Of `MetadataResponseTopic.partitions`."""

    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("partition_index", INT32),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32, since=7, default=-1, ignorable=True),
        Field("replica_nodes", Array(INT32)),
        Field("isr_nodes", Array(INT32)),
        Field("offline_replicas", Array(INT32), since=5, ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = replica_nodes
        self.isr_nodes = isr_nodes
        self.offline_replicas = offline_replicas


class MetadataResponseTopic(Struct):
    """Of `MetadataResponse.topics`."""

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
        Field("name", STRING, null=(12, 32767)),
        Field("topic_id", UUID, since=10, ignorable=True),
        Field("is_internal", BOOL, since=1, ignorable=True),
        Field("partitions", Array(MetadataResponsePartition)),
        Field("topic_authorized_operations", INT32, since=8, default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = NO_UUID,
        is_internal: bool = False,
        partitions: Sequence[MetadataResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Response):
    """Versions 0 to 13, flexible from 9."""

    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )

    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9
    KEY = 3

    FIELDS = (
        Field("throttle_time_ms", INT32, since=3, ignorable=True),
        Field("brokers", Array(MetadataResponseBroker)),
        Field("cluster_id", STRING, since=2, default=None, null=(2, 32767), ignorable=True),
        Field("controller_id", INT32, since=1, default=-1, ignorable=True),
        Field("topics", Array(MetadataResponseTopic)),
        Field("cluster_authorized_operations", INT32, since=8, until=10, default=-2147483648),
        Field("error_code", INT16, since=13, ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: Sequence[MetadataResponseBroker] = (),
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: Sequence[MetadataResponseTopic] = (),
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
