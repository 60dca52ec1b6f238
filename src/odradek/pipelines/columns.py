"""The columns of Spark's "kafka" source, as Spark names them and as Arrow holds them.

Spark refuses a batch whose Arrow schema is not exactly its own: names, order, types, nullability.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from odradek.model.moments import in_calendar

MICROS: Final = 1_000
"""In a millisecond: times are microseconds in Arrow, milliseconds in a record."""
HEADERS_TYPE: Final = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)
COLUMNS: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": HEADERS_TYPE,
    }
)
"""By name, in the order of Spark's source."""

SPARK_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "key": "binary",
        "value": "binary",
        "topic": "string",
        "partition": "int",
        "offset": "long",
        "timestamp": "timestamp",
        "timestampType": "int",
        "headers": "array<struct<key: string, value: binary>>",
    }
)
"""The same in Spark's words."""

PLAIN: Final = tuple(name for name in COLUMNS if name != "headers")
"""What a row has unless headers are asked for."""


def chosen(*, headers: bool) -> tuple[str, ...]:
    """The columns without a schema of the user's."""
    return tuple(COLUMNS) if headers else PLAIN


def arrow_schema(names: Sequence[str]) -> pa.Schema:
    """The Arrow schema of these columns, in this order."""
    return pa.schema([pa.field(name, COLUMNS[name]) for name in names])


def spark_schema(names: Sequence[str]) -> str:
    """The schema of these columns as Spark reads it."""
    return ", ".join(f"{name} {SPARK_TYPES[name]}" for name in names)


def bounds_of(column: pa.Array) -> tuple[Any, Any]:
    """The least and the greatest of whole numbers, or of times in microseconds; None: all null."""
    found = pc.min_max(column.cast(pa.int64())).as_py()
    return found["min"], found["max"]


def beyond_calendar(rows: pa.RecordBatch) -> frozenset[str]:
    """The columns with times that Python cannot read, nor an engine in the statistics of a file."""
    found = []
    for column in rows.schema:
        if pa.types.is_timestamp(column.type) and column.type.unit == "us":
            bounds = bounds_of(rows.column(column.name))
            if any(it is not None and not in_calendar(it // MICROS) for it in bounds):
                found.append(column.name)
    return frozenset(found)


def completed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with all columns of a schema that is at least as wide."""
    columns = [
        rows.column(it.name).cast(it.type)
        if it.name in rows.schema.names
        else pa.nulls(rows.num_rows, it.type)
        for it in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
