"""From values that were parsed to rows: columns that the table has, new ones, and what fits none.

A row has the columns of its value behind those of its record: topic, partition, offset, timestamp
and key, with `_` before their names. A value that no column can hold makes its record a dead
letter, with a reason that names the column; the others of its batch are not held up. A field that
is null is as if it were not there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.formats.fitting import fitted
from odradek.pipelines.formats.names import Unfit, check_name, once
from odradek.pipelines.formats.types import DEPTH_MAX, merged, settled, type_of
from odradek.pipelines.moving.values import PREFIX, Converted
from odradek.pipelines.tables.growth import FIRST, grown

OF_RECORD: Final = ("topic", "partition", "offset", "timestamp", "key")
_NONE: Final = frozenset({type(None)})
_TAKEN_AS_THEY_ARE: Final[Mapping[pa.DataType, frozenset[type]]] = {
    pa.bool_(): _NONE | {bool},
    pa.float64(): _NONE | {float},
}
"""Types of values that need no look at each of them."""

Parsed = Sequence[Mapping[str, Any] | None]
"""The fields of each record's value; None: it gives no row, for a reason that is known already."""


def record_fields() -> list[pa.Field]:
    """The columns that every row has."""
    return [pa.field(PREFIX + name, COLUMNS[name]) for name in OF_RECORD]


def own_columns(table: pa.Schema) -> pa.Schema:
    """The columns of a table that come from values."""
    return pa.schema([it for it in table if not it.name.startswith(PREFIX)])


def make_rows(
    batch: pa.RecordBatch,
    parsed: Parsed,
    table: pa.Schema,
    *,
    dead: dict[int, str],
    may_grow: bool = True,
    typed: frozenset[str] = frozenset(),
) -> Converted:
    """The rows of a batch. Records of `dead` give none, and those without a value.

    Columns of `typed` have values of their types already.
    """
    columns: dict[str, list[Any]] = {}
    ready: dict[str, pa.Array] = {}
    types: dict[str, pa.DataType] = {it.name: it.type for it in own_columns(table)}
    known = frozenset(types)
    maker = Columns(batch, parsed, dead, may_grow=may_grow)
    maker.first.update(
        {it.name: it.metadata[FIRST].decode() for it in table if FIRST in (it.metadata or ())}
    )
    for name in dict.fromkeys([*types, *(maker.names() if may_grow else ())]):
        if name not in known and not maker.can_be_column(name, types):
            continue
        kind = maker.type_for(name, types.get(name))
        if kind is None:
            continue
        if name in typed and (array := maker.as_array(name, kind)) is not None:
            ready[name] = array
        types[name], columns[name] = kind, [] if name in ready else maker.fitted(name, kind)
    dropped = frozenset(at for at, it in enumerate(parsed) if it is None and at not in dead)
    alive = [at for at in range(batch.num_rows) if at not in dead and at not in dropped]
    rows = pa.array(alive, pa.int32())
    arrays = [
        ready[it].take(rows) if it in ready else pa.array([column[at] for at in alive], types[it])
        for it, column in columns.items()
    ]
    fields = [maker.field(name, types[name]) for name in columns]
    return Converted(with_record(batch.take(rows), fields, arrays), dead, dropped)


def with_record(
    records: pa.RecordBatch, fields: Sequence[pa.Field], columns: Sequence[pa.Array]
) -> pa.RecordBatch:
    """Rows of these columns behind those of their records."""
    schema = pa.schema([*record_fields(), *fields])
    return pa.RecordBatch.from_arrays(
        [*(records.column(it) for it in OF_RECORD), *columns], schema=schema
    )


class Columns:
    """The values of a batch, column by column; notes the records that fit none."""

    def __init__(
        self, batch: pa.RecordBatch, parsed: Parsed, dead: dict[int, str], *, may_grow: bool
    ) -> None:
        self._batch = batch
        self._parsed = parsed
        self._dead = dead
        self._may_grow = may_grow
        self.first: dict[str, str] = {}
        """Which record brought a column that was not declared."""

    def names(self) -> list[str]:
        """Of all fields that say something, in the order in which they appear."""
        return list(
            dict.fromkeys(
                name
                for fields in self._parsed
                if fields
                for name, it in fields.items()
                if it is not None
            )
        )

    def can_be_column(self, name: str, others: Mapping[str, pa.DataType]) -> bool:
        """Whether the table may get such a column; if not, those that have it are dead."""
        try:
            check_own(name)
            check_name(name, others)
        except Unfit as reason:
            for at, fields in enumerate(self._parsed):
                if fields and fields.get(name) is not None:
                    self._dead.setdefault(at, str(reason))
            return False
        return True

    def type_for(self, name: str, known: pa.DataType | None) -> pa.DataType | None:
        """The column's type: the table's, where nested fields may come; without one, what fits."""
        if known is not None and not (self._may_grow and _is_nested(known)):
            return known
        found = pa.null() if known is None else known
        for at, fields in enumerate(self._parsed):
            if not fields or fields.get(name) is None or at in self._dead:
                continue
            try:
                value = once(fields, name)
                wider = merged(found, type_of(value)) if known is None else _grown(found, value)
                if not wider.equals(found) and name not in self.first:
                    self.first[name] = self._place(at)
                found = wider
            except Unfit as reason:
                self._dead[at] = f"column {name}: {reason}{self._named(name)}"
        return settled(found)

    def field(self, name: str, kind: pa.DataType) -> pa.Field:
        """The column, which says of itself who brought it."""
        first = self.first.get(name)
        return pa.field(name, kind, metadata=None if first is None else {FIRST: first})

    def _place(self, at: int) -> str:
        return place_of(self._batch, at)

    def _named(self, name: str) -> str:
        """The record that others are compared with."""
        return f"; the first is at {self.first[name]}" if name in self.first else ""

    def as_array(self, name: str, kind: pa.DataType) -> pa.Array | None:
        """The values at once; None: there are some that this type does not hold."""
        try:
            return pa.array(self._values(name), kind)
        except (pa.ArrowException, ArithmeticError):
            return None

    def _values(self, name: str) -> list[Any]:
        return [fields.get(name) if fields else None for fields in self._parsed]

    def fitted(self, name: str, kind: pa.DataType) -> list[Any]:
        """The values, each as its column takes it."""
        values = self._values(name)
        if {type(it) for it in values} <= _TAKEN_AS_THEY_ARE.get(kind, _NONE):
            return values
        for at, fields in enumerate(self._parsed):
            if fields:
                try:
                    values[at] = fitted(once(fields, name), kind)
                except Unfit as reason:
                    self._dead.setdefault(at, f"column {name}: {reason}{self._named(name)}")
        return values


def place_of(records: pa.RecordBatch, at: int) -> str:
    """Where a record is."""
    place = {it: records.column(it)[at].as_py() for it in OF_RECORD[:3]}
    return "offset {offset} of {topic}-{partition}".format(**place)


def with_columns(
    table: pa.Schema, columns: pa.Schema, records: pa.RecordBatch, at: int
) -> pa.Schema:
    """The table's with those of the schema that this record was written with.

    What comes or is wider now says so of itself. Whether the table takes wider types is its to say.
    """
    if grown(table, columns, "the table", can_widen=True) is None:
        return table
    first = {FIRST: place_of(records, at)}
    said = pa.schema([it.with_metadata({**(it.metadata or {}), **first}) for it in columns])
    return grown(table, said, "the table", can_widen=True) or table


def check_own(name: str) -> None:
    """Unfit for a name that only columns of the record have."""
    if name.startswith(PREFIX):
        raise Unfit(f"field {name[:60]!r}: names with {PREFIX!r} before them are the record's")


def _grown(kind: pa.DataType, value: object, depth: int = 0) -> pa.DataType:
    """The table's type with the fields of structs that this value adds; what it has stays."""
    if depth > DEPTH_MAX:
        raise Unfit(f"it is nested more than {DEPTH_MAX} deep")
    if pa.types.is_struct(kind) and isinstance(value, dict):
        fields = {it.name: it.type for it in kind}
        for name, it in value.items():
            if it is None:
                continue
            old = fields.get(name)
            if old is None:
                check_name(name, fields)
                fields[name] = type_of(once(value, name), depth + 1)
            else:
                fields[name] = _grown(old, it, depth + 1)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(kind) and isinstance(value, list):
        item = kind.value_type
        for it in value:
            item = _grown(item, it, depth + 1)
        return pa.list_(item)
    return kind


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) or pa.types.is_list(kind))
