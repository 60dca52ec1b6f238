"""BeginQuorumEpoch (key 53), versions 0 to 1, flexible from 1.

Generated from `codegen/messages/begin_quorum_epoch.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
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

    __slots__ = ("partition_index", "voter_directory_id", "leader_id", "leader_epoch")

    FIELDS = (
        Field("partition_index", INT32),
        Field("voter_directory_id", UUID, since=1, ignorable=True),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
    )

    def __init__(
        self,
        partition_index: int = 0,
        voter_directory_id: bytes = NO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class RequestTopicData(Struct):
    """Of `BeginQuorumEpochRequest.topics`."""

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


class LeaderEndpoint(Struct):
    """Of `BeginQuorumEpochRequest.leader_endpoints`."""

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


class BeginQuorumEpochRequest(Request):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("cluster_id", "voter_id", "topics", "leader_endpoints")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 53

    FIELDS = (
        Field("cluster_id", STRING, default=None, null=(0, 32767)),
        Field("voter_id", INT32, since=1, default=-1, ignorable=True),
        Field("topics", Array(RequestTopicData)),
        Field("leader_endpoints", Array(LeaderEndpoint), since=1, ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: Sequence[RequestTopicData] = (),
        leader_endpoints: Sequence[LeaderEndpoint] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = topics
        self.leader_endpoints = leader_endpoints


class ResponsePartitionData(Struct):
    """Of `ResponseTopicData.partitions`."""

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class ResponseTopicData(Struct):
    """Of `BeginQuorumEpochResponse.topics`."""

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


class NodeEndpoint(Struct):
    """Of `BeginQuorumEpochResponse.node_endpoints`."""

    __slots__ = ("node_id", "host", "port")

    FIELDS = (
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", UINT16),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


class BeginQuorumEpochResponse(Response):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("error_code", "topics", "node_endpoints")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 53

    FIELDS = (
        Field("error_code", INT16),
        Field("topics", Array(ResponseTopicData)),
        Field("node_endpoints", Array(NodeEndpoint), since=1, tag=0),
    )

    def __init__(
        self,
        error_code: int = 0,
        topics: Sequence[ResponseTopicData] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.error_code = error_code
        self.topics = topics
        self.node_endpoints = node_endpoints
