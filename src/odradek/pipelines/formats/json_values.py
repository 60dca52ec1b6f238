"""Values that are JSON objects: a column for each field.

The table's columns are those of the schema that was given, and those that came with values. A field
that the table does not have adds a column, unless the schema is closed; a value that its column
cannot hold makes the record a dead letter. A record without a value (a tombstone) is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.formats.fitting import DIGITS_MAX, EXACT
from odradek.pipelines.formats.json_batches import Dirt, read_objects
from odradek.pipelines.formats.json_text import NoObject, read_object
from odradek.pipelines.formats.rows import make_rows, own_columns, record_fields, with_record
from odradek.pipelines.formats.sound import with_others
from odradek.pipelines.formats.types import TIME_UNITS
from odradek.pipelines.moving.values import PREFIX, Converted

NO_UNITS: Final[Mapping[str, str]] = MappingProxyType({})


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
        micros = {name: TIME_UNITS[unit] for name, unit in self.units_in(table).items()}
        read = read_objects(
            batch.column("value"), columns, self.dirt, may_grow=self.may_grow, units=micros
        )
        own = list(columns)
        parts = [(it.at, with_record(_taken(batch, it.at), own, it.columns)) for it in read]
        return with_others(batch, parts, lambda rest: self.one_by_one(rest, table))

    def units_in(self, table: pa.Schema) -> dict[str, str]:
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
        for name, unit in self.units_in(table).items():
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


def _taken(batch: pa.RecordBatch, at: Any) -> pa.RecordBatch:
    return batch if len(at) == batch.num_rows else batch.take(pa.array(at))
