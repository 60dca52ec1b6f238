"""Values that are JSON objects: a column for each field.

The table's columns are those of the schema that was given, and those that came with values. A field
that the table does not have adds a column, unless the schema is closed; a value that its column
cannot hold makes the record a dead letter. A record without a value (a tombstone) is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa

from odradek.pipelines.formats.rows import make_rows, record_fields
from odradek.pipelines.moving.values import PREFIX, Converted

NO_OBJECT: Final = "the value is JSON, but no object"


@dataclass(frozen=True, slots=True)
class JsonValues:
    """JSON objects. `columns` are those that the table has from the start."""

    columns: tuple[tuple[str, pa.DataType], ...] = ()
    may_grow: bool = True

    @property
    def prefix(self) -> str:
        """Before the names of a record's own columns."""
        return PREFIX

    @property
    def schema(self) -> pa.Schema:
        """Of a table without rows."""
        return pa.schema([*record_fields(), *(pa.field(*it) for it in self.columns)])

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each object."""
        dead: dict[int, str] = {}
        dropped: set[int] = set()
        parsed: list[Mapping[str, Any] | None] = []
        for at, value in enumerate(batch.column("value").to_pylist()):
            parsed.append(None)
            if value is None:
                dropped.add(at)
                continue
            try:
                found = orjson.loads(value)
            except orjson.JSONDecodeError as error:
                dead[at] = f"the value is no JSON: {error}"
                continue
            if isinstance(found, dict):
                parsed[at] = found
            else:
                dead[at] = NO_OBJECT
        return make_rows(
            batch, parsed, table, dead=dead, dropped=frozenset(dropped), may_grow=self.may_grow
        )
