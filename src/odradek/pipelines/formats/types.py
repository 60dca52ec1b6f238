"""Types of columns as a person writes them, as values have them, and as Arrow holds them.

Written as in Spark: `long`, `timestamp`, `decimal(10, 2)`, `array<string>`,
`struct<id: long, name: string>`.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import nearest

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
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
DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)")
DEPTH_MAX: Final = 32

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Unfit(Exception):
    """A value that its column cannot hold; the text says why."""


# As a person writes them


def parse(text: str) -> pa.DataType:
    """The type that a text names; InvalidOption where it names none."""
    return _parse("".join(text.lower().split()) if "<" not in text else _squeezed(text), text)


def _squeezed(text: str) -> str:
    return re.sub(r"\s*([<>,:()])\s*", r"\1", text.strip())


def _parse(plain: str, whole: str) -> pa.DataType:
    inner = plain[plain.find("<") + 1 : -1] if plain.endswith(">") else ""
    if plain.startswith("array<") and inner:
        return pa.list_(_parse(inner, whole))
    if plain.startswith("struct<") and inner:
        fields = []
        for part in _parts(inner):
            name, colon, kind = part.partition(":")
            if not colon or not name:
                raise InvalidOption(f"{whole!r} is no type: {part!r} must be NAME: TYPE")
            fields.append(pa.field(name, _parse(kind, whole)))
        return pa.struct(fields)
    if match := DECIMAL.fullmatch(plain.lower()):
        precision, scale = int(match[1]), int(match[2])
        if not scale <= precision <= 38 or not precision:
            raise InvalidOption(f"{whole!r} is no type: a decimal has at most 38 digits")
        return pa.decimal128(precision, scale)
    found = NAMES.get(plain.lower())
    if found is None:
        known = [*NAMES, "decimal(P,S)", "array<TYPE>", "struct<NAME: TYPE>"]
        raise InvalidOption(f"there is no type {whole!r}{nearest(plain, known)}")
    return found


def _parts(text: str) -> Iterable[str]:
    """At the commas that are in no brackets."""
    depth, begin = 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


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
            return pa.int64()
        case float():
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
            return pa.struct(
                [pa.field(str(name), type_of(it, depth + 1)) for name, it in value.items()]
            )
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


# As Arrow holds them


def fitted(value: Any, kind: pa.DataType) -> Any:
    """The value as a column of this type takes it; Unfit says why it cannot."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            raise _unfit(value, kind)
        return {it.name: fitted(value.get(it.name), it.type) for it in kind}
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            raise _unfit(value, kind)
        return [fitted(it, kind.value_type) for it in value]
    return _scalar(value, kind)


def _scalar(value: Any, kind: pa.DataType) -> Any:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    try:
        if pa.types.is_boolean(kind) and isinstance(value, bool):
            return value
        if pa.types.is_integer(kind) and is_number and value == int(value):
            return _within(int(value), kind.bit_width, kind)
        if pa.types.is_floating(kind) and is_number:
            return float(value)
        if pa.types.is_decimal(kind) and (is_number or isinstance(value, str)):
            return _decimal(value, kind)
        if pa.types.is_string(kind) and isinstance(value, str):
            return value
        if pa.types.is_binary(kind) and isinstance(value, (bytes, str)):
            return value.encode() if isinstance(value, str) else value
        if pa.types.is_timestamp(kind):
            return _timestamp(value, is_number=is_number)
        if pa.types.is_date(kind) and isinstance(value, str):
            return dt.date.fromisoformat(value)
        if pa.types.is_date(kind) and isinstance(value, dt.date):
            return value
    except (ArithmeticError, ValueError) as error:
        raise _unfit(value, kind) from error
    raise _unfit(value, kind)


def _within(number: int, bits: int, kind: pa.DataType) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _unfit(number, kind)
    return number


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    exact = Decimal(str(value))
    rounded = exact.quantize(Decimal(1).scaleb(-kind.scale))
    if rounded != exact or len(rounded.as_tuple().digits) > kind.precision:
        raise _unfit(value, kind)
    return rounded


def _timestamp(value: Any, *, is_number: bool) -> dt.datetime:
    """ISO 8601, UTC unless it says otherwise; a number is milliseconds, as Kafka's are."""
    if is_number:
        return EPOCH + dt.timedelta(milliseconds=value)
    found = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(found, dt.datetime):
        raise ValueError(value)  # noqa: TRY004 - it becomes Unfit like what cannot be parsed
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def _unfit(value: object, kind: pa.DataType) -> Unfit:
    text = repr(value)
    return Unfit(f"{text if len(text) <= 60 else text[:57] + '...'} is no {kind}")
