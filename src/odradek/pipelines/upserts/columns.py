"""What a change of a row says beside its columns: put, delete or truncate, and what it keeps."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

OURS: Final = "__"
"""Before the names of these columns; no column of a table has such a name."""
OP: Final = "__op"
PUT: Final = 0
DELETE: Final = 1
TRUNCATE: Final = 2
KEEPS: Final = "__keeps"
"""Columns whose values were not sent: they stay what they were."""
WAS: Final = "__was"
"""The key that the row had before, where it was another one."""
OFFSETS: Final = "__offsets"
"""Of a run: the offsets of all records that this is made of."""
NAMES_TYPE: Final = pa.list_(pa.string())
OFFSETS_TYPE: Final = pa.list_(pa.int64())


def is_ours(name: str) -> bool:
    """Whether it is none of the table's columns."""
    return name.startswith(OURS)


def change_schema(table: pa.Schema, keys: Sequence[str]) -> pa.Schema:
    """The columns of changes of a table."""
    was = pa.struct([pa.field(name, table.field(name).type) for name in keys])
    return pa.schema(
        [*table, pa.field(OP, pa.int32()), pa.field(KEEPS, NAMES_TYPE), pa.field(WAS, was)]
    )


def table_schema(changes: pa.Schema) -> pa.Schema:
    """The table's columns among these."""
    return pa.schema([it for it in changes if not is_ours(it.name)])


def put_whole(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Those that become rows of the table as they are here; all, where rows are no changes."""
    if OP not in rows.schema.names:
        return rows
    found = pc.equal(rows.column(OP), PUT)
    if KEEPS in rows.schema.names:
        found = pc.and_(found, pc.is_null(rows.column(KEEPS)))
    return rows.filter(found)


def optional(schema: pa.Schema) -> pa.Schema:
    """The same columns, of which each may be null: what deletes a row says only its key."""
    return pa.schema([it.with_nullable(nullable=True) for it in schema])
