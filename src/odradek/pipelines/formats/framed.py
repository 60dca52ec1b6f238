"""Bytes behind the number of their schema, as Confluent's serializers write values and keys.

Byte 0, four bytes of the number, then what the schema describes. The schema that a value was
written with says which columns it has; a newer schema adds columns to the table.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.registry import SchemaRegistry, UnknownSchema
from odradek.pipelines.formats.rows import make_rows, record_fields, with_columns
from odradek.pipelines.moving.values import PREFIX, Converted
from odradek.pipelines.tables.growth import has_map, same
from odradek.pipelines.tables.table import TableRefused

MAGIC: Final = 0
HEAD: Final = struct.Struct(">bI")
OF_RECORD: Final = (ValueError, UnknownSchema, InvalidOption, TableRefused)
"""Why one record gives no row; others may."""

Columns = tuple[tuple[str, pa.DataType], ...]


def parted(value: bytes) -> tuple[int, memoryview]:
    """The number of its schema, and what is behind it."""
    if len(value) < HEAD.size or value[0] != MAGIC:
        raise ValueError("it does not begin with the number of a schema")
    return HEAD.unpack_from(value)[1], memoryview(value)[HEAD.size :]


@dataclass(frozen=True, slots=True)
class FramedValues:
    """Values of one format; `columns` are those of the newest schema when the table is made."""

    registry: SchemaRegistry
    columns: Columns = ()

    @property
    def prefix(self) -> str:
        """Before the names of a record's own columns."""
        return PREFIX

    @property
    def schema(self) -> pa.Schema:
        """Of a table without rows."""
        return pa.schema([*record_fields(), *(pa.field(*it) for it in self.columns)])

    @property
    def may_grow(self) -> bool:
        """A newer schema has more."""
        return True

    def read(self, value: bytes) -> tuple[Mapping[str, Any], pa.Schema]:
        """The fields of a value, and the columns of the schema that it was written with."""
        raise NotImplementedError

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each value."""
        dead: dict[int, str] = {}
        parsed: list[Mapping[str, Any] | None] = []
        schemas = Schemas(batch, table)
        unknown: dict[bytes, str] = {}
        for at, value in enumerate(batch.column("value").to_pylist()):
            parsed.append(None)
            if value is None:
                continue
            head = value[: HEAD.size]
            if head in unknown:
                dead[at] = unknown[head]
                continue
            try:
                parsed[at], columns = self.read(value)
                schemas.take(columns, at)
            except OF_RECORD as error:
                parsed[at], dead[at] = None, str(error)
                if isinstance(error, UnknownSchema):
                    unknown[head] = dead[at]  # the registry is asked once in a batch
        typed = _typed(schemas.table, schemas.seen)
        return make_rows(batch, parsed, schemas.table, dead=dead, may_grow=False, typed=typed)


class Schemas:
    """The schemas that records of a batch were written with, and a table that has their columns."""

    def __init__(self, batch: pa.RecordBatch, table: pa.Schema) -> None:
        self._batch = batch
        self._seen: dict[int, pa.Schema] = {}
        self.table = table

    @property
    def seen(self) -> Sequence[pa.Schema]:
        """Each once."""
        return list(self._seen.values())

    def take(self, columns: pa.Schema, at: int) -> None:
        """The schema of a record, which is the same object for all of its records."""
        if id(columns) not in self._seen:
            self.table = with_columns(self.table, columns, self._batch, at)
            self._seen[id(columns)] = columns


def _typed(table: pa.Schema, schemas: Sequence[pa.Schema]) -> frozenset[str]:
    """The columns whose values have the column's type already, by each schema."""
    return frozenset(
        it.name
        for it in table
        if not has_map(it.type)
        and all(
            same(one.field(it.name).type, it.type)
            for one in schemas
            if one.get_field_index(it.name) >= 0
        )
    )


def fields_of(reads: Mapping[str, Callable[[Any], Any]], record: Any) -> dict[str, Any]:
    """Each field as its column has it; ValueError names the first that no column keeps."""
    found = {}
    for name, read in reads.items():
        try:
            found[name] = read(record)
        except (ArithmeticError, ValueError) as error:
            raise ValueError(f"column {name}: {error}") from error
    return found
