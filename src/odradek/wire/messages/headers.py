"""RequestHeader, ResponseHeader.

Generated from `codegen/messages/headers.txt` by `python -m codegen`.
"""

from odradek.wire.schema import INT16, INT32, SHORT_STRING, Field, Message


class RequestHeader(Message):
    """Its versions 0 to 2, flexible from 2."""

    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2

    FIELDS = (
        Field("request_api_key", INT16),
        Field("request_api_version", INT16),
        Field("correlation_id", INT32),
        Field("client_id", SHORT_STRING, since=1, null=(1, 32767), ignorable=True),
    )

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id


class ResponseHeader(Message):
    """Its versions 0 to 1, flexible from 1."""

    __slots__ = ("correlation_id",)

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    FIELDS = (Field("correlation_id", INT32),)

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
