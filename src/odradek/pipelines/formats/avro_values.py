"""Values that are Avro records behind the number of their schema."""

import io
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.avro_batches import (
    ManyRecords,
    RecordReader,
    Slowly,
    framed_values,
    read_records,
    reader_of,
)
from odradek.pipelines.formats.avro_schemas import avro_schema, newest_avro
from odradek.pipelines.formats.avro_types import as_stored, column_of, columns_of
from odradek.pipelines.formats.column import Column, Convert, as_it_is, converted
from odradek.pipelines.formats.framed import (
    OF_RECORD,
    FramedValues,
    Schemas,
    fields_of,
    parted,
)
from odradek.pipelines.formats.registry import (
    SchemaRegistry,
    UnknownSchema,
    understood,
    value_subject,
)
from odradek.pipelines.formats.rows import own_columns, with_record
from odradek.pipelines.formats.sound import others_of, with_others
from odradek.pipelines.moving.values import Converted

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
    schema = avro_schema(registry, number)
    with understood(f"Avro schema {number}"):
        return _readable(schema)


def _readable(schema: Any) -> Any:
    try:
        return fastavro.parse_schema(as_stored(schema))
    except SchemaParseException as error:
        raise ValueError(error) from error


@lru_cache(maxsize=1_000)
def _known(registry: SchemaRegistry, number: int) -> tuple[Mapping[str, Convert], pa.Schema]:
    """The fields that are not taken as they are, and the columns of all."""
    schema = avro_schema(registry, number)
    with understood(f"Avro schema {number}"):
        columns = columns_of(schema)
    kinds = pa.schema([(name, it.kind) for name, it in columns.items()])
    special = {name: it for name, it in columns.items() if it.convert is not as_it_is}
    return {name: _reading(name, it) for name, it in special.items()}, kinds


def _reading(name: str, column: Column) -> Convert:
    return lambda record: converted(column, record.get(name))


@lru_cache(maxsize=1_000)
def _key_column(registry: SchemaRegistry, number: int) -> Column:
    schema = avro_schema(registry, number)
    with understood(f"Avro schema {number}"):
        return column_of(schema)


@lru_cache(maxsize=1_000)
def _reader(registry: SchemaRegistry, number: int) -> RecordReader | None:
    """Reads many at once, if the schema's types have a way to it and can be columns."""
    try:
        _parsed(registry, number)
        _known(registry, number)
        return reader_of(avro_schema(registry, number))
    except (Slowly, InvalidOption, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class AvroValues(FramedValues):
    """Records of Avro."""

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """One row for each record: most of a batch at once, what is special one by one."""

        def one_by_one(some: pa.RecordBatch, table: pa.Schema) -> Converted:
            return FramedValues.convert(self, some, table)

        schemas = Schemas(batch, table)
        try:
            read = self._read_at_once(batch.column("value"))
            for it in read:
                schemas.take(it.kinds, int(it.at[0]))
            own = own_columns(schemas.table)
            parts = [
                (it.at, with_record(batch.take(pa.array(it.at)), list(own), it.in_order_of(own)))
                for it in read
            ]
        except (Slowly, *OF_RECORD):
            return one_by_one(batch, table)
        if schemas.table is not table and len(others_of(batch, parts)):
            return one_by_one(batch, table)  # one of the others may be the first with a column
        return with_others(batch, parts, lambda some: one_by_one(some, schemas.table))

    def _read_at_once(self, values: pa.Array) -> list[ManyRecords]:
        """The records of each schema, in the order of their first."""
        found = []
        for number, framed in framed_values(values).items():
            with suppress(UnknownSchema):
                reader = _reader(self.registry, number)
                if reader is not None:
                    found.append(read_records(reader, framed, _known(self.registry, number)[1]))
        return sorted((it for it in found if len(it.at)), key=lambda it: int(it.at[0]))

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
        why = str(error).partition(" from <")[0]  # fastavro names its own object, too
        raise ValueError(f"it is no record of Avro schema {number}: {why}") from error
    if rest := len(stored) - body.tell():
        raise ValueError(f"{rest} bytes are behind the record of Avro schema {number}")
    return found


def avro_values(registry: SchemaRegistry, topics: tuple[str, ...]) -> AvroValues:
    """With the columns of the newest schemas of the topics, as far as the registry has them."""
    columns: dict[str, pa.DataType] = {}
    for topic in topics:
        schema = newest_avro(registry, value_subject(topic))
        if schema is not None:
            with understood(f"the newest schema of {value_subject(topic)}"):
                found = columns_of(schema)
                _readable(schema)
            for name, it in found.items():
                columns.setdefault(name, it.kind)
    return AvroValues(registry, tuple(columns.items()))
