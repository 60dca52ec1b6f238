"""ShareGroupDescribe (key 77), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/share_group_describe.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    DEFAULT,
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


class ShareGroupDescribeRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("group_ids", "include_authorized_operations")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 77

    FIELDS = (
        Field("group_ids", Array(STRING)),
        Field("include_authorized_operations", BOOL),
    )

    def __init__(
        self,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = group_ids
        self.include_authorized_operations = include_authorized_operations


class TopicPartitions(Struct):
    """Of `Assignment.topic_partitions`."""

    __slots__ = ("topic_id", "topic_name", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("topic_name", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = partitions


class Assignment(Struct):
    """Of `Member.assignment`."""

    __slots__ = ("topic_partitions",)

    FIELDS = (Field("topic_partitions", Array(TopicPartitions)),)

    def __init__(
        self,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class Member(Struct):
    """Of `DescribedGroup.members`."""

    __slots__ = (
        "member_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "assignment",
    )

    FIELDS = (
        Field("member_id", STRING),
        Field("rack_id", STRING, default=None, null=(0, 32767)),
        Field("member_epoch", INT32),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topic_names", Array(STRING)),
        Field("assignment", Assignment),
    )

    def __init__(
        self,
        member_id: str = "",
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        assignment: Assignment = DEFAULT,
    ) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = subscribed_topic_names
        self.assignment = Assignment() if assignment is DEFAULT else assignment


class DescribedGroup(Struct):
    """Of `ShareGroupDescribeResponse.groups`."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("group_id", STRING),
        Field("group_state", STRING),
        Field("group_epoch", INT32),
        Field("assignment_epoch", INT32),
        Field("assignor_name", STRING),
        Field("members", Array(Member)),
        Field("authorized_operations", INT32, default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = "",
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = members
        self.authorized_operations = authorized_operations


class ShareGroupDescribeResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("throttle_time_ms", "groups")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 77

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("groups", Array(DescribedGroup)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
