"""What Spark calls for `write` and `writeStream`: tasks send, nothing is committed at the end.

Sending is idempotent within a task. A task that is run again, and a batch of a stream that is run
again after a crash, send their rows again, as with Spark's "kafka" sink.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from odradek.pipelines.sink.options import SinkOptions, check_columns
from odradek.pipelines.sink.sending import send_all
from odradek.pipelines.workers import SentToWorkers, freeze_once


@dataclass
class SentRows(WriterCommitMessage):
    """How many rows a task sent."""

    rows: int


class TopicWriter(SentToWorkers, DataSourceArrowWriter):
    """For `df.write`."""

    def __init__(self, options: SinkOptions, schema: Any) -> None:
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task."""
        return _sent(self._options, iterator)


class TopicStreamWriter(SentToWorkers, DataSourceStreamArrowWriter):
    """For `df.writeStream`."""

    def __init__(self, options: SinkOptions, schema: Any) -> None:
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """The rows of one task of one micro-batch."""
        return _sent(self._options, iterator)


def _sent(options: SinkOptions, rows: Iterator[pa.RecordBatch]) -> SentRows:
    count = send_all(options, rows)
    freeze_once()
    return SentRows(count)
