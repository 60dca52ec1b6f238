"""LeaveGroup (key 13), versions 0 to 5, flexible from 4.

Generated from `codegen/messages/leave_group.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class MemberIdentity(Struct):
    """Of `LeaveGroupRequest.members`."""

    __slots__ = ("member_id", "group_instance_id", "reason")

    FIELDS = (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, default=None, null=(0, 32767)),
        Field("reason", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


class LeaveGroupRequest(Request):
    """Versions 0 to 5, flexible from 4."""

    __slots__ = ("group_id", "member_id", "members")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4
    KEY = 13

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING, until=2),
        Field("members", Array(MemberIdentity), since=3),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: Sequence[MemberIdentity] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = members


class MemberResponse(Struct):
    """Of `LeaveGroupResponse.members`."""

    __slots__ = ("member_id", "group_instance_id", "error_code")

    FIELDS = (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, null=(0, 32767)),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


class LeaveGroupResponse(Response):
    """Versions 0 to 5, flexible from 4."""

    __slots__ = ("throttle_time_ms", "error_code", "members")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4
    KEY = 13

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16),
        Field("members", Array(MemberResponse), since=3),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: Sequence[MemberResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = members
