"""DescribeGroups (key 15), versions 0 to 6, flexible from 5.

Generated from `codegen/messages/describe_groups.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    BYTES,
    INT16,
    INT32,
    STRING,
    Array,
    Buffer,
    Field,
    Request,
    Response,
    Struct,
)


class DescribeGroupsRequest(Request):
    """Versions 0 to 6, flexible from 5."""

    __slots__ = ("groups", "include_authorized_operations")

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 5
    KEY = 15

    FIELDS = (
        Field("groups", Array(STRING)),
        Field("include_authorized_operations", BOOL, since=3),
    )

    def __init__(
        self,
        groups: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups = groups
        self.include_authorized_operations = include_authorized_operations


class DescribedGroupMember(Struct):
    """Of `DescribedGroup.members`."""

    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "member_metadata",
        "member_assignment",
    )

    FIELDS = (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=4, default=None, null=(4, 32767), ignorable=True),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("member_metadata", BYTES),
        Field("member_assignment", BYTES),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        member_metadata: Buffer = b"",
        member_assignment: Buffer = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Struct):
    """Of `DescribeGroupsResponse.groups`."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "protocol_type",
        "protocol_data",
        "members",
        "authorized_operations",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, since=6, default=None, null=(6, 32767)),
        Field("group_id", STRING),
        Field("group_state", STRING),
        Field("protocol_type", STRING),
        Field("protocol_data", STRING),
        Field("members", Array(DescribedGroupMember)),
        Field("authorized_operations", INT32, since=3, default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        protocol_type: str = "",
        protocol_data: str = "",
        members: Sequence[DescribedGroupMember] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Response):
    """Versions 0 to 6, flexible from 5."""

    __slots__ = ("throttle_time_ms", "groups")

    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 5
    KEY = 15

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("groups", Array(DescribedGroup)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
