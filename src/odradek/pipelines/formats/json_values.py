"""Values that are JSON objects: a column for each field.

The table's columns are those of the schema that was given, and those that came with values. A field
that the table does not have adds a column, unless the schema is closed; a value that its column
cannot hold makes the record a dead letter. A record without a value (a tombstone) is dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.columns import completed
from odradek.pipelines.formats.fitting import DIGITS_MAX, EXACT
from odradek.pipelines.formats.json_batches import Dirt, read_objects
from odradek.pipelines.formats.json_text import NoObject, read_object
from odradek.pipelines.formats.rows import make_rows, own_columns, record_fields, with_record
from odradek.pipelines.formats.types import TIME_UNITS
from odradek.pipelines.moving.values import PREFIX, Converted

NO_ROWS: Final = np.array([], np.int64)


@dataclass(frozen=True, slots=True)
class JsonValues:
    """JSON objects. `columns` are those that the table has from the start."""

    columns: tuple[tuple[str, pa.DataType], ...] = ()
    may_grow: bool = True
    units: tuple[tuple[str, str], ...] = ()
    """Of columns of times, whose numbers are milliseconds without one."""
    dirt: Dirt = field(default_factory=Dirt, compare=False)

    @property
    def prefix(self) -> str:
        """Before the names of a record's own columns."""
        return PREFIX

    @property
    def schema(self) -> pa.Schema:
        """Of a table without rows."""
        return pa.schema([*record_fields(), *(pa.field(*it) for it in self.columns)])

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each object: most of a batch at once, what is special one by one."""
        columns = own_columns(table)
        micros = {name: TIME_UNITS[unit] for name, unit in self._units(table).items()}
        read = read_objects(
            batch.column("value"), columns, self.dirt, may_grow=self.may_grow, units=micros
        )
        if len(read) == 1 and len(read[0].at) == batch.num_rows:
            return Converted(with_record(batch, list(columns), read[0].columns))
        rest = np.delete(
            np.arange(batch.num_rows), np.concatenate([NO_ROWS, *(it.at for it in read)])
        )
        exact = self.one_by_one(batch.take(pa.array(rest)), table)
        numbers = rest.tolist()
        dead = {numbers[at]: reason for at, reason in exact.dead.items()}
        dropped = frozenset(numbers[at] for at in exact.dropped)
        alive = np.delete(rest, sorted({*exact.dead, *exact.dropped}))
        parts = [
            (it.at, with_record(batch.take(pa.array(it.at)), list(columns), it.columns))
            for it in read
        ]
        return Converted(in_order([*parts, (alive, exact.rows)]), dead, dropped)

    def _units(self, table: pa.Schema) -> dict[str, str]:
        """Of the columns that are times in the table, whatever the file says."""
        return {
            name: unit
            for name, unit in self.units
            if name in table.names and pa.types.is_timestamp(table.field(name).type)
        }

    def one_by_one(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """The same of each object by itself, exactly."""
        dead: dict[int, str] = {}
        parsed: list[Mapping[str, Any] | None] = []
        for at, value in enumerate(batch.column("value").to_pylist()):
            parsed.append(None)
            if value is None:
                continue
            try:
                found = parsed[at] = read_object(value)
            except NoObject as error:
                dead[at] = str(error)
                continue
            self.in_units(found, table)
        return make_rows(batch, parsed, table, dead=dead, may_grow=self.may_grow)

    def in_units(self, found: dict[str, Any], table: pa.Schema) -> None:
        """Turns numbers that are times into milliseconds."""
        for name, unit in self._units(table).items():
            if name in found:
                found[name] = in_millis(found[name], unit)


def in_millis(value: Any, unit: str) -> Any:
    """A number of this unit as one of milliseconds; what is no number has no unit."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return value
    exact = Decimal(value)
    if not exact.is_finite() or len(exact.as_tuple().digits) > DIGITS_MAX:
        return value  # which no time holds in any unit
    return EXACT.multiply(exact, Decimal(TIME_UNITS[unit]).scaleb(-3))


def in_order(parts: Sequence[tuple[Any, pa.RecordBatch]]) -> pa.RecordBatch:
    """The rows of all parts by the numbers of their records; the last part has all columns."""
    schema = parts[-1][1].schema
    rows = pa.Table.from_batches([completed(rows, schema) for _, rows in parts]).combine_chunks()
    order = np.argsort(np.concatenate([at for at, _ in parts]))
    (found,) = rows.take(pa.array(order)).to_batches() or [parts[-1][1]]
    return found
