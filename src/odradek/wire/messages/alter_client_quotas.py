"""AlterClientQuotas (key 49), versions 0 to 1, flexible from 1.

Generated from `codegen/messages/alter_client_quotas.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    FLOAT64,
    INT16,
    INT32,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class EntityData(Struct):
    """Of `RequestEntryData.entity` and `ResponseEntryData.entity`."""

    __slots__ = ("entity_type", "entity_name")

    FIELDS = (
        Field("entity_type", STRING),
        Field("entity_name", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class OpData(Struct):
    """Of `RequestEntryData.ops`."""

    __slots__ = ("key", "value", "remove")

    FIELDS = (
        Field("key", STRING),
        Field("value", FLOAT64),
        Field("remove", BOOL),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class RequestEntryData(Struct):
    """Of `AlterClientQuotasRequest.entries`."""

    __slots__ = ("entity", "ops")

    FIELDS = (
        Field("entity", Array(EntityData)),
        Field("ops", Array(OpData)),
    )

    def __init__(
        self,
        entity: Sequence[EntityData] = (),
        ops: Sequence[OpData] = (),
    ) -> None:
        self.entity = entity
        self.ops = ops


class AlterClientQuotasRequest(Request):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("entries", "validate_only")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 49

    FIELDS = (
        Field("entries", Array(RequestEntryData)),
        Field("validate_only", BOOL),
    )

    def __init__(
        self,
        entries: Sequence[RequestEntryData] = (),
        validate_only: bool = False,
    ) -> None:
        self.entries = entries
        self.validate_only = validate_only


class ResponseEntryData(Struct):
    """Of `AlterClientQuotasResponse.entries`."""

    __slots__ = ("error_code", "error_message", "entity")

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("entity", Array(EntityData)),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: Sequence[EntityData] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = entity


class AlterClientQuotasResponse(Response):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("throttle_time_ms", "entries")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 49

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("entries", Array(ResponseEntryData)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: Sequence[ResponseEntryData] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = entries
