"""How a table's schema may change: new columns at the end, and types that hold more than before."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from odradek.pipelines.tables.table import TableRefused

WIDER: Final = frozenset(
    {
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
    }
)
"""From the first to the second; Iceberg and Spark read files of the first as the second."""


def grown(table: pa.Schema, rows: pa.Schema | None, location: str) -> pa.Schema | None:
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
            fields[number] = _wider(fields[number], field, location)
    schema = pa.schema(fields)
    return None if schema.equals(table) else schema


def _check_name(name: str, fields: Sequence[pa.Field], location: str) -> None:
    """To many readers case is nothing."""
    other = next((it.name for it in fields if it.name.casefold() == name.casefold()), None)
    if other is not None:
        raise TableRefused(f"column {name} of {location} differs from {other} in case only")


def _wider(old: pa.Field, new: pa.Field, location: str) -> pa.Field:
    if same(old.type, new.type) or (new.type, old.type) in WIDER:
        return old
    if (old.type, new.type) in WIDER:
        return old.with_type(new.type)
    if pa.types.is_struct(old.type) and pa.types.is_struct(new.type):
        inner = grown(pa.schema(list(old.type)), pa.schema(list(new.type)), location)
        return old if inner is None else old.with_type(pa.struct(list(inner)))
    if pa.types.is_list(old.type) and pa.types.is_list(new.type):
        item = _wider(old.type.value_field, new.type.value_field, location)
        return old.with_type(pa.list_(item))
    if pa.types.is_map(new.type) and is_pairs(old.type):
        return old
    raise TableRefused(f"column {old.name} of {location} is {old.type}, the rows have {new.type}")


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


def is_pairs(kind: pa.DataType) -> bool:
    """Whether it is a list of keys and values, as which maps were stored once."""
    return (
        bool(pa.types.is_list(kind))
        and bool(pa.types.is_struct(kind.value_type))
        and [it.name for it in kind.value_type] == ["key", "value"]
    )
