"""From records to rows that the table takes, whatever the records hold.

What a batch fails at is traced to its record by halving: that one is a dead letter, with what was
said as its reason, and all others go on. What is no record's fault ends the run: a registry that
does not answer, a disk that is full.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.values import Converted
from odradek.pipelines.tables.table import TableRefused

REASON_MAX: Final = 300

Convert = Callable[[pa.RecordBatch], Converted]
"""Rows of records, as the table takes them at this moment."""


def traced(records: pa.RecordBatch, convert: Convert) -> Iterator[tuple[pa.RecordBatch, Converted]]:
    """Records and what became of them, in order; all at once where nothing fails."""
    try:
        converted = convert(records)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, PipelineError) and not isinstance(error, TableRefused):
            raise
        if records.num_rows > 1:
            half = records.num_rows // 2
            yield from traced(records.slice(0, half), convert)
            yield from traced(records.slice(half), convert)
            return
        converted = Converted(NO_ROWS, {0: _reason(error)})
    yield records, converted


NO_ROWS: Final = pa.RecordBatch.from_pydict({})


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:REASON_MAX]
