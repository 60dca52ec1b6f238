"""A run of batches as Arrow columns: all numbers of all records at once, then the slices.

What a record says of its parts is not believed: key and value must lie within the record, offsets
must rise and lie within their batch. Only the columns that are wanted are built.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.model.counting import counted
from odradek.pipelines.columns import COLUMNS, MICROS, arrow_schema
from odradek.pipelines.decoding.fields import Fields, MalformedRecords, record_fields
from odradek.pipelines.decoding.headers import headers_column
from odradek.pipelines.decoding.runs import DamagedBatch, Run
from odradek.pipelines.decoding.slices import binary_column, number_column, text_column
from odradek.pipelines.decoding.varints import MalformedVarint
from odradek.pipelines.positions import OffsetRange

ROWS_MAX: Final = 10_000
"""Of one Arrow batch: Spark takes many small ones at half the speed."""
MILLIS_MAX: Final = ((1 << 63) - 1) // MICROS


class TableDecoder:
    """Makes the wanted columns of one range."""

    def __init__(self, of: OffsetRange, names: Sequence[str]) -> None:
        self._range = of
        self._names = tuple(names)
        self._schema = arrow_schema(names)
        self._wants = frozenset(names)
        self._topic = text_column(of.topic, ROWS_MAX)
        self._partition = number_column(np.full(ROWS_MAX, of.partition, np.int32))

    def decode(self, run: Run, position: int) -> Iterator[pa.RecordBatch]:
        """The records of a run from an offset on; DamagedBatch behind those that are whole."""
        try:
            yield from self._columns(run, position)
        except (MalformedRecords, MalformedVarint, pa.ArrowInvalid):
            if len(run.headers) == 1:
                (header,) = run.headers
                raise DamagedBatch(
                    "the batch does not hold what it says, "
                    f"{counted(header.record_count, 'record')}",
                    header.base_offset,
                    header.next_offset,
                ) from None
            for region, header in zip(run.regions, run.headers, strict=True):
                yield from self.decode(Run(run.data, [region], [header]), position)

    def _columns(self, run: Run, position: int) -> list[pa.RecordBatch]:
        slices = bool(self._wants & {"key", "value", "headers"})
        fields = record_fields(run.data, run.regions, slices=slices)
        offsets = self._offsets(run, fields.numbers[:, 1])
        low = int(np.searchsorted(offsets, position))
        high = int(np.searchsorted(offsets, self._range.end))
        parts: dict[str, Any] = {}
        self._add_slices(run, fields, parts)
        if "offset" in self._wants:
            parts["offset"] = number_column(offsets)
        self._add_times(run, fields.numbers[:, 0], parts)
        return [
            self._batch(parts, first, min(ROWS_MAX, high - first))
            for first in range(low, high, ROWS_MAX)
        ]

    def _batch(self, parts: dict[str, Any], at: int, count: int) -> pa.RecordBatch:
        made: dict[str, Callable[[], pa.Array]] = {
            "topic": lambda: self._topic.slice(0, count),
            "partition": lambda: self._partition.slice(0, count),
        }
        columns = [
            made[name]() if name in made else parts[name].slice(at, count) for name in self._names
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _add_slices(self, run: Run, fields: Fields, parts: dict[str, Any]) -> None:
        places = fields.places
        for name, column in (("key", 0), ("value", 2)):
            if name in self._wants:
                parts[name] = binary_column(run.data, places[:, column], places[:, column + 1])
        if "headers" in self._wants:
            view = np.frombuffer(run.data, np.uint8)
            parts["headers"] = headers_column(run.data, view, places[:, 4].copy(), places[:, 5])

    def _offsets(self, run: Run, deltas: Any) -> Any:
        counts = [header.record_count for header in run.headers]
        lasts = np.repeat([header.last_offset_delta for header in run.headers], counts)
        offsets = np.repeat([header.base_offset for header in run.headers], counts) + deltas
        if (deltas < 0).any() or (deltas > lasts).any() or (np.diff(offsets) <= 0).any():
            raise MalformedVarint
        return offsets

    def _add_times(self, run: Run, deltas: Any, parts: dict[str, Any]) -> None:
        if not self._wants & {"timestamp", "timestampType"}:
            return
        counts = [header.record_count for header in run.headers]
        kinds = np.array([header.timestamp_type for header in run.headers], np.int32)
        if "timestamp" in self._wants:
            times = np.repeat([header.base_timestamp for header in run.headers], counts) + deltas
            if kinds.any():
                appended = np.repeat([header.max_timestamp for header in run.headers], counts)
                times = np.where(np.repeat(kinds, counts) == 1, appended, times)
            if len(times) and (times.max() > MILLIS_MAX or times.min() < -MILLIS_MAX):
                raise MalformedVarint
            parts["timestamp"] = pa.Array.from_buffers(
                COLUMNS["timestamp"], len(times), [None, pa.py_buffer(times * MICROS)]
            )
        if "timestampType" in self._wants:
            parts["timestampType"] = number_column(np.repeat(kinds, counts))
