"""Fetch (key 1), versions 0 to 18, flexible from 12.

Generated from `codegen/messages/fetch.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    NO_UUID,
    RECORDS,
    STRING,
    UUID,
    Array,
    Field,
    Records,
    Request,
    Response,
    Struct,
)


class ReplicaState(Struct):
    """Of `FetchRequest.replica_state`."""

    __slots__ = ("replica_id", "replica_epoch")

    FIELDS = (
        Field("replica_id", INT32, default=-1),
        Field("replica_epoch", INT64, default=-1),
    )

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


class FetchPartition(Struct):
    """Of `FetchTopic.partitions`."""

    __slots__ = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
        "incarnation",
    )

    FIELDS = (
        Field("partition", INT32),
        Field("current_leader_epoch", INT32, since=9, default=-1, ignorable=True),
        Field("fetch_offset", INT64),
        Field("last_fetched_epoch", INT32, since=12, default=-1),
        Field("log_start_offset", INT64, since=5, default=-1, ignorable=True),
        Field("partition_max_bytes", INT32),
        Field("replica_directory_id", UUID, since=17, tag=0, ignorable=True),
        Field(
            "high_watermark", INT64, since=18, default=9223372036854775807, tag=1, ignorable=True
        ),
        Field("incarnation", INT64, since=12, tag=10000, ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = NO_UUID,
        high_watermark: int = 9223372036854775807,
        incarnation: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.incarnation = incarnation


class FetchTopic(Struct):
    """Of `FetchRequest.topics`."""

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS = (
        Field("topic", STRING, until=12, ignorable=True),
        Field("topic_id", UUID, since=13, ignorable=True),
        Field("partitions", Array(FetchPartition)),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class ForgottenTopic(Struct):
    """Of `FetchRequest.forgotten_topics_data`."""

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS = (
        Field("topic", STRING, since=7, until=12, ignorable=True),
        Field("topic_id", UUID, since=13, ignorable=True),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class FetchRequest(Request):
    """Versions 0 to 18, flexible from 12."""

    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )

    VERSIONS = range(0, 19)
    FLEXIBLE_FROM = 12
    KEY = 1

    FIELDS = (
        Field(
            "cluster_id", STRING, since=12, default=None, null=(12, 32767), tag=0, ignorable=True
        ),
        Field("replica_id", INT32, until=14, default=-1),
        Field("replica_state", ReplicaState, since=15, tag=1),
        Field("max_wait_ms", INT32),
        Field("min_bytes", INT32),
        Field("max_bytes", INT32, since=3, default=2147483647, ignorable=True),
        Field("isolation_level", INT8, since=4, ignorable=True),
        Field("session_id", INT32, since=7, ignorable=True),
        Field("session_epoch", INT32, since=7, default=-1, ignorable=True),
        Field("topics", Array(FetchTopic)),
        Field("forgotten_topics_data", Array(ForgottenTopic), since=7),
        Field("rack_id", STRING, since=11, ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = topics
        self.forgotten_topics_data = forgotten_topics_data
        self.rack_id = rack_id


class EpochEndOffset(Struct):
    """Of `PartitionData.diverging_epoch`."""

    __slots__ = ("epoch", "end_offset")

    FIELDS = (
        Field("epoch", INT32, default=-1),
        Field("end_offset", INT64, default=-1),
    )

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Struct):
    """Of `PartitionData.current_leader`."""

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS = (
        Field("leader_id", INT32, default=-1),
        Field("leader_epoch", INT32, default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class SnapshotId(Struct):
    """Of `PartitionData.snapshot_id`."""

    __slots__ = ("end_offset", "epoch")

    FIELDS = (
        Field("end_offset", INT64, default=-1),
        Field("epoch", INT32, default=-1),
    )

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class AbortedTransaction(Struct):
    """Of `PartitionData.aborted_transactions`."""

    __slots__ = ("producer_id", "first_offset")

    FIELDS = (
        Field("producer_id", INT64),
        Field("first_offset", INT64),
    )

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


class PartitionData(Struct):
    """Of `FetchableTopicResponse.partitions`."""

    __slots__ = (
        "partition_index",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "diverging_epoch",
        "current_leader",
        "snapshot_id",
        "aborted_transactions",
        "preferred_read_replica",
        "records",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("high_watermark", INT64),
        Field("last_stable_offset", INT64, since=4, default=-1, ignorable=True),
        Field("log_start_offset", INT64, since=5, default=-1, ignorable=True),
        Field("diverging_epoch", EpochEndOffset, since=12, tag=0),
        Field("current_leader", LeaderIdAndEpoch, since=12, tag=1),
        Field("snapshot_id", SnapshotId, since=12, tag=2),
        Field(
            "aborted_transactions",
            Array(AbortedTransaction),
            since=4,
            null=(4, 32767),
            ignorable=True,
        ),
        Field("preferred_read_replica", INT32, since=11, default=-1),
        Field("records", RECORDS, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: Sequence[AbortedTransaction] | None = (),
        preferred_read_replica: int = -1,
        records: Records | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = diverging_epoch
        self.current_leader = current_leader
        self.snapshot_id = snapshot_id
        self.aborted_transactions = aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Struct):
    """Of `FetchResponse.responses`."""

    __slots__ = ("topic", "topic_id", "partitions")

    FIELDS = (
        Field("topic", STRING, until=12, ignorable=True),
        Field("topic_id", UUID, since=13, ignorable=True),
        Field("partitions", Array(PartitionData)),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = partitions


class NodeEndpoint(Struct):
    """Of `FetchResponse.node_endpoints`."""

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS = (
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
        Field("rack", STRING, default=None, null=(0, 32767)),
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


class FetchResponse(Response):
    """Versions 0 to 18, flexible from 12."""

    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")

    VERSIONS = range(0, 19)
    FLEXIBLE_FROM = 12
    KEY = 1

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16, since=7, ignorable=True),
        Field("session_id", INT32, since=7),
        Field("responses", Array(FetchableTopicResponse)),
        Field("node_endpoints", Array(NodeEndpoint), since=16, tag=0),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: Sequence[FetchableTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = responses
        self.node_endpoints = node_endpoints
