"""Types of Avro as columns, and values of Avro as columns hold them: exactly, or not at all.

Logical types are decoded here, from what Avro stores: libraries round decimals, and refuse times
that Python's calendar lacks with errors of their own. What no column of every table format has (a
time of day, a time without a zone, a decimal of any size) is a text.
"""

import datetime as dt
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from odradek.model.moments import EPOCH
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.column import (
    NANOS,
    Column,
    Convert,
    as_it_is,
    check_columns,
    converted,
    moment,
    unscaled,
)
from odradek.pipelines.formats.types import TIMESTAMP

DECIMAL_DIGITS_MAX: Final = 38
DURATION: Final = pa.struct([(name, pa.int64()) for name in ("months", "days", "millis")])

PRIMITIVE: Final[Mapping[str, Column]] = {
    name: Column(kind, as_it_is)
    for name, kind in (
        ("null", pa.null()),
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ("string", pa.string()),
    )
}


def _moment(per_second: int) -> Convert:
    return partial(moment, per_second=per_second)


def _text(per_second: int, *, with_date: bool) -> Convert:
    """A time that has no zone, with as many digits as it was written with."""

    def convert(value: int) -> str:
        seconds, fraction = divmod(value, per_second)
        moment = EPOCH + dt.timedelta(seconds=seconds)
        if not with_date and not 0 <= seconds < 86_400:
            raise ValueError(f"{value} is no time of a day")
        plain = moment.strftime("%H:%M:%S") if not with_date else moment.isoformat()[:19]
        return f"{plain}.{fraction:0{len(str(per_second)) - 1}d}"

    return convert


def _big_decimal(value: bytes) -> str:
    """The unscaled number as Avro's bytes, then the scale as Avro's int."""
    size, at = _varint(value, 0)
    scale, end = _varint(value, at + size)
    if end != len(value):
        raise ValueError("it is no big-decimal")
    return str(unscaled(value[at : at + size], scale))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        if not 0 <= at < len(data) or shift > 63:
            raise ValueError("it is no big-decimal")
        found |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return (found >> 1) ^ -(found & 1), at


def _duration(value: bytes) -> dict[str, int]:
    parts = [int.from_bytes(value[at : at + 4], "little") for at in (0, 4, 8)]
    return dict(zip((it.name for it in DURATION), parts, strict=True))


def _date(value: int) -> dt.date:
    return EPOCH.date() + dt.timedelta(days=value)


LOGICAL: Final[Mapping[tuple[str, str], Column]] = {
    ("int", "date"): Column(pa.date32(), _date),
    ("int", "time-millis"): Column(pa.string(), _text(1_000, with_date=False)),
    ("long", "time-micros"): Column(pa.string(), _text(1_000_000, with_date=False)),
    ("long", "timestamp-millis"): Column(TIMESTAMP, _moment(1_000)),
    ("long", "timestamp-micros"): Column(TIMESTAMP, _moment(1_000_000)),
    ("long", "timestamp-nanos"): Column(TIMESTAMP, _moment(NANOS)),
    ("long", "local-timestamp-millis"): Column(pa.string(), _text(1_000, with_date=True)),
    ("long", "local-timestamp-micros"): Column(pa.string(), _text(1_000_000, with_date=True)),
    ("long", "local-timestamp-nanos"): Column(pa.string(), _text(NANOS, with_date=True)),
    ("string", "uuid"): Column(pa.string(), as_it_is),
    ("fixed", "uuid"): Column(pa.string(), lambda value: str(UUID(bytes=value))),
    ("bytes", "big-decimal"): Column(pa.string(), _big_decimal),
    ("fixed", "duration"): Column(DURATION, _duration),
}
"""By what Avro stores, and what it means. Another logical type is none, as Avro demands."""


def columns_of(schema: Any) -> dict[str, Column]:
    """The fields of a record; InvalidOption for a schema that is none."""
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise InvalidOption("the Avro schema of the values is no record")
    named: dict[str, Any] = {}
    found = {it["name"]: _column(it["type"], named, ()) for it in _fields(schema, named)}
    check_columns(found)
    return {name: it for name, it in found.items() if not pa.types.is_null(it.kind)}


def column_of(schema: Any) -> Column:
    """A schema of any kind, such as keys have."""
    return _column(schema, {}, ())


def as_stored(schema: Any) -> Any:
    """The schema without what its types mean, so that a library reads what is stored."""
    if isinstance(schema, list):
        return [as_stored(it) for it in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: it for name, it in schema.items() if name != "logicalType"}
    for name in ("type", "items", "values"):
        if name in found:
            found[name] = as_stored(found[name])
    if "fields" in found:
        found["fields"] = [{**it, "type": as_stored(it["type"])} for it in found["fields"]]
    return found


def _fields(schema: Mapping[str, Any], named: dict[str, Any]) -> list[Mapping[str, Any]]:
    named[_name(schema)] = schema
    return list(schema["fields"])


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("name", "")).rpartition(".")[2]


def _column(schema: Any, named: dict[str, Any], within: tuple[str, ...]) -> Column:
    if isinstance(schema, list):
        kinds = [it for it in schema if it != "null"]
        if len(kinds) > 1:
            raise InvalidOption(f"a union of {kinds} has no column type")
        return _column(kinds[0] if kinds else "null", named, within)
    if isinstance(schema, str):
        plain = schema.rpartition(".")[2]
        if plain in PRIMITIVE:
            return PRIMITIVE[plain]
        if plain in within:
            raise InvalidOption(f"the Avro type {plain!r} contains itself, which no column can")
        if plain not in named:
            raise InvalidOption(f"the Avro schema has no type {schema!r}")
        return _column(named[plain], named, within)
    stored, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal" and stored in {"bytes", "fixed"}:
        named[_name(schema)] = schema
        return _decimal(schema["precision"], schema.get("scale", 0))
    if isinstance(stored, str) and (stored, logical) in LOGICAL:
        named[_name(schema)] = schema
        return LOGICAL[stored, logical]
    match stored:
        case "record":
            return _record(schema, named, (*within, _name(schema)))
        case "array":
            item = _column(schema["items"], named, within)
            return Column(pa.list_(item.kind), _each(item))
        case "map":
            inner = _column(schema["values"], named, within)
            return Column(
                pa.map_(pa.string(), inner.kind),
                lambda pairs: {name: converted(inner, it) for name, it in pairs.items()},
            )
        case "enum":
            named[_name(schema)] = schema
            return PRIMITIVE["string"]
        case "fixed":
            named[_name(schema)] = schema
            return PRIMITIVE["bytes"]
        case inner:
            return _column(inner, named, within)


def _record(schema: Mapping[str, Any], named: dict[str, Any], within: tuple[str, ...]) -> Column:
    found = {it["name"]: _column(it["type"], named, within) for it in _fields(schema, named)}
    said = {name: it for name, it in found.items() if not pa.types.is_null(it.kind)}
    if not said:
        raise InvalidOption(f"the Avro type {_name(schema)!r} has no fields, which no column can")
    check_columns(said, within=True)
    kind = pa.struct([(name, it.kind) for name, it in said.items()])
    if all(it.convert is as_it_is for it in found.values()):
        return Column(kind, as_it_is)
    return Column(
        kind, lambda value: {name: converted(it, value.get(name)) for name, it in said.items()}
    )


def _each(item: Column) -> Convert:
    if item.convert is as_it_is:
        return as_it_is
    return lambda values: [converted(item, it) for it in values]


def _decimal(precision: int, scale: int) -> Column:
    if precision > DECIMAL_DIGITS_MAX:
        raise InvalidOption(f"a decimal of {precision} digits has no column type: 38 are the most")

    return Column(pa.decimal128(precision, scale), partial(unscaled, scale=scale))
