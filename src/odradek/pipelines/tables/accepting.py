"""Whether a table can take rows, before any of them is written: `TableRefused` says why not."""

from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import completed
from odradek.pipelines.tables.partitioning import IDENTITY, NULL
from odradek.pipelines.tables.table import TableRefused
from odradek.pipelines.tables.writing import Layout

NAME_BYTES_MAX: Final = 255
"""Of a directory, in every file system."""


def accepted(layout: Layout, rows: pa.RecordBatch) -> None:
    """Looks at columns and at the directories that rows go to; nothing is written."""
    derived = {it.name.casefold() for it in layout.partitioning if it.transform != IDENTITY}
    for name in rows.schema.names:
        if name.casefold() in derived:
            raise TableRefused(f"column {name} is what the table is partitioned by")
    schema = layout.schema_with(rows.schema) or layout.schema
    _check_required(schema, rows)
    if not layout.partitioning:
        return
    whole = completed(rows, schema)
    for field in layout.partitioning:
        if field.transform == IDENTITY:
            for text in pc.unique(whole.column(field.source).cast(pa.string())).to_pylist():
                _check_directory(field.name, text)


def _check_required(schema: pa.Schema, rows: pa.RecordBatch) -> None:
    """Columns, and fields within them, of which the table's owner says that they are never null."""
    if all(_is_optional(it) for it in schema):
        return
    whole = completed(rows, schema)  # in which Arrow looks at what is within columns
    for field in schema:
        if not field.nullable and whole.column(field.name).null_count:
            raise TableRefused(
                f"column {field.name}: it is null, and the table takes no null there"
            )


def _is_optional(field: pa.Field) -> bool:
    kind = field.type
    inner = [kind.field(it) for it in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [pa.field("key", kind.key_type), kind.item_field]
    return bool(field.nullable) and all(_is_optional(it) for it in inner)


def _check_directory(column: str, text: str | None) -> None:
    if text is None:
        return
    if text in {"", NULL}:
        raise TableRefused(f"column {column}: {text!r} is null in the name of a directory")
    if len(f"{column}={quote(text, safe='')}".encode()) > NAME_BYTES_MAX:
        raise TableRefused(f"column {column}: {text[:40]!r}... is too long for a directory")
