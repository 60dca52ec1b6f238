"""How a table's schema may change: new columns at the end, and types that hold more than before.

A type becomes wider only where no value changes and every reader of the format knows what to do
with the files that are there: Iceberg says so of int, float and decimals of few digits. Delta does
not below a version that is not written here; and who reads Parquet files without a log takes the
types of the first that it opens. There a column stays as it is, and a value is stored if it fits.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from odradek.pipelines.tables.table import TableRefused

WIDER: Final = frozenset(
    {
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
    }
)
"""From the first to the second; and decimals to those of more digits before the point."""
FIRST: Final = b"odradek.first"
"""In the metadata of a column: the record that fixed its type. Delta and Parquet keep it with the
schema, of an Iceberg table it is a property."""


def grown(
    table: pa.Schema, rows: pa.Schema | None, location: str, *, can_widen: bool
) -> pa.Schema | None:
    """The schema that holds both; None: the table's own does; `TableRefused`: no schema does."""
    if rows is None:
        return None
    fields = list(table)
    for field in rows:
        number = table.get_field_index(field.name)
        if number < 0:
            _check_name(field.name, fields, location)
            fields.append(field.with_nullable(nullable=True))
        else:
            fields[number] = _wider(fields[number], field, location, can_widen=can_widen)
    schema = pa.schema(fields)
    return None if schema.equals(table) else schema


def _check_name(name: str, fields: Sequence[pa.Field], location: str) -> None:
    """To many readers case is nothing."""
    other = next((it.name for it in fields if it.name.casefold() == name.casefold()), None)
    if other is not None:
        raise TableRefused(f"column {name} of {location} differs from {other} in case only")


def _wider(old: pa.Field, new: pa.Field, location: str, *, can_widen: bool) -> pa.Field:
    if same(old.type, new.type) or is_wider(old.type, new.type):
        return old
    if can_widen and is_wider(new.type, old.type):
        return pa.field(old.name, new.type, old.nullable, {**_said(old), **_said(new)})
    if pa.types.is_struct(old.type) and pa.types.is_struct(new.type):
        parts, more = (pa.schema(list(it.type)) for it in (old, new))
        inner = grown(parts, more, location, can_widen=can_widen)
        return old if inner is None else old.with_type(pa.struct(list(inner)))
    if pa.types.is_list(old.type) and pa.types.is_list(new.type):
        part, rows = old.type.value_field, new.type.value_field
        item = _wider(part, rows, location, can_widen=can_widen)
        return old.with_type(pa.list_(item))
    if pa.types.is_map(new.type) and is_pairs(old.type):
        return old
    raise TableRefused(
        f"column {old.name} of {location} is {old.type}, the rows have {new.type}{named(old)}"
    )


def _said(field: pa.Field) -> Mapping[bytes, bytes]:
    return field.metadata or {}


def named(column: pa.Field) -> str:
    """Of which record its type is, if one is known to have fixed it."""
    first = _said(column).get(FIRST)
    return "" if first is None else f"; the first is at {first.decode()}"


def is_wider(new: pa.DataType, old: pa.DataType) -> bool:
    """Whether each value of the old type is the same in the new one, which holds others, too."""
    if pa.types.is_decimal(new) and pa.types.is_decimal(old):
        return bool(new.scale == old.scale and new.precision > old.precision)
    return (old, new) in WIDER


def stored(old: pa.DataType, new: pa.DataType) -> pa.DataType:
    """The type in which rows of the new one go into a column that stays as it is."""
    if is_wider(new, old):
        return old
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        kinds = {it.name: it.type for it in old}
        return pa.struct([it.with_type(stored(kinds.get(it.name, it.type), it.type)) for it in new])
    if pa.types.is_list(old) and pa.types.is_list(new):
        item = new.value_field
        return pa.list_(item.with_type(stored(old.value_type, item.type)))
    if pa.types.is_map(old) and pa.types.is_map(new):
        return pa.map_(new.key_type, stored(old.item_type, new.item_type))
    return new


def same(old: pa.DataType, new: pa.DataType) -> bool:
    """Equal, names of list items and nullability aside: formats name these as they like."""
    if pa.types.is_struct(old) and pa.types.is_struct(new):
        return [it.name for it in old] == [it.name for it in new] and all(
            same(left.type, right.type) for left, right in zip(old, new, strict=True)
        )
    if pa.types.is_list(old) and pa.types.is_list(new):
        return same(old.value_type, new.value_type)
    if pa.types.is_map(old) and pa.types.is_map(new):
        return same(old.key_type, new.key_type) and same(old.item_type, new.item_type)
    return bool(old.equals(new))


def has_map(kind: pa.DataType) -> bool:
    """Whether it is a map, or has one within."""
    if pa.types.is_struct(kind):
        return any(has_map(it.type) for it in kind)
    return bool(pa.types.is_map(kind)) or (pa.types.is_list(kind) and has_map(kind.value_type))


def is_pairs(kind: pa.DataType) -> bool:
    """Whether it is a list of keys and values, as which maps were stored once."""
    return (
        bool(pa.types.is_list(kind))
        and bool(pa.types.is_struct(kind.value_type))
        and [it.name for it in kind.value_type] == ["key", "value"]
    )
