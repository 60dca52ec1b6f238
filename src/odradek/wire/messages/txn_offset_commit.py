"""TxnOffsetCommit (key 28), versions 0 to 5, flexible from 3.

Generated from `codegen/messages/txn_offset_commit.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class TxnOffsetCommitRequestPartition(Struct):
    """Of `TxnOffsetCommitRequestTopic.partitions`."""

    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("committed_offset", INT64),
        Field("committed_leader_epoch", INT32, since=2, default=-1, ignorable=True),
        Field("committed_metadata", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class TxnOffsetCommitRequestTopic(Struct):
    """Of `TxnOffsetCommitRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(TxnOffsetCommitRequestPartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[TxnOffsetCommitRequestPartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class TxnOffsetCommitRequest(Request):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 28

    FIELDS = (
        Field("transactional_id", STRING),
        Field("group_id", STRING),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("generation_id", INT32, since=3, default=-1),
        Field("member_id", STRING, since=3),
        Field("group_instance_id", STRING, since=3, default=None, null=(3, 32767)),
        Field("topics", Array(TxnOffsetCommitRequestTopic)),
    )

    def __init__(
        self,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: Sequence[TxnOffsetCommitRequestTopic] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics = topics


class TxnOffsetCommitResponsePartition(Struct):
    """Of `TxnOffsetCommitResponseTopic.partitions`."""

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


class TxnOffsetCommitResponseTopic(Struct):
    """Of `TxnOffsetCommitResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(TxnOffsetCommitResponsePartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[TxnOffsetCommitResponsePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class TxnOffsetCommitResponse(Response):
    """Versions 0 to 5, flexible from 3."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3
    KEY = 28

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("topics", Array(TxnOffsetCommitResponseTopic)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[TxnOffsetCommitResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
