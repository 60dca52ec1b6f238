"""ShareAcknowledge (key 79), versions 0 to 2, flexible from 0.

Generated from `codegen/messages/share_acknowledge.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    DEFAULT,
    INT8,
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


class AcknowledgementBatch(Struct):
    """Of `AcknowledgePartition.acknowledgement_batches`."""

    __slots__ = ("first_offset", "last_offset", "acknowledge_types")

    FIELDS = (
        Field("first_offset", INT64),
        Field("last_offset", INT64),
        Field("acknowledge_types", Array(INT8)),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        acknowledge_types: Sequence[int] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.acknowledge_types = acknowledge_types


class AcknowledgePartition(Struct):
    """Of `AcknowledgeTopic.partitions`."""

    __slots__ = ("partition_index", "acknowledgement_batches")

    FIELDS = (
        Field("partition_index", INT32),
        Field("acknowledgement_batches", Array(AcknowledgementBatch)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        acknowledgement_batches: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        self.partition_index = partition_index
        self.acknowledgement_batches = acknowledgement_batches


class AcknowledgeTopic(Struct):
    """Of `ShareAcknowledgeRequest.topics`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(AcknowledgePartition)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[AcknowledgePartition] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ShareAcknowledgeRequest(Request):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 79

    FIELDS = (
        Field("group_id", STRING, default=None, null=(0, 32767)),
        Field("member_id", STRING, null=(0, 32767)),
        Field("share_session_epoch", INT32),
        Field("is_renew_ack", BOOL, since=2),
        Field("topics", Array(AcknowledgeTopic)),
    )

    def __init__(
        self,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: Sequence[AcknowledgeTopic] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics = topics


class LeaderIdAndEpoch(Struct):
    """Of `PartitionData.current_leader`."""

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


class PartitionData(Struct):
    """Of `ShareAcknowledgeTopicResponse.partitions`."""

    __slots__ = ("partition_index", "error_code", "error_message", "current_leader")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("current_leader", LeaderIdAndEpoch),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = DEFAULT,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is DEFAULT else current_leader


class ShareAcknowledgeTopicResponse(Struct):
    """Of `ShareAcknowledgeResponse.responses`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(PartitionData)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class NodeEndpoint(Struct):
    """Of `ShareAcknowledgeResponse.node_endpoints`."""

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


class ShareAcknowledgeResponse(Response):
    """Versions 0 to 2, flexible from 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "acquisition_lock_timeout_ms",
        "responses",
        "node_endpoints",
    )

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0
    KEY = 79

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("acquisition_lock_timeout_ms", INT32, since=2, ignorable=True),
        Field("responses", Array(ShareAcknowledgeTopicResponse)),
        Field("node_endpoints", Array(NodeEndpoint)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: Sequence[ShareAcknowledgeTopicResponse] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses = responses
        self.node_endpoints = node_endpoints
