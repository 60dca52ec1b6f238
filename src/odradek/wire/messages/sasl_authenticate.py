"""SaslAuthenticate (key 36), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/sasl_authenticate.txt` by `python -m codegen`.
"""

from odradek.wire.schema import BYTES, INT16, INT64, STRING, Buffer, Field, Request, Response


class SaslAuthenticateRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("auth_bytes",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 36

    FIELDS = (Field("auth_bytes", BYTES),)

    def __init__(
        self,
        auth_bytes: Buffer = b"",
    ) -> None:
        self.auth_bytes = auth_bytes


class SaslAuthenticateResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 36

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("auth_bytes", BYTES),
        Field("session_lifetime_ms", INT64, since=1, ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: Buffer = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
