"""RenewDelegationToken (key 39), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/renew_delegation_token.txt` by `python -m codegen`.
"""

from odradek.wire.schema import BYTES, INT16, INT32, INT64, Buffer, Field, Request, Response


class RenewDelegationTokenRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("hmac", "renew_period_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 39

    FIELDS = (
        Field("hmac", BYTES),
        Field("renew_period_ms", INT64),
    )

    def __init__(
        self,
        hmac: Buffer = b"",
        renew_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms


class RenewDelegationTokenResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 39

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
