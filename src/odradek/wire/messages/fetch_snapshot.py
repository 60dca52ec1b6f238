"""FetchSnapshot (key 59), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/fetch_snapshot.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    DEFAULT,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    RECORDS,
    STRING,
    UINT16,
    UUID,
    Array,
    Field,
    Records,
    Request,
    Response,
    Struct,
)


class SnapshotId(Struct):
    """Of `RequestPartitionSnapshot.snapshot_id` and `ResponsePartitionSnapshot.snapshot_id`."""

    __slots__ = ("end_offset", "epoch")

    FIELDS = (
        Field("end_offset", INT64),
        Field("epoch", INT32),
    )

    def __init__(
        self,
        end_offset: int = 0,
        epoch: int = 0,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class RequestPartitionSnapshot(Struct):
    """Of `RequestTopicSnapshot.partitions`."""

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "snapshot_id",
        "position",
        "replica_directory_id",
    )

    FIELDS = (
        Field("partition", INT32),
        Field("current_leader_epoch", INT32),
        Field("snapshot_id", SnapshotId),
        Field("position", INT64),
        Field("replica_directory_id", UUID, since=1, tag=0, ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId = DEFAULT,
        position: int = 0,
        replica_directory_id: bytes = NO_UUID,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id = SnapshotId() if snapshot_id is DEFAULT else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id


class RequestTopicSnapshot(Struct):
    """Of `FetchSnapshotRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(RequestPartitionSnapshot)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[RequestPartitionSnapshot] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class FetchSnapshotRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("cluster_id", "replica_id", "max_bytes", "topics")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 59

    FIELDS = (
        Field("cluster_id", STRING, default=None, null=(0, 32767), tag=0),
        Field("replica_id", INT32, default=-1),
        Field("max_bytes", INT32, default=2147483647),
        Field("topics", Array(RequestTopicSnapshot)),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: Sequence[RequestTopicSnapshot] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics = topics


class LeaderIdAndEpoch(Struct):
    """Of `ResponsePartitionSnapshot.current_leader`."""

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS = (
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
    )

    def __init__(
        self,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class ResponsePartitionSnapshot(Struct):
    """Of `ResponseTopicSnapshot.partitions`."""

    __slots__ = (
        "index",
        "error_code",
        "snapshot_id",
        "current_leader",
        "size",
        "position",
        "unaligned_records",
    )

    FIELDS = (
        Field("index", INT32),
        Field("error_code", INT16),
        Field("snapshot_id", SnapshotId),
        Field("current_leader", LeaderIdAndEpoch, tag=0),
        Field("size", INT64),
        Field("position", INT64),
        Field("unaligned_records", RECORDS),
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId = DEFAULT,
        current_leader: LeaderIdAndEpoch | None = None,
        size: int = 0,
        position: int = 0,
        unaligned_records: Records | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id = SnapshotId() if snapshot_id is DEFAULT else snapshot_id
        self.current_leader = current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records


class ResponseTopicSnapshot(Struct):
    """Of `FetchSnapshotResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(ResponsePartitionSnapshot)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[ResponsePartitionSnapshot] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class NodeEndpoint(Struct):
    """Of `FetchSnapshotResponse.node_endpoints`."""

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


class FetchSnapshotResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "topics", "node_endpoints")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 59

    FIELDS = (
        Field("throttle_time_ms", INT32, ignorable=True),
        Field("error_code", INT16),
        Field("topics", Array(ResponseTopicSnapshot)),
        Field("node_endpoints", Array(NodeEndpoint), since=1, tag=0),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: Sequence[ResponseTopicSnapshot] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = topics
        self.node_endpoints = node_endpoints
