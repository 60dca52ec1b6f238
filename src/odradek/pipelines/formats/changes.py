"""Records as changes of rows: a format of values whose rows are puts, deletes and truncates.

A record without a value deletes the row of its key. Where keys are columns of values, the record's
own key has to say them: as JSON with fields of these names, or, for one column alone, as its value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.columns import completed
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.beside import Beside
from odradek.pipelines.formats.debezium import FAULTS, Debezium
from odradek.pipelines.formats.fitting import fitted
from odradek.pipelines.formats.json_values import NO_UNITS, JsonValues
from odradek.pipelines.formats.keys import DECODED_KEY
from odradek.pipelines.formats.record_keys import key_values
from odradek.pipelines.formats.rows import OF_RECORD
from odradek.pipelines.moving.values import Converted, Values
from odradek.pipelines.upserts.columns import (
    DELETE,
    OP,
    PUT,
    TRUNCATE,
    change_schema,
    table_schema,
)

NO_KEY: Final = "it has no value, so it deletes a row: and it has no key"


@dataclass(frozen=True, slots=True)
class Changes:
    """What another format's rows do to the rows of a table with these keys."""

    values: Values
    keys: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The other's."""
        return self.values.prefix

    @property
    def schema(self) -> pa.Schema:
        """The other's columns, and what changes say beside them."""
        return change_schema(self.values.schema, self.keys)

    @property
    def may_grow(self) -> bool:
        """As the other."""
        return self.values.may_grow

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """A change for each record."""
        own = table_schema(table)
        is_gone = batch.column("value").is_null().to_numpy(zero_copy_only=False)
        gone, there = np.flatnonzero(is_gone), np.flatnonzero(~is_gone)
        found = self.values.convert(batch.take(pa.array(there)), own)
        dead = {int(there[at]): reason for at, reason in found.dead.items()}
        dropped = frozenset(int(there[at]) for at in found.dropped)
        alive = np.delete(there, sorted({*found.dead, *found.dropped}))
        rows = self._puts(found.rows)
        deletes, strange = self._deletes(batch.take(pa.array(gone)), own)
        dead |= {int(gone[at]): reason for at, reason in strange.items()}
        at = np.concatenate([alive, np.delete(gone, sorted(strange))])
        if deletes.num_rows:
            rows = _together(rows, deletes)
            rows, at = rows.take(pa.array(np.argsort(at))), np.sort(at)
        return self._checked(rows, at, Converted(rows, dead, dropped))

    def _puts(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of a format that knows only puts are puts."""
        if OP not in rows.schema.names:
            rows = rows.append_column(OP, pa.array(np.full(rows.num_rows, PUT, np.int32)))
        return rows

    def _deletes(
        self, records: pa.RecordBatch, table: pa.Schema
    ) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Changes of records without a value, and those that say no key."""
        known = {self.prefix + name: records.column(name) for name in OF_RECORD}
        columns, dead = self._keys_of(records, table, known)
        columns = {**known, **columns, OP: pa.array([DELETE] * records.num_rows, pa.int32())}
        rows = pa.RecordBatch.from_pydict(columns)
        if dead:
            rows = rows.take(pa.array(np.delete(np.arange(rows.num_rows), sorted(dead))))
        return rows, dead

    def _keys_of(
        self, records: pa.RecordBatch, table: pa.Schema, known: dict[str, pa.Array]
    ) -> tuple[dict[str, pa.Array], dict[int, str]]:
        found: dict[str, pa.Array] = {}
        dead: dict[int, str] = {}
        if DECODED_KEY in self.keys and isinstance(self.values, Beside) and self.values.keys:
            at = table.get_field_index(DECODED_KEY)
            kind = None if at < 0 else table.field(at).type
            column, dead = self.values.keys.decoded(records.column("key"), kind)
            if column is None:
                dead = dict.fromkeys(range(records.num_rows), NO_KEY) | dead
            found[DECODED_KEY] = pa.nulls(records.num_rows) if column is None else column
        said = [it for it in self.keys if it not in known and it not in found]
        if said:
            kinds, units = [table.field(name).type for name in said], self._units(table)
            values: list[Sequence[Any]] = []
            for at, key in enumerate(records.column("key").to_pylist()):
                try:
                    values.append(self._key_of(key, said, kinds, units))
                except FAULTS as reason:
                    dead.setdefault(at, f"it has no value, so it deletes a row: {reason}")
                    values.append([None] * len(said))
            for number, (name, kind) in enumerate(zip(said, kinds, strict=True)):
                found[name] = pa.array([it[number] for it in values], kind)
        return found, dead

    def _units(self, table: pa.Schema) -> Mapping[str, str]:
        values = _innermost(self.values)
        return values.units_in(table) if isinstance(values, JsonValues) else NO_UNITS

    def _key_of(
        self,
        key: bytes | None,
        names: Sequence[str],
        kinds: Sequence[pa.DataType],
        units: Mapping[str, str],
    ) -> list[Any]:
        """Keys are in Avro where values are, unless they do not look so."""
        values = _innermost(self.values)
        if not isinstance(values, AvroValues) or key is None or key[:1] != b"\0":
            return key_values(key, names, kinds, units)
        record, _ = values.read(key)
        return [fitted(record.get(name), kind) for name, kind in zip(names, kinds, strict=True)]

    def _checked(self, rows: pa.RecordBatch, at: Any, found: Converted) -> Converted:
        """Without changes of no key."""
        ops = rows.column(OP).to_numpy() if rows.num_rows else np.zeros(0, np.int32)
        dead = dict(found.dead)
        wrong = np.zeros(rows.num_rows, bool)
        for name in self.keys:
            is_null = (
                rows.column(name).is_null().to_numpy(zero_copy_only=False)
                if name in rows.schema.names
                else np.ones(rows.num_rows, bool)
            )
            for row in np.flatnonzero(is_null & (ops != TRUNCATE) & ~wrong).tolist():
                wrong[row] = True
                dead[int(at[row])] = f"column {name} is null, and it is a key"
        if not wrong.any():
            return found
        return Converted(rows.filter(pa.array(~wrong)), dead, found.dropped)


def _innermost(values: Values) -> Values:
    while isinstance(values, (Beside, Debezium)):
        values = values.values
    return values


def _together(puts: pa.RecordBatch, deletes: pa.RecordBatch) -> pa.RecordBatch:
    schema = pa.unify_schemas([puts.schema, deletes.schema], promote_options="permissive")
    schema = pa.schema([it.with_nullable(nullable=True) for it in schema])
    parts = [completed(it, schema) for it in (puts, deletes)]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
