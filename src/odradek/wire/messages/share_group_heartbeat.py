"""ShareGroupHeartbeat (key 76), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/share_group_heartbeat.txt` by `python -m codegen`.
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


class ShareGroupHeartbeatRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 76

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
        Field("member_epoch", INT32),
        Field("rack_id", STRING, default=None, null=(0, 32767)),
        Field("subscribed_topic_names", Array(STRING), default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: Sequence[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names


class TopicPartitions(Struct):
    """Of `Assignment.topic_partitions`."""

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


class Assignment(Struct):
    """Of `ShareGroupHeartbeatResponse.assignment`."""

    __slots__ = ("topic_partitions",)

    FIELDS = (Field("topic_partitions", Array(TopicPartitions)),)

    def __init__(
        self,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class ShareGroupHeartbeatResponse(Response):
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
    KEY = 76

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
