"""Envelope (key 58), version 0, flexible from 0.

Generated from `codegen/messages/envelope.txt` by `python -m codegen`.
"""

from odradek.wire.schema import (
    BOOL,
    BYTES,
    INT16,
    STRING,
    Buffer,
    Field,
    Message,
    Request,
    Response,
)


class EnvelopeRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("request_data", "request_principal", "client_host_address")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 58

    FIELDS = (
        Field("request_data", BYTES),
        Field("request_principal", BYTES, null=(0, 32767)),
        Field("client_host_address", BYTES),
    )

    def __init__(
        self,
        request_data: Buffer = b"",
        request_principal: Buffer | None = b"",
        client_host_address: Buffer = b"",
    ) -> None:
        self.request_data = request_data
        self.request_principal = request_principal
        self.client_host_address = client_host_address


class EnvelopeResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("response_data", "error_code")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 58

    FIELDS = (
        Field("response_data", BYTES, default=None, null=(0, 32767)),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        response_data: Buffer | None = None,
        error_code: int = 0,
    ) -> None:
        self.response_data = response_data
        self.error_code = error_code


class DefaultPrincipalData(Message):
    """Its version 0, flexible from 0."""

    __slots__ = ("type", "name", "token_authenticated")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    FIELDS = (
        Field("type", STRING),
        Field("name", STRING),
        Field("token_authenticated", BOOL),
    )

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
