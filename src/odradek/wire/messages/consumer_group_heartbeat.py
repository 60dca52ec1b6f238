"""ConsumerGroupHeartbeat (key 68), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/consumer_group_heartbeat.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
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


class TopicPartitions(Struct):
    """Of `ConsumerGroupHeartbeatRequest.topic_partitions` and `Assignment.topic_partitions`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ConsumerGroupHeartbeatRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 68

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
        Field("member_epoch", INT32),
        Field("instance_id", STRING, default=None, null=(0, 32767)),
        Field("rack_id", STRING, default=None, null=(0, 32767)),
        Field("rebalance_timeout_ms", INT32, default=-1),
        Field("subscribed_topic_names", Array(STRING), default=None, null=(0, 32767)),
        Field("subscribed_topic_regex", STRING, since=1, default=None, null=(1, 32767)),
        Field("server_assignor", STRING, default=None, null=(0, 32767)),
        Field("topic_partitions", Array(TopicPartitions), default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: Sequence[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: Sequence[TopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions


class Assignment(Struct):
    """Of `ConsumerGroupHeartbeatResponse.assignment`."""

    __slots__ = ("topic_partitions",)

    FIELDS = (Field("topic_partitions", Array(TopicPartitions)),)

    def __init__(
        self,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class ConsumerGroupHeartbeatResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "assignment",
    )

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 68

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("member_id", STRING, default=None, null=(0, 32767)),
        Field("member_epoch", INT32),
        Field("heartbeat_interval_ms", INT32),
        Field("assignment", Assignment, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
