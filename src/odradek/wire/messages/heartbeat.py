"""Heartbeat (key 12), versions 0 to 4, flexible from 4.

Generated from `codegen/messages/heartbeat.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, STRING, Field, Request, Response


class HeartbeatRequest(Request):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 12

    FIELDS = (
        Field("group_id", STRING),
        Field("generation_id", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=3, default=None, null=(3, 32767)),
    )

    def __init__(
        self,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id


class HeartbeatResponse(Response):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = ("throttle_time_ms", "error_code")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    KEY = 12

    FIELDS = (
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
