"""Vote (key 52), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/vote.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
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

    __slots__ = (
        "partition_index",
        "replica_epoch",
        "replica_id",
        "replica_directory_id",
        "voter_directory_id",
        "last_offset_epoch",
        "last_offset",
        "pre_vote",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("replica_epoch", INT32),
        Field("replica_id", INT32),
        Field("replica_directory_id", UUID, since=1, ignorable=True),
        Field("voter_directory_id", UUID, since=1, ignorable=True),
        Field("last_offset_epoch", INT32),
        Field("last_offset", INT64),
        Field("pre_vote", BOOL, since=2),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = NO_UUID,
        voter_directory_id: bytes = NO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote


class RequestTopicData(Struct):
    """Of `VoteRequest.topics`."""

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


class VoteRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("cluster_id", "voter_id", "topics")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 52

    FIELDS = (
        Field("cluster_id", STRING, default=None, null=(0, 32767)),
        Field("voter_id", INT32, since=1, default=-1, ignorable=True),
        Field("topics", Array(RequestTopicData)),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: Sequence[RequestTopicData] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics = topics


class ResponsePartitionData(Struct):
    """Of `ResponseTopicData.partitions`."""

    __slots__ = ("partition_index", "error_code", "leader_id", "leader_epoch", "vote_granted")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
        Field("vote_granted", BOOL),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        vote_granted: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.vote_granted = vote_granted


class ResponseTopicData(Struct):
    """Of `VoteResponse.topics`."""

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
    """Of `VoteResponse.node_endpoints`."""

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


class VoteResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("error_code", "topics", "node_endpoints")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 52

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
