"""OdradekAdmin (key 20292), version 0, flexible from 0.

Generated from `codegen/messages/odradek_admin.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT8, INT16, INT32, STRING, Field, Request, Response


class OdradekAdminRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = (
        "operation",
        "resource_type",
        "resource_name",
        "arguments",
        "timeout_ms",
        "forwarded_by",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 20292

    FIELDS = (
        Field("operation", STRING),
        Field("resource_type", INT8),
        Field("resource_name", STRING),
        Field("arguments", STRING, default=None, null=(0, 32767)),
        Field("timeout_ms", INT32, default=30000),
        Field("forwarded_by", INT32, default=-1),
    )

    def __init__(
        self,
        operation: str = "",
        resource_type: int = 0,
        resource_name: str = "",
        arguments: str | None = None,
        timeout_ms: int = 30000,
        forwarded_by: int = -1,
    ) -> None:
        self.operation = operation
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.arguments = arguments
        self.timeout_ms = timeout_ms
        self.forwarded_by = forwarded_by


class OdradekAdminResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "result")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 20292

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("result", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        result: str | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.result = result
