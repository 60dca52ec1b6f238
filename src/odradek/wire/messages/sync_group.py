"""SyncGroup (key 14), versions 0 to 5, flexible from 4.

Generated from `codegen/messages/sync_group.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
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


class SyncGroupRequestAssignment(Struct):
    """Of `SyncGroupRequest.assignments`."""

    __slots__ = ("member_id", "assignment")

    FIELDS = (
        Field("member_id", STRING),
        Field("assignment", BYTES),
    )

    def __init__(
        self,
        member_id: str = "",
        assignment: Buffer = b"",
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


class SyncGroupRequest(Request):
    """Versions 0 to 5, flexible from 4."""

    __slots__ = (
        "group_id",
        "generation_id",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocol_name",
        "assignments",
    )

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4
    KEY = 14

    FIELDS = (
        Field("group_id", STRING),
        Field("generation_id", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=3, default=None, null=(3, 32767)),
        Field("protocol_type", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
        Field("protocol_name", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
        Field("assignments", Array(SyncGroupRequestAssignment)),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: Sequence[SyncGroupRequestAssignment] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = assignments


class SyncGroupResponse(Response):
    """Versions 0 to 5, flexible from 4."""

    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")

    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 4
    KEY = 14

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16),
        Field("protocol_type", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
        Field("protocol_name", STRING, since=5, default=None, null=(5, 32767), ignorable=True),
        Field("assignment", BYTES),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: Buffer = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
