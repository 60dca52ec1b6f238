"""A range of one partition as Arrow columns: what a task of Spark calls, with or without rows.

Nothing here knows Spark. A range is fetched from its leader, one request ahead; whole responses
are decoded at once, and come in slices of a size that Spark takes well.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from odradek.pipelines.columns import PLAIN
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.options import SourceOptions


def read_batches(
    options: SourceOptions, of: OffsetRange, columns: Sequence[str] = PLAIN
) -> Iterator[pa.RecordBatch]:
    """The records of a range in the order of their offsets, as these columns.

    A broker that dies or a leader that moves is followed for `options.client.patience_ms`.
    DataLoss where records are gone, CorruptData for a batch that is damaged; with
    `fail_on_data_loss` false either is skipped, counted and logged.
    """
    raise NotImplementedError
