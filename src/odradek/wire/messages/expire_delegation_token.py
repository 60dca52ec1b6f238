"""ExpireDelegationToken (key 40), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/expire_delegation_token.txt` by `python -m codegen`.
"""

from odradek.wire.schema import BYTES, INT16, INT32, INT64, Buffer, Field, Request, Response


class ExpireDelegationTokenRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("hmac", "expiry_time_period_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 40

    FIELDS = (
        Field("hmac", BYTES),
        Field("expiry_time_period_ms", INT64),
    )

    def __init__(
        self,
        hmac: Buffer = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms


class ExpireDelegationTokenResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 40

    FIELDS = (
        Field("error_code", INT16),
        Field("expiry_timestamp_ms", INT64),
        Field("throttle_time_ms", INT32),
    )

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
