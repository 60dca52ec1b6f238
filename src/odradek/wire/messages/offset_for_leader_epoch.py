"""OffsetForLeaderEpoch (key 23), versions 0 to 4, flexible from 4.

Generated from `codegen/messages/offset_for_leader_epoch.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, INT64, STRING, Array, Field, Request, Response, Struct


class OffsetForLeaderPartition(Struct):
    """Of `OffsetForLeaderTopic.partitions`."""

    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")

    FIELDS = (
        Field("partition", INT32),
        Field("current_leader_epoch", INT32, since=2, default=-1, ignorable=True),
        Field("leader_epoch", INT32),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Struct):
    """Of `OffsetForLeaderEpochRequest.topics`."""

    __slots__ = ("topic", "partitions")

    FIELDS = (
        Field("topic", STRING),
        Field("partitions", Array(OffsetForLeaderPartition)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: Sequence[OffsetForLeaderPartition] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class OffsetForLeaderEpochRequest(Request):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("replica_id", "topics")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 23

    FIELDS = (
        Field("replica_id", INT32, since=3, default=-2, ignorable=True),
        Field("topics", Array(OffsetForLeaderTopic)),
    )

    def __init__(
        self,
        replica_id: int = -2,
        topics: Sequence[OffsetForLeaderTopic] = (),
    ) -> None:
        self.replica_id = replica_id
        self.topics = topics


class EpochEndOffset(Struct):
    """Of `OffsetForLeaderTopicResult.partitions`."""

    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")

    FIELDS = (
        Field("error_code", INT16),
        Field("partition", INT32),
        Field("leader_epoch", INT32, since=1, default=-1, ignorable=True),
        Field("end_offset", INT64, default=-1),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Struct):
    """Of `OffsetForLeaderEpochResponse.topics`."""

    __slots__ = ("topic", "partitions")

    FIELDS = (
        Field("topic", STRING),
        Field("partitions", Array(EpochEndOffset)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: Sequence[EpochEndOffset] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class OffsetForLeaderEpochResponse(Response):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 23

    FIELDS = (
        Field("throttle_time_ms", INT32, since=2, ignorable=True),
        Field("topics", Array(OffsetForLeaderTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[OffsetForLeaderTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
