"""JoinGroup (key 11), versions 0 to 9, flexible from 6.

Generated from `codegen/messages/join_group.txt` by `python -m codegen`.
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


class JoinGroupRequestProtocol(Struct):
    """Of `JoinGroupRequest.protocols`."""

    __slots__ = ("name", "metadata")

    FIELDS = (
        Field("name", STRING),
        Field("metadata", BYTES),
    )

    def __init__(
        self,
        name: str = "",
        metadata: Buffer = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class JoinGroupRequest(Request):
    """Versions 0 to 9, flexible from 6."""

    __slots__ = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )

    VERSIONS = range(0, 10)
    FLEXIBLE_FROM = 6
    KEY = 11

    FIELDS = (
        Field("group_id", STRING),
        Field("session_timeout_ms", INT32),
        Field("rebalance_timeout_ms", INT32, since=1, default=-1, ignorable=True),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=5, default=None, null=(5, 32767)),
        Field("protocol_type", STRING),
        Field("protocols", Array(JoinGroupRequestProtocol)),
        Field("reason", STRING, since=8, default=None, null=(8, 32767), ignorable=True),
    )

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: Sequence[JoinGroupRequestProtocol] = (),
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.reason = reason


class JoinGroupResponseMember(Struct):
    """Of `JoinGroupResponse.members`."""

    __slots__ = ("member_id", "group_instance_id", "metadata")

    FIELDS = (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
        Field("metadata", BYTES),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: Buffer = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class JoinGroupResponse(Response):
    """Versions 0 to 9, flexible from 6."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )

    VERSIONS = range(0, 10)
    FLEXIBLE_FROM = 6
    KEY = 11

    FIELDS = (
        Field("throttle_time_ms", INT32, since=2, ignorable=True),
        Field("error_code", INT16),
        Field("generation_id", INT32, default=-1),
        Field("protocol_type", STRING, since=7, default=None, null=(7, 32767), ignorable=True),
        Field("protocol_name", STRING, null=(7, 32767)),
        Field("leader", STRING),
        Field("skip_assignment", BOOL, since=9),
        Field("member_id", STRING),
        Field("members", Array(JoinGroupResponseMember)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: Sequence[JoinGroupResponseMember] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = members
