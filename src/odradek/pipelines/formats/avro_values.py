"""Values that are Avro records behind the number of their schema."""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import fastavro
import pyarrow as pa

from odradek.pipelines.formats.avro_types import as_stored, column_of, columns_of
from odradek.pipelines.formats.column import Column, Convert, as_it_is, converted
from odradek.pipelines.formats.framed import FramedValues, fields_of, parted
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    newest_schema,
    schema_by_id,
    value_subject,
)

OF_BYTES: Final = (
    ArithmeticError,
    EOFError,
    LookupError,
    RecursionError,
    ValueError,
    struct.error,
)
"""What `fastavro` raises where bytes are no record; all else is its mistake, or ours."""


@lru_cache(maxsize=1_000)
def _parsed(registry: SchemaRegistry, number: int) -> Any:
    """Made once in each worker, as what follows."""
    return fastavro.parse_schema(as_stored(schema_by_id(registry, number)))


@lru_cache(maxsize=1_000)
def _known(registry: SchemaRegistry, number: int) -> tuple[Mapping[str, Convert], pa.Schema]:
    """The fields that are not taken as they are, and the columns of all."""
    columns = columns_of(schema_by_id(registry, number))
    kinds = pa.schema([(name, it.kind) for name, it in columns.items()])
    special = {name: it for name, it in columns.items() if it.convert is not as_it_is}
    return {name: _reading(name, it) for name, it in special.items()}, kinds


def _reading(name: str, column: Column) -> Convert:
    return lambda record: converted(column, record.get(name))


@lru_cache(maxsize=1_000)
def _key_column(registry: SchemaRegistry, number: int) -> Column:
    return column_of(schema_by_id(registry, number))


@dataclass(frozen=True, slots=True)
class AvroValues(FramedValues):
    """Records of Avro."""

    def read(self, value: bytes) -> tuple[Mapping[str, Any], pa.Schema]:
        """A record, and the columns of the schema that it was written with."""
        number, body = parted(value)
        reads, kinds = _known(self.registry, number)
        record = _decoded(self.registry, number, body)
        return (record | fields_of(reads, record) if reads else record), kinds


def read_avro_key(registry: SchemaRegistry, key: bytes) -> tuple[Any, pa.DataType]:
    """What a key holds, of any type of Avro's, and the type that its schema says."""
    number, body = parted(key)
    column = _key_column(registry, number)
    return converted(column, _decoded(registry, number, body)), column.kind


def _decoded(registry: SchemaRegistry, number: int, stored: memoryview) -> Any:
    body = io.BytesIO(stored)
    try:
        found: Any = fastavro.schemaless_reader(body, _parsed(registry, number), None)
    except OF_BYTES as error:
        raise ValueError(f"it is no record of Avro schema {number}: {error}") from error
    if rest := len(stored) - body.tell():
        raise ValueError(f"{rest} bytes are behind the record of Avro schema {number}")
    return found


def avro_values(registry: SchemaRegistry, topics: tuple[str, ...]) -> AvroValues:
    """With the columns of the newest schemas of the topics, as far as the registry has them."""
    columns: dict[str, pa.DataType] = {}
    for topic in topics:
        schema = newest_schema(registry, value_subject(topic))
        for name, it in columns_of(schema).items() if schema is not None else ():
            columns.setdefault(name, it.kind)
    return AvroValues(registry, tuple(columns.items()))
