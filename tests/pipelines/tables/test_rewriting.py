"""How data files are read again."""

from pathlib import Path

import pyarrow as pa

from odradek.pipelines.tables.files import Span
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.rewriting import READ_BYTES, Rewriting
from odradek.pipelines.tables.writing import ROW_GROUP_BYTES, Layout, write_rows

VALUE_BYTES = 100_000
ROWS = 600
SCHEMA = pa.schema([("offset", pa.int64()), ("value", pa.binary())])


def test_memory_follows_neither_the_rows_nor_the_row_groups(tmp_path: Path) -> None:
    """Large rows come a few at a time, and no row group is held as a whole."""
    values = pa.array([bytes(VALUE_BYTES)] * ROWS, pa.binary())
    rows = pa.RecordBatch.from_arrays([pa.array(range(ROWS)), values], schema=SCHEMA)
    layout = Layout(LocalStore(tmp_path), SCHEMA, compression="none")
    slices = [rows.slice(at, 10) for at in range(0, ROWS, 10)]
    (file,) = write_rows(layout, Span("t", 0, 0, ROWS), slices)
    assert file.bytes > ROW_GROUP_BYTES
    before, used, found = pa.total_allocated_bytes(), [], []
    for batch in Rewriting(layout, {"t": "topic"}).read(file):
        assert batch.nbytes <= READ_BYTES
        used.append(pa.total_allocated_bytes() - before)
        found += batch.column("offset").to_pylist()
    assert found == list(range(ROWS))
    assert max(used) < ROW_GROUP_BYTES // 2
