"""Runs: what the records of a range do to their keys, one change for each, in the order of keys.

A range is of one partition, so what its records do to a key is what the last of them does. A run
is a Parquet file beside the table's, which no commit names; it goes once its batch is committed.
Row groups are small, and their keys are known, so that who merges a part of the keys reads that.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from odradek.pipelines.columns import completed
from odradek.pipelines.tables.compression import compression_of
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.keys import Sorted, as_bytes, below, keys_of
from odradek.pipelines.tables.store import Store, nonce, now_ms
from odradek.pipelines.tables.writing import Counted, Layout
from odradek.pipelines.upserts.columns import (
    DELETE,
    KEEPS,
    NAMES_TYPE,
    OFFSETS,
    OFFSETS_TYPE,
    OP,
    PUT,
    TRUNCATE,
    WAS,
    optional,
)

RUN_BYTES: Final = 32 << 20
"""Of rows that are sorted at once."""
RUN_GROUP_BYTES: Final = 1 << 20
READ_AHEAD_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Part:
    """A row group of a run: its least key and its greatest, and how large it is."""

    low: bytes
    high: bytes
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Truncated:
    """Records of a topic that count no more: those before an offset of its one partition."""

    topic: str
    offset: int


def run_of(file: DataFile) -> tuple[Part, ...]:
    """What a run holds."""
    rows = json.loads(file.stats)["parts"]
    return tuple(Part(bytes.fromhex(it[0]), bytes.fromhex(it[1]), it[2], it[3]) for it in rows)


def truncated_in(file: DataFile) -> Truncated | None:
    """Whether a record truncated its topic, and the last that did."""
    found = json.loads(file.stats)["truncated"]
    return None if found is None else Truncated(*found)


class RunWriter:
    """Takes changes in the order of their offsets."""

    def __init__(self, layout: Layout, span: Span) -> None:
        del span  # the changes say where they are from
        self.layout = layout
        """Of changes, with what was added to the table here."""
        self.growth: pa.Schema | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._done: list[DataFile] = []

    def write(self, rows: pa.RecordBatch) -> None:
        """Takes changes of the table's columns or of some of them, and of new ones."""
        schema = self.layout.schema_with(rows.schema)
        if schema is not None:
            self.layout = replace(self.layout, schema=schema)
            self.growth = schema
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= RUN_BYTES:
            self._flush()

    def finish(self) -> list[DataFile]:
        """Writes what waits, and says which runs there are."""
        self._flush()
        return self._done

    def abandon(self) -> None:
        """Drops what waits."""
        self._waiting.clear()

    def _flush(self) -> None:
        if not self._waiting:
            return
        whole = _whole(self._waiting, optional(self.layout.schema))
        self._waiting, self._bytes = [], 0
        truncated = _truncated(whole, self.layout)
        changes = folded(whole.filter(pc.not_equal(whole.column(OP), TRUNCATE)), self.layout)
        self._done.append(write_run(self.layout, changes, truncated))


def _whole(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    table = pa.Table.from_batches([completed(it, schema) for it in batches], schema)
    (whole,) = table.combine_chunks().to_batches()
    return whole


def _truncated(changes: pa.RecordBatch, layout: Layout) -> Truncated | None:
    at = np.flatnonzero(changes.column(OP).to_numpy() == TRUNCATE)
    if not len(at):
        return None
    topic, offset = (changes.column(layout.column(it))[at[-1]] for it in ("topic", "offset"))
    return Truncated(topic.as_py(), offset.as_py())


def folded(changes: pa.RecordBatch, layout: Layout) -> Sorted:
    """One change for each key: the last, with what it keeps of those before it."""
    changes, counted = _moved_apart(changes, layout)
    keys = keys_of(changes, layout.keys)
    order = np.argsort(keys, kind="stable")
    rows, keys, counted = changes.take(pa.array(order)), keys[order], counted[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
    last = np.append(starts[1:], len(keys))[: len(starts)] - 1
    taken = rows.take(pa.array(last))
    if rows.column(KEEPS).null_count < rows.num_rows:
        taken = _with_kept(rows, taken, starts, last)
    offsets = rows.column(layout.column("offset")).filter(pa.array(counted))
    counts = np.add.reduceat(counted.astype(np.int32), starts) if len(starts) else starts
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), offsets, type=OFFSETS_TYPE)
    return Sorted(taken.append_column(OFFSETS, lists), keys[starts])


def _moved_apart(changes: pa.RecordBatch, layout: Layout) -> tuple[pa.RecordBatch, Any]:
    """A row that got another key leaves the one that it had; that is no record of its own."""
    was = changes.column(WAS)
    changes = changes.drop_columns([WAS])
    moved = np.flatnonzero(was.is_valid().to_numpy(zero_copy_only=False))
    if not len(moved):
        return changes, np.ones(changes.num_rows, bool)
    left = changes.take(pa.array(moved))
    for name, column in zip(layout.keys, was.take(pa.array(moved)).flatten(), strict=True):
        left = left.set_column(left.schema.get_field_index(name), left.schema.field(name), column)
    at = left.schema.get_field_index(OP)
    left = left.set_column(at, OP, pa.array([DELETE] * len(moved), pa.int32()))
    order = np.argsort(np.concatenate([moved * 2, np.arange(changes.num_rows) * 2 + 1]))
    both = pa.Table.from_batches([left.cast(changes.schema), changes]).take(pa.array(order))
    counted = np.concatenate([np.zeros(len(moved), bool), np.ones(changes.num_rows, bool)])
    return both.combine_chunks().to_batches()[0], counted[order]


def _with_kept(rows: pa.RecordBatch, taken: pa.RecordBatch, starts: Any, last: Any) -> Any:
    """The last changes, with columns that they keep from changes before them."""
    keeps, ops = rows.column(KEEPS), rows.column(OP).to_numpy()
    left: list[list[str] | None] = taken.column(KEEPS).to_pylist()
    found: dict[str, dict[int, int | None]] = {}
    for number, names in enumerate(left):
        if names:
            before = range(last[number] - 1, starts[number] - 1, -1)
            left[number], places = _kept(names, before, keeps, ops)
            for name, at in places.items():
                found.setdefault(name, {})[number] = at
    for name, there in found.items():
        indices = [there.get(number, int(at)) for number, at in enumerate(last.tolist())]
        column = rows.column(name).take(pa.array(indices, pa.int64()))
        at = taken.schema.get_field_index(name)
        taken = taken.set_column(at, taken.schema.field(name), column)
    at = taken.schema.get_field_index(KEEPS)
    return taken.set_column(at, taken.schema.field(KEEPS), pa.array(left, NAMES_TYPE))


def _kept(
    names: Sequence[str], before: range, keeps: pa.Array, ops: Any
) -> tuple[list[str] | None, dict[str, int | None]]:
    """What is still to be kept from the table, and where the rest is; None: it was deleted."""
    left, found = list(names), dict[str, int | None]()
    for at in before:
        if ops[at] != PUT:
            found |= dict.fromkeys(left)
            return None, found
        sent = [it for it in left if it not in (keeps[at].as_py() or ())]
        found |= dict.fromkeys(sent, at)
        left = [it for it in left if it not in sent]
    return left or None, found


def write_run(layout: Layout, changes: Sorted, truncated: Truncated | None) -> DataFile:
    """A run as a file."""
    path = f"{layout.directory}/changes.{nonce()}.parquet"
    rows, parts = changes.rows, []
    each = max(1, rows.nbytes // max(1, rows.num_rows))
    size = max(1, RUN_GROUP_BYTES // each)
    with layout.store.writing(path) as sink:
        counted = pa.PythonFile(Counted(sink), mode="w")
        table = pa.Table.from_batches([rows])
        with pq.ParquetWriter(
            counted,
            rows.schema,
            compression=compression_of(table, layout.compression),
            use_dictionary=False,
            write_statistics=False,
        ) as writer:
            for start in range(0, rows.num_rows, size):
                some = changes.slice(start, min(start + size, rows.num_rows))
                writer.write_batch(some.rows, row_group_size=size)
                low, high = as_bytes(some.keys[0]).hex(), as_bytes(some.keys[-1]).hex()
                parts.append((low, high, len(some.keys), some.rows.nbytes))
        length = counted.tell()
    said = None if truncated is None else (truncated.topic, truncated.offset)
    stats = json.dumps({"parts": parts, "truncated": said})
    return DataFile(path, length, rows.num_rows, (), stats, now_ms())


def read_run(
    store: Store, run: DataFile, schema: pa.Schema, bounds: tuple[bytes | None, bytes | None]
) -> Iterator[pa.RecordBatch]:
    """The changes whose keys are from the first bound on and less than the second."""
    low, high = bounds
    wanted = [
        number
        for number, part in enumerate(run_of(run))
        if (low is None or part.high >= low) and (high is None or part.low < high)
    ]
    if not wanted:
        return
    source = store.reading(run.path)
    found = pq.ParquetFile(source, pre_buffer=False, buffer_size=READ_AHEAD_BYTES)
    for number in wanted:
        for batch in found.read_row_group(number).combine_chunks().to_batches():
            yield completed(batch, schema)


def run_schema(changes: pa.Schema) -> pa.Schema:
    """The columns of runs: those of changes that were folded."""
    kept = [it for it in changes if it.name != WAS]
    return pa.schema([*kept, pa.field(OFFSETS, OFFSETS_TYPE)])


def changes_in(
    store: Store,
    runs: Sequence[DataFile],
    schema: pa.Schema,
    *,
    keys: Sequence[str],
    bounds: tuple[bytes | None, bytes | None],
) -> list[Iterator[pa.RecordBatch]]:
    """Each run's changes between two bounds, cut where these are."""

    def cut(batch: pa.RecordBatch) -> pa.RecordBatch:
        found = keys_of(batch, keys)
        start = 0 if bounds[0] is None else below(found, bounds[0])
        return batch.slice(start, max(0, below(found, bounds[1]) - start))

    return [map(cut, read_run(store, run, schema, bounds)) for run in runs]
