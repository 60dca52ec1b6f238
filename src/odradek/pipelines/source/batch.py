"""A batch of the source: what `spark.read.format("odradek")` plans and its tasks read.

The driver finds the offsets when the plan is made; tasks only read their ranges. Where Spark hands
filters over, those on offset, partition, topic and timestamp narrow what is read. They stay
filters for Spark, too, but for those that the ranges fulfil exactly.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.filters import PushedFilters
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.reading import read_batches
from odradek.pipelines.source.sizes import offset_bytes
from odradek.pipelines.workers import SentToWorkers, freeze_once

PUSHING_MODULE: Final = "pyspark.sql.worker.data_source_pushdown_filters"
"""The program of Spark's that plans with filters. In the one without, `pushFilters` is an error."""


@dataclass
class RangePartition(InputPartition):
    """One task's ranges, in the order in which they are read."""

    ranges: tuple[OffsetRange, ...]

    def __init__(self, *ranges: OffsetRange) -> None:
        self.ranges = ranges
        super().__init__(ranges)

    def read(self, options: SourceOptions, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows."""
        for it in self.ranges:
            yield from read_batches(options, it, columns)
        freeze_once()


class OdradekReader(SentToWorkers, DataSourceReader):
    """Plans in the driver, reads in tasks."""

    def __init__(self, options: SourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns
        self._filters = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        """One for each range that is not empty."""
        offsets = SourceOffsets(self._options)
        start, end = self._filters.narrowed(offsets, offsets.starting(), offsets.ending())
        sizes = offset_bytes(self._options, start, end) if self._options.splits.bytes_max else None
        freeze_once()
        return [RangePartition(it) for it in plan(self._options, start, end, sizes)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if isinstance(partition, RangePartition):  # a batch without ranges has one task, too
            yield from partition.read(self._options, self._columns)


class PushingReader(OdradekReader):
    """The same where Spark hands filters over."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Takes what it can use; returns what Spark is to apply itself."""
        return [it for it in filters if not self._filters.take(it)]


def reader(options: SourceOptions, columns: tuple[str, ...]) -> Any:
    """The reader that the running program of Spark takes."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = getattr(main, "name", "")
    if PUSHING_MODULE in sys.modules or name == PUSHING_MODULE:
        return PushingReader(options, columns)
    return OdradekReader(options, columns)
