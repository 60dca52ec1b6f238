"""From values that were parsed to rows: columns that the table has, new ones, and what fits none.

A row has the columns of its value behind those of its record: topic, partition, offset, timestamp
and key, with `_` before their names. A value that no column can hold makes its record a dead
letter, with a reason that names the column; the others of its batch are not held up.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.formats.types import Unfit, fitted, merged, settled, type_of
from odradek.pipelines.moving.values import PREFIX, Converted

OF_RECORD: Final = ("topic", "partition", "offset", "timestamp", "key")
_NONE: Final = frozenset({type(None)})
_TAKEN_AS_THEY_ARE: Final[Mapping[pa.DataType, frozenset[type]]] = {
    pa.bool_(): _NONE | {bool},
    pa.float64(): _NONE | {float},
    pa.string(): _NONE | {str},
}
"""Types of values that need no look at each of them."""

Parsed = Sequence[Mapping[str, Any] | None]
"""The fields of each record's value; None: it gives no row, for a reason that is known already."""


def record_fields() -> list[pa.Field]:
    """The columns that every row has."""
    return [pa.field(PREFIX + name, COLUMNS[name]) for name in OF_RECORD]


def make_rows(
    batch: pa.RecordBatch,
    parsed: Parsed,
    table: pa.Schema,
    *,
    dead: dict[int, str],
    dropped: frozenset[int] = frozenset(),
    may_grow: bool = True,
) -> Converted:
    """The rows of a batch. Rows of `dead` and `dropped` give none."""
    names = [it.name for it in record_fields()]
    columns: dict[str, list[Any]] = {}
    types: dict[str, pa.DataType] = {it.name: it.type for it in table if it.name not in names}
    known = frozenset(types)
    for name in dict.fromkeys([*types, *_names(parsed)]):
        if name.startswith(PREFIX) and name not in known:
            _refuse_reserved(parsed, name, dead)
            continue
        if name not in known and not may_grow:
            continue
        kind = _type_for(name, types.get(name), parsed, dead, may_grow=may_grow)
        if kind is not None:
            types[name], columns[name] = kind, _fitted(name, kind, parsed, dead)
    alive = [at for at in range(batch.num_rows) if at not in dead and at not in dropped]
    taken = batch.take(pa.array(alive, pa.int32()))
    arrays = [taken.column(name) for name in OF_RECORD]
    arrays += [
        pa.array([column[at] for at in alive], types[name]) for name, column in columns.items()
    ]
    fields = [*record_fields(), *(pa.field(name, types[name]) for name in columns)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return Converted(rows, dead, dropped)


def _names(parsed: Parsed) -> list[str]:
    """Of all fields, in the order in which they appear."""
    return list(dict.fromkeys(name for fields in parsed if fields for name in fields))


def _refuse_reserved(parsed: Parsed, name: str, dead: dict[int, str]) -> None:
    for at, fields in enumerate(parsed):
        if fields and name in fields:
            dead.setdefault(at, f"field {name}: names with {PREFIX!r} before them are the record's")


def _type_for(
    name: str, known: pa.DataType | None, parsed: Parsed, dead: dict[int, str], *, may_grow: bool
) -> pa.DataType | None:
    """The column's type: the table's, where nested fields may come; without one, what fits."""
    if known is not None and not (may_grow and _is_nested(known)):
        return known
    found = pa.null() if known is None else known
    for at, fields in enumerate(parsed):
        value = fields.get(name) if fields else None
        if value is None or at in dead:
            continue
        try:
            found = merged(found, type_of(value)) if known is None else _grown(found, value)
        except Unfit as reason:
            dead[at] = f"column {name}: {reason}"
    return settled(found)


def _grown(kind: pa.DataType, value: object) -> pa.DataType:
    """The table's type with the fields of structs that this value adds; what it has stays."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        fields = {it.name: it.type for it in kind}
        for name, it in value.items():
            old = fields.get(name)
            fields[name] = type_of(it) if old is None else _grown(old, it)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(kind) and isinstance(value, list):
        item = kind.value_type
        for it in value:
            item = _grown(item, it)
        return pa.list_(item)
    return kind


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) or pa.types.is_list(kind))


def _fitted(name: str, kind: pa.DataType, parsed: Parsed, dead: dict[int, str]) -> list[Any]:
    values = [fields.get(name) if fields else None for fields in parsed]
    if {type(it) for it in values} <= _TAKEN_AS_THEY_ARE.get(kind, _NONE):
        return values
    for at, value in enumerate(values):
        try:
            values[at] = fitted(value, kind)
        except Unfit as reason:
            dead.setdefault(at, f"column {name}: {reason}")
    return values
