"""Messages of Protobuf as columns, and their fields as columns hold them: exactly, or not at all.

A field that a message can lack (of proto2, `optional`, of a oneof, a message) is null where it is
not there; any other has Protobuf's default. What no column has: `uint64` becomes a decimal, an enum
the name of its value. `Timestamp` is a time, wrappers are what they hold, `Struct`, `Value` and
`ListValue` are JSON; every other message, `Duration` too, has the columns of its fields. Fields
that the schema does not have are passed over, as Protobuf means it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.json_format import Error as NoJson
from google.protobuf.json_format import MessageToDict

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.column import (
    NANOS,
    Column,
    as_it_is,
    check_columns,
    converted,
    moment,
    unscaled,
)
from odradek.pipelines.formats.types import TIMESTAMP

Read = Callable[[Any], Any]
"""A field of a message as its column has it."""

UNSIGNED_64: Final = pa.decimal128(20, 0)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        raise ValueError("it is no text in UTF-8")  # noqa: TRY004 - proto2 gives such texts as bytes
    return str(value)


SCALAR: Final[Mapping[int, Column]] = {
    FieldDescriptor.TYPE_DOUBLE: Column(pa.float64(), as_it_is),
    FieldDescriptor.TYPE_FLOAT: Column(pa.float32(), as_it_is),
    FieldDescriptor.TYPE_BOOL: Column(pa.bool_(), as_it_is),
    FieldDescriptor.TYPE_STRING: Column(pa.string(), _text),
    FieldDescriptor.TYPE_BYTES: Column(pa.binary(), as_it_is),
    FieldDescriptor.TYPE_INT32: Column(pa.int32(), as_it_is),
    FieldDescriptor.TYPE_SINT32: Column(pa.int32(), as_it_is),
    FieldDescriptor.TYPE_SFIXED32: Column(pa.int32(), as_it_is),
    FieldDescriptor.TYPE_INT64: Column(pa.int64(), as_it_is),
    FieldDescriptor.TYPE_SINT64: Column(pa.int64(), as_it_is),
    FieldDescriptor.TYPE_SFIXED64: Column(pa.int64(), as_it_is),
    FieldDescriptor.TYPE_UINT32: Column(pa.int64(), as_it_is),
    FieldDescriptor.TYPE_FIXED32: Column(pa.int64(), as_it_is),
    FieldDescriptor.TYPE_UINT64: Column(UNSIGNED_64, as_it_is),
    FieldDescriptor.TYPE_FIXED64: Column(UNSIGNED_64, as_it_is),
}


def _time(message: Any) -> Any:
    if not 0 <= message.nanos < NANOS:
        raise ValueError(f"{message.nanos} are no nanoseconds of a second")
    return moment(message.seconds * NANOS + message.nanos, NANOS)


def _json(message: Any) -> str:
    try:
        return json.dumps(MessageToDict(message), ensure_ascii=False, allow_nan=False)
    except NoJson as error:
        raise ValueError(f"it is no JSON: {error}") from error


def _decimal(message: Any) -> str:
    return str(unscaled(message.value, message.scale))


KNOWN: Final[Mapping[str, Column]] = {
    "google.protobuf.Timestamp": Column(TIMESTAMP, _time),
    "google.protobuf.Empty": Column(pa.bool_(), lambda _: True),
    **{
        f"google.protobuf.{name}": Column(pa.string(), _json)
        for name in ("Struct", "Value", "ListValue")
    },
    "confluent.type.Decimal": Column(pa.string(), _decimal),
}
"""Messages that are more than their fields."""
WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in (
        "Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"
    )
)  # fmt: skip


def columns_of(message: Descriptor) -> dict[str, tuple[pa.DataType, Read]]:
    """The fields of a message; InvalidOption for one that no table takes."""
    found = _fields(message, ())
    check_columns(found)
    return found


def column_of(message: Descriptor) -> Column:
    """A message as one column, such as keys have; InvalidOption as above."""
    return _message(message, ())


def _fields(message: Descriptor, within: tuple[str, ...]) -> dict[str, tuple[pa.DataType, Read]]:
    if message.full_name in within:
        raise InvalidOption(f"the message {message.full_name} contains itself, which no column can")
    within = (*within, message.full_name)
    found = {it.name: _field(it, within) for it in message.fields}
    return {name: it for name, it in found.items() if it is not None}


def _field(field: FieldDescriptor, within: tuple[str, ...]) -> tuple[pa.DataType, Read] | None:
    """None: a message without fields, which says nothing but that it is there."""
    name = field.name
    if field.is_repeated:
        return _repeated(field, within)
    column = _single(field, within)
    if pa.types.is_null(column.kind):
        return None
    if field.has_presence:
        return (
            column.kind,
            lambda message: (
                column.convert(getattr(message, name)) if message.HasField(name) else None
            ),
        )
    return column.kind, lambda message: column.convert(getattr(message, name))


def _repeated(field: FieldDescriptor, within: tuple[str, ...]) -> tuple[pa.DataType, Read] | None:
    name, kind = field.name, field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        key, value = (_single(kind.fields_by_name[it], within) for it in ("key", "value"))
        if pa.types.is_null(value.kind):
            return None
        return pa.map_(key.kind, value.kind), lambda message: {
            key.convert(at): converted(value, getattr(message, name)[at])
            for at in sorted(getattr(message, name))
        }
    item = _single(field, within)
    if pa.types.is_null(item.kind):
        return None
    return pa.list_(item.kind), lambda message: [item.convert(it) for it in getattr(message, name)]


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> Column:
    if field.message_type is not None:
        return _message(field.message_type, within)
    if field.enum_type is not None:
        return _enum(field.enum_type)
    return SCALAR[field.type]


def _enum(enum: EnumDescriptor) -> Column:
    """The name of the value, or its number where the schema has no name for it."""
    names: dict[int, str] = {}
    for it in enum.values:
        names.setdefault(it.number, it.name)
    return Column(pa.string(), lambda number: names.get(number, str(number)))


def _message(message: Descriptor, within: tuple[str, ...]) -> Column:
    if message.full_name in KNOWN:
        return KNOWN[message.full_name]
    if message.full_name in WRAPPERS:
        inner = SCALAR[message.fields_by_name["value"].type]
        return Column(inner.kind, lambda it: inner.convert(it.value))
    fields = _fields(message, within)
    check_columns(fields)
    if not fields:
        return Column(pa.null(), as_it_is)
    return Column(
        pa.struct([(name, kind) for name, (kind, _) in fields.items()]),
        lambda it: {name: read(it) for name, (_, read) in fields.items()},
    )
