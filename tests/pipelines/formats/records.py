"""Records as a format is given them."""

from collections.abc import Sequence

import pyarrow as pa

from odradek.pipelines.moving.values import RECORD_SCHEMA


def records(values: Sequence[bytes | None]) -> pa.RecordBatch:
    """With these values, from offset 100 on."""
    count = len(values)
    columns = {
        "key": pa.array([b"k"] * count, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "topic": pa.array(["orders"] * count),
        "partition": pa.array([3] * count, pa.int32()),
        "offset": pa.array(range(100, 100 + count), pa.int64()),
        "timestamp": pa.array([1_700_000_000_000_000] * count, pa.int64()),
        "timestampType": pa.array([0] * count, pa.int32()),
        "headers": pa.array([[]] * count, RECORD_SCHEMA.field("headers").type),
    }
    return pa.RecordBatch.from_arrays(
        [columns[it.name].cast(it.type) for it in RECORD_SCHEMA], schema=RECORD_SCHEMA
    )
