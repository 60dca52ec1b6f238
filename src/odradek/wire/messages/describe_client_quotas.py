"""DescribeClientQuotas (key 48), versions 0 to 1, flexible from 1.

Generated from `codegen/messages/describe_client_quotas.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class ComponentData(Struct):
    """Of `DescribeClientQuotasRequest.components`."""

    __slots__ = ("entity_type", "match_type", "match")

    FIELDS = (
        Field("entity_type", STRING),
        Field("match_type", INT8),
        Field("match", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Request):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("components", "strict")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 48

    FIELDS = (
        Field("components", Array(ComponentData)),
        Field("strict", BOOL),
    )

    def __init__(
        self,
        components: Sequence[ComponentData] = (),
        strict: bool = False,
    ) -> None:
        self.components = components
        self.strict = strict


class EntityData(Struct):
    """Of `EntryData.entity`."""

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


class ValueData(Struct):
    """Of `EntryData.values`."""

    __slots__ = ("key", "value")

    FIELDS = (
        Field("key", STRING),
        Field("value", FLOAT64),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


class EntryData(Struct):
    """Of `DescribeClientQuotasResponse.entries`."""

    __slots__ = ("entity", "values")

    FIELDS = (
        Field("entity", Array(EntityData)),
        Field("values", Array(ValueData)),
    )

    def __init__(
        self,
        entity: Sequence[EntityData] = (),
        values: Sequence[ValueData] = (),
    ) -> None:
        self.entity = entity
        self.values = values


class DescribeClientQuotasResponse(Response):
    """Versions 0 to 1, flexible from 1."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1
    KEY = 48

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("entries", Array(EntryData), null=(0, 32767)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: Sequence[EntryData] | None = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = entries
