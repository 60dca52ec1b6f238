"""PushTelemetry (key 72), version 0, flexible from 0.

Generated from `codegen/messages/push_telemetry.txt` by `python -m codegen`.
"""

from odradek.wire.schema import (
    BOOL,
    BYTES,
    INT8,
    INT16,
    INT32,
    NO_UUID,
    UUID,
    Buffer,
    Field,
    Request,
    Response,
)


class PushTelemetryRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = (
        "client_instance_id",
        "subscription_id",
        "terminating",
        "compression_type",
        "metrics",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 72

    FIELDS = (
        Field("client_instance_id", UUID),
        Field("subscription_id", INT32),
        Field("terminating", BOOL),
        Field("compression_type", INT8),
        Field("metrics", BYTES),
    )

    def __init__(
        self,
        client_instance_id: bytes = NO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: Buffer = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics


class PushTelemetryResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 72

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
