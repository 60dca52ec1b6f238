"""Files of a table compress what can be compressed."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.pipelines.tables.files import Span
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.writing import Layout, write_rows
from tests.pipelines.tables.lake import SCHEMA, rows


def test_bytes_that_are_dense_already_are_left_as_they_are(tmp_path: Path) -> None:
    """Column by column; nested columns have their own names in Parquet."""
    batch = rows(0, 2_000)
    at = SCHEMA.get_field_index("value")
    values = pa.array([os.urandom(50) for _ in range(2_000)], pa.binary())
    dense = batch.set_column(at, "value", values)
    for given, expected in ((batch, "ZSTD"), (dense, "UNCOMPRESSED")):
        (file,) = write_rows(Layout(LocalStore(tmp_path), SCHEMA), Span("t", 0, 0, 2_000), [given])
        group = pq.ParquetFile(tmp_path / file.path).metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        codecs = {it.path_in_schema: it.compression for it in columns}
        assert codecs.pop("value") == expected
        assert set(codecs.values()) == {"ZSTD"}
        assert "headers.list.element.key" in codecs
