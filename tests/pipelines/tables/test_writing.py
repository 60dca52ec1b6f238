"""What the files of a table are like."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.pipelines.tables.files import Span
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.writing import Layout, write_rows

ROWS = 50_000
SCHEMA = pa.schema([("offset", pa.int64()), ("value", pa.binary())])


def test_slices_of_one_answer_make_one_row_group(tmp_path: Path) -> None:
    """Each slice refers to the buffers of all of them, and counts as what it holds alone."""
    values = pa.array([bytes(200)] * ROWS, pa.binary())
    whole = pa.RecordBatch.from_arrays([pa.array(range(ROWS)), values], schema=SCHEMA)
    slices = [whole.slice(at, 5_000) for at in range(0, ROWS, 5_000)]
    (file,) = write_rows(Layout(LocalStore(tmp_path), SCHEMA), Span("t", 0, 0, ROWS), slices)
    found = pq.ParquetFile(tmp_path / file.path)
    assert found.metadata.num_row_groups == 1
    assert found.read().equals(pa.Table.from_batches([whole]))
