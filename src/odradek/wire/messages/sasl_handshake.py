"""SaslHandshake (key 17), versions 0 to 1.

Generated from `codegen/messages/sasl_handshake.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, STRING, Array, Field, Request, Response


class SaslHandshakeRequest(Request):
    """Versions 0 to 1."""

    __slots__ = ("mechanism",)

    VERSIONS = range(0, 2)
    KEY = 17

    FIELDS = (Field("mechanism", STRING),)

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism


class SaslHandshakeResponse(Response):
    """Versions 0 to 1."""

    __slots__ = ("error_code", "mechanisms")

    VERSIONS = range(0, 2)
    KEY = 17

    FIELDS = (
        Field("error_code", INT16),
        Field("mechanisms", Array(STRING)),
    )

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: Sequence[str] = (),
    ) -> None:
        self.error_code = error_code
        self.mechanisms = mechanisms
