"""Types of Avro as columns: a schema of Avro's, parsed, to a type of Arrow's."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.types import TIMESTAMP

PRIMITIVE: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
LOGICAL: Final[Mapping[str, pa.DataType]] = {
    "date": pa.date32(),
    "timestamp-millis": TIMESTAMP,
    "timestamp-micros": TIMESTAMP,
    "uuid": pa.string(),
}


def columns_of(schema: Any) -> tuple[tuple[str, pa.DataType], ...]:
    """The fields of a record; InvalidOption for a schema that is none."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise InvalidOption("the Avro schema of the values is no record")
    named: dict[str, Any] = {}
    return tuple((it["name"], _type(it["type"], named, ())) for it in _fields(schema, named))


def _fields(schema: Mapping[str, Any], named: dict[str, Any]) -> list[Mapping[str, Any]]:
    named[_name(schema)] = schema
    return list(schema["fields"])


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("name", "")).rpartition(".")[2]


def _type(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> pa.DataType:
    if isinstance(schema, list):
        kinds = [it for it in schema if it != "null"]
        if len(kinds) > 1:
            raise InvalidOption(f"a union of {kinds} has no column type")
        return _type(kinds[0] if kinds else "null", named, within)
    if isinstance(schema, str):
        plain = schema.rpartition(".")[2]
        if plain in PRIMITIVE:
            return PRIMITIVE[plain]
        if plain in within:
            raise InvalidOption(f"the Avro type {plain!r} contains itself, which no column can")
        if plain not in named:
            raise InvalidOption(f"the Avro schema has no type {schema!r}")
        return _type(named[plain], named, within)
    if (logical := schema.get("logicalType")) == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if logical in LOGICAL:
        return LOGICAL[logical]
    match schema["type"]:
        case "record":
            deeper = (*within, _name(schema))
            fields = _fields(schema, named)
            return pa.struct([(it["name"], _type(it["type"], named, deeper)) for it in fields])
        case "array":
            return pa.list_(_type(schema["items"], named, within))
        case "map":
            pairs = [("key", pa.string()), ("value", _type(schema["values"], named, within))]
            return pa.list_(pa.struct(pairs))
        case "enum":
            named[_name(schema)] = schema
            return pa.string()
        case "fixed":
            named[_name(schema)] = schema
            return pa.binary()
        case inner:
            return _type(inner, named, within)


def plain(value: Any, kind: pa.DataType) -> Any:
    """A value as its column has it: maps are lists of pairs, identifiers are texts."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        if isinstance(value, dict):
            inner = kind.value_type.field("value").type
            return [{"key": name, "value": plain(it, inner)} for name, it in value.items()]
        return [plain(it, kind.value_type) for it in value]
    if pa.types.is_struct(kind):
        return {it.name: plain(value.get(it.name), it.type) for it in kind}
    return str(value) if pa.types.is_string(kind) else value
