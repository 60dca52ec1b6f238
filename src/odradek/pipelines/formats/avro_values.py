"""Values that are Avro records behind the number of their schema, as Confluent's serializers write.

Byte 0, four bytes of the number, then the record. The schema that a value was written with says
which columns it has; a newer schema adds columns to the table.
"""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import fastavro
import pyarrow as pa

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.avro_types import Column, as_stored, columns_of, converted
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    UnknownSchema,
    newest_schema,
    schema_by_id,
)
from odradek.pipelines.formats.rows import make_rows, record_fields, with_columns
from odradek.pipelines.moving.values import PREFIX, Converted
from odradek.pipelines.tables.table import TableRefused

MAGIC: Final = 0
HEAD: Final = struct.Struct(">bI")
OF_BYTES: Final = (
    ArithmeticError,
    EOFError,
    LookupError,
    RecursionError,
    ValueError,
    struct.error,
)
"""What `fastavro` raises where bytes are no record; all else is its mistake, or ours."""

Columns = tuple[tuple[str, pa.DataType], ...]


@lru_cache(maxsize=1_000)
def _known(registry: SchemaRegistry, number: int) -> tuple[Any, Mapping[str, Column], pa.Schema]:
    """Parsed once in each worker."""
    schema = schema_by_id(registry, number)
    columns = columns_of(schema)
    kinds = pa.schema([(name, it.kind) for name, it in columns.items()])
    return fastavro.parse_schema(as_stored(schema)), columns, kinds


@dataclass(frozen=True, slots=True)
class AvroValues:
    """Records of Avro; `columns` are those of the newest schema when the table is made."""

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

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each record of Avro."""
        dead: dict[int, str] = {}
        dropped: set[int] = set()
        parsed: list[Mapping[str, Any] | None] = []
        for at, value in enumerate(batch.column("value").to_pylist()):
            parsed.append(None)
            if value is None:
                dropped.add(at)
                continue
            try:
                parsed[at], kinds = self.read(value)
                table = with_columns(table, kinds, batch, at)
            except (ValueError, UnknownSchema, InvalidOption, TableRefused) as error:
                parsed[at], dead[at] = None, str(error)
        return make_rows(
            batch, parsed, table, dead=dead, dropped=frozenset(dropped), may_grow=False
        )

    def read(self, value: bytes) -> tuple[Mapping[str, Any], pa.Schema]:
        """A record, and the columns of the schema that it was written with."""
        if len(value) < HEAD.size or value[0] != MAGIC:
            raise ValueError("the value does not begin with the number of an Avro schema")
        _, number = HEAD.unpack_from(value)
        schema, columns, kinds = _known(self.registry, number)
        body = io.BytesIO(value[HEAD.size :])
        try:
            record: Any = fastavro.schemaless_reader(body, schema, None)
        except OF_BYTES as error:
            raise ValueError(f"the value is no record of Avro schema {number}: {error}") from error
        if rest := len(value) - HEAD.size - body.tell():
            raise ValueError(f"{rest} bytes are behind the record of Avro schema {number}")
        return {name: _field(name, it, record) for name, it in columns.items()}, kinds


def _field(name: str, column: Column, record: Mapping[str, Any]) -> Any:
    try:
        return converted(column, record.get(name))
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"column {name}: {error}") from error


def avro_values(registry: SchemaRegistry, topics: tuple[str, ...]) -> AvroValues:
    """With the columns of the newest schemas of the topics, as far as the registry has them."""
    columns: dict[str, pa.DataType] = {}
    for topic in topics:
        schema = newest_schema(registry, topic)
        for name, it in columns_of(schema).items() if schema is not None else ():
            columns.setdefault(name, it.kind)
    return AvroValues(registry, tuple(columns.items()))
