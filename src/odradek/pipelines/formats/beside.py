"""Columns of a record beside those of its value: headers, the type of its time, its decoded key."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.formats.keys import DECODED_KEY, Keys
from odradek.pipelines.formats.sound import convert_sound
from odradek.pipelines.moving.values import PREFIX, Converted, Values

CHOICES: Final = ("headers", "timestampType")


@dataclass(frozen=True, slots=True)
class Beside:
    """Another format, and these columns of its records."""

    values: Values
    columns: tuple[str, ...] = ()
    keys: Keys | None = None

    @property
    def prefix(self) -> str:
        """The other's."""
        return self.values.prefix

    @property
    def schema(self) -> pa.Schema:
        """The other's columns, then these."""
        fields = [*self.values.schema, *self._record_fields()]
        if self.keys is not None and self.keys.kind is not None:
            fields.append(pa.field(DECODED_KEY, self.keys.kind))
        return pa.schema(fields)

    @property
    def may_grow(self) -> bool:
        """As the other."""
        return self.values.may_grow

    def _record_fields(self) -> list[pa.Field]:
        return [pa.field(PREFIX + name, COLUMNS[name]) for name in self.columns]

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """Rows of the other format; a record whose key is not what it should be is dead."""
        fields, more = self._record_fields(), [batch.column(name) for name in self.columns]
        dead: dict[int, str] = {}
        if self.keys is not None:
            at = table.get_field_index(DECODED_KEY)
            known = None if at < 0 else table.field(at).type
            column, dead = self.keys.decoded(batch.column("key"), known)
            if column is not None:
                more.append(column)
                fields.append(pa.field(DECODED_KEY, column.type))
        found = convert_sound(self.values, batch, table, dead)
        gone = sorted({*found.dead, *found.dropped})
        alive = np.delete(np.arange(batch.num_rows), gone)
        taken = [pc.take(it, pa.array(alive)) for it in more]
        schema = pa.schema([*found.rows.schema, *fields])
        rows = pa.RecordBatch.from_arrays([*found.rows.columns, *taken], schema=schema)
        return Converted(rows, found.dead, found.dropped)
