"""UnregisterBroker (key 64), version 0, flexible from 0.

Generated from `codegen/messages/unregister_broker.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, STRING, Field, Request, Response


class UnregisterBrokerRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("broker_id",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 64

    FIELDS = (Field("broker_id", INT32),)

    def __init__(
        self,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id


class UnregisterBrokerResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 64

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
