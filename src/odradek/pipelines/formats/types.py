"""Types of columns as a person writes them, and as values have them.

Written as in Spark: `long`, `timestamp`, `decimal(10, 2)`, `array<string>`,
`struct<id: long, name: string>`.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.names import Unfit, check_name, once
from odradek.pipelines.given import nearest

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
CALENDAR_MICROS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last time that Python has, since 1970."""
NAMES: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {
        "string": pa.string(),
        "long": pa.int64(),
        "bigint": pa.int64(),
        "int": pa.int32(),
        "integer": pa.int32(),
        "double": pa.float64(),
        "float": pa.float32(),
        "boolean": pa.bool_(),
        "binary": pa.binary(),
        "timestamp": TIMESTAMP,
        "date": pa.date32(),
    }
)
TIME_UNITS: Final[Mapping[str, int]] = {"s": 1_000_000, "ms": 1_000, "us": 1}
"""How many microseconds each is; what numbers are that are times."""
TIME: Final = re.compile(r"timestamp\((s|ms|us)\)")
DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
DEPTH_MAX: Final = 32
INT64_MAX: Final = (1 << 63) - 1


# As a person writes them


def parse(text: str) -> pa.DataType:
    """The type that a text names; InvalidOption where it names none."""
    return _parse("".join(text.lower().split()) if "<" not in text else _squeezed(text), text)


def parse_column(text: str) -> tuple[pa.DataType, str | None]:
    """The same of a whole column, whose numbers may have a unit: `timestamp(s)`."""
    if found := TIME.fullmatch("".join(text.lower().split())):
        return TIMESTAMP, found[1]
    return parse(text), None


def _squeezed(text: str) -> str:
    return re.sub(r"\s*([<>,:()])\s*", r"\1", text.strip())


def _parse(plain: str, whole: str) -> pa.DataType:
    inner = plain[plain.find("<") + 1 : -1] if plain.endswith(">") else ""
    if plain.startswith("array<") and inner:
        return pa.list_(_parse(inner, whole))
    if plain.startswith("map<") and inner:
        parts = list(_parts(inner))
        if len(parts) != 2 or parts[0].lower() != "string":
            raise InvalidOption(f"{whole!r} is no type: a map is map<string, TYPE>")
        return pa.map_(pa.string(), _parse(parts[1], whole))
    if plain.startswith("struct<") and inner:
        return _struct(inner, whole)
    if match := DECIMAL.fullmatch(plain.lower()):
        precision, scale = int(match[1]), int(match[2])
        if not scale <= precision <= 38 or not precision:
            raise InvalidOption(f"{whole!r} is no type: a decimal has at most 38 digits")
        return pa.decimal128(precision, scale)
    found = NAMES.get(plain.lower())
    if TIME.fullmatch(plain.lower()):
        raise InvalidOption(f"{whole!r}: only a whole column has a unit of its times")
    if found is None:
        known = [*NAMES, "decimal(P,S)", "array<TYPE>", "map<string, TYPE>", "struct<NAME: TYPE>"]
        raise InvalidOption(f"there is no type {whole!r}{nearest(plain, known)}")
    return found


def _struct(inner: str, whole: str) -> pa.DataType:
    fields: dict[str, pa.DataType] = {}
    for part in _parts(inner):
        name, colon, kind = part.partition(":")
        if not colon or not name:
            raise InvalidOption(f"{whole!r} is no type: {part!r} must be NAME: TYPE")
        if name in fields:
            raise InvalidOption(f"field {name!r} is there more than once")
        fields[name] = _parse(kind, whole)
    try:
        for name in fields:
            check_name(name, fields)
    except Unfit as error:
        raise InvalidOption(str(error)) from error
    return pa.struct(list(fields.items()))


def _parts(text: str) -> Iterable[str]:
    """At the commas that are in no brackets."""
    depth, begin = 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def written(kind: pa.DataType) -> str:
    """The text of a type, as `parse` takes it."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{it.name}: {written(it.type)}' for it in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{written(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{written(kind.key_type)}, {written(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return next(name for name, it in NAMES.items() if it == kind)


# As values have them


def type_of(value: object, depth: int = 0) -> pa.DataType:
    """The narrowest type that a column gets for this value; `null` if it says nothing."""
    if depth > DEPTH_MAX:
        raise Unfit(f"it is nested more than {DEPTH_MAX} deep")
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int():
            if not -INT64_MAX <= value + 1 <= INT64_MAX + 1:
                raise Unfit("it is a whole number that no long holds")
            return pa.int64()
        case float() | Decimal():
            return pa.float64()
        case str():
            return pa.string()
        case bytes():
            return pa.binary()
        case dt.datetime():
            return TIMESTAMP
        case dt.date():
            return pa.date32()
        case list():
            item = pa.null()
            for it in value:
                item = merged(item, type_of(it, depth + 1))
            return pa.list_(item)
        case dict():
            said = [str(name) for name, it in value.items() if it is not None]
            for name in said:
                check_name(name, said)
            return pa.struct([(it, type_of(once(value, it), depth + 1)) for it in said])
        case _:
            raise Unfit(f"there is no type for {type(value).__name__}")


def merged(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """A type that holds values of both; Unfit where none does."""
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merged(one.value_type, other.value_type))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {it.name: it.type for it in one}
        for it in other:
            check_name(it.name, fields)
            fields[it.name] = merged(fields.get(it.name, pa.null()), it.type)
        return pa.struct(list(fields.items()))
    raise Unfit(f"it is {other}, other values are {one}")


def settled(kind: pa.DataType) -> pa.DataType | None:
    """The type without its parts of which nothing is known yet; None: nothing is left."""
    if pa.types.is_null(kind):
        return None
    if pa.types.is_list(kind):
        item = settled(kind.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        fields = [(it.name, settled(it.type)) for it in kind]
        known = [(name, it) for name, it in fields if it is not None]
        return pa.struct(known) if known else None
    return kind
