"""Rows of one offset range into Parquet files: split by partition of the table, rolled by size.

Memory is bounded by the bytes of a row group times the files that are open at once, whatever the
range holds. A task that dies leaves files that no commit names; a sweep removes them.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from odradek.model.moments import moment_text
from odradek.pipelines.columns import MICROS, beyond_calendar, bounds_of
from odradek.pipelines.tables.compression import compression_of
from odradek.pipelines.tables.files import DATA, DataFile, Span, path_of
from odradek.pipelines.tables.growth import grown
from odradek.pipelines.tables.partitioning import IDENTITY, PartitionField, split
from odradek.pipelines.tables.store import Store, nonce, now_ms

FILE_BYTES: Final = 128 << 20
ROW_GROUP_BYTES: Final = 32 << 20
SHRUNK: Final = 0.3
"""How much is left of rows in a file, unless its first rows tell."""
OPEN_FILES_MAX: Final = 16
REPEATING: Final = ("topic", "_topic", "partition", "_partition", "timestampType")
"""Columns with few values: Parquet keeps these as a dictionary."""
STATISTICS: Final = ("partition", "offset", "timestamp")


@dataclass(frozen=True)
class Layout:
    """How the files of a table are written. Goes to the tasks."""

    store: Store
    schema: pa.Schema
    partitioning: tuple[PartitionField, ...] = ()
    keeps_partition_columns: bool = False
    file_bytes: int = FILE_BYTES
    compression: str = "zstd"
    keys: tuple[str, ...] = ()  # of a table in which each key is one row
    prefix: str = ""  # of the columns that every record has, such as `offset`
    directory: str = DATA  # of the data files
    can_widen: bool = False  # the types of its columns

    @property
    def file_schema(self) -> pa.Schema:
        """What a data file holds."""
        if self.keeps_partition_columns:
            return self.schema
        dropped = {it.source for it in self.partitioning if it.transform == IDENTITY}
        return pa.schema([it for it in self.schema if it.name not in dropped])

    def schema_with(self, rows: pa.Schema | None) -> pa.Schema | None:
        """The schema that holds these rows, too; None: it does. `TableRefused`: none does."""
        return grown(self.schema, rows, self.store.uri, can_widen=self.can_widen)

    def column(self, name: str) -> str:
        """What a column that every record has is called here."""
        return f"{self.prefix}{name}"


class RangeWriter:
    """Writes batches of rows that are in the order of their offsets."""

    def __init__(self, layout: Layout, span: Span) -> None:
        self._layout = layout
        self._span = span
        self._schema = layout.file_schema
        self._open: OrderedDict[tuple[str, ...], OpenFile] = OrderedDict()
        self._done: list[DataFile] = []
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes rows; they are in files once `finish` was called."""
        for values, rows in split(self._layout.partitioning, batch):
            if rows.num_rows:
                self._file(values, rows).write(rows.select(self._schema.names))
                self.rows += rows.num_rows
                if self._open[values].bytes >= self._layout.file_bytes:
                    self._close(values)

    def finish(self) -> list[DataFile]:
        """Closes all files and says what they are."""
        for values in list(self._open):
            self._close(values)
        return self._done

    def abandon(self) -> None:
        """Drops the files that are open."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()

    def _file(self, values: tuple[str, ...], rows: pa.RecordBatch) -> "OpenFile":
        unsaid = beyond_calendar(rows.select(self._schema.names))
        if values in self._open:
            if unsaid <= self._open[values].unsaid:
                self._open.move_to_end(values)
                return self._open[values]
            self._close(values)
        if len(self._open) >= OPEN_FILES_MAX:
            self._close(next(iter(self._open)))
        offsets = rows.column(self._layout.column("offset"))
        span = Span(self._span.topic_id, self._span.partition, offsets[0].as_py(), self._span.end)
        names = [field.name for field in self._layout.partitioning]
        pairs = tuple(zip(names, values, strict=True))
        path = path_of(span, pairs, nonce(), self._layout.directory)
        self._open[values] = OpenFile(self._layout, self._schema, path, pairs, unsaid)
        return self._open[values]

    def _close(self, values: tuple[str, ...]) -> None:
        self._done.append(self._open.pop(values).close())


class OpenFile:
    """One Parquet file that is being written."""

    def __init__(  # noqa: PLR0917 - all of them make the file
        self,
        layout: Layout,
        schema: pa.Schema,
        path: str,
        values: tuple[tuple[str, str], ...],
        unsaid: frozenset[str],
        group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        self.unsaid = unsaid
        self._group_bytes = group_bytes
        self._layout = layout
        self._schema = schema
        self._values = values
        self.path = path
        self._stack = ExitStack()
        self._sink = self._stack.enter_context(layout.store.writing(self.path))
        self._counted = Counted(self._sink)
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = self._flushed_bytes = 0
        self._rows = 0
        self._bounds: dict[str, tuple[int, int]] = {}

    @property
    def bytes(self) -> int:
        """Of the file so far, with what waits counted as it is."""
        return self._counted.bytes + self._waiting_bytes

    @property
    def likely_bytes(self) -> int:
        """The same, with what waits counted as what it will be."""
        shrunk = self._counted.bytes / self._flushed_bytes if self._flushed_bytes else SHRUNK
        return self._counted.bytes + int(self._waiting_bytes * shrunk)

    def write(self, rows: pa.RecordBatch) -> None:
        """Keeps rows until they make a row group."""
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes  # a slice is not all that it was cut from
        self._rows += rows.num_rows
        self._note(rows)
        if self._waiting_bytes >= self._group_bytes:
            self._flush()

    def close(self, **more: Any) -> DataFile:
        """Ends the file well; `more` is what its statistics say, too."""
        self._flush()
        assert self._writer is not None, "a file is opened for rows"
        self._writer.close()
        self._stack.close()
        return DataFile(
            self.path, self._counted.bytes, self._rows, self._values, self._stats(more), now_ms()
        )

    def abandon(self) -> None:
        """Ends it without making an object."""
        abandoned = InterruptedError("the file is not wanted")
        self._stack.__exit__(InterruptedError, abandoned, None)

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            if self._writer is None:
                self._writer = self._opened(table)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting = []
            self._flushed_bytes += self._waiting_bytes
            self._waiting_bytes = 0

    def _opened(self, table: pa.Table) -> pq.ParquetWriter:
        """Begins the file, in a way that suits its first rows."""
        return pq.ParquetWriter(
            pa.PythonFile(self._counted, mode="w"),
            self._schema,
            compression=compression_of(table, self._layout.compression),
            use_dictionary=[name for name in REPEATING if name in self._schema.names],
            write_statistics=self._bounded(),
            store_schema=True,
        )

    def _bounded(self) -> list[str]:
        names = dict.fromkeys([*bounded(self._schema), *self._layout.keys])
        return [it for it in names if it not in self.unsaid]

    def _note(self, rows: pa.RecordBatch) -> None:
        whole = [it for it in self._layout.keys if pa.types.is_integer(self._schema.field(it).type)]
        for column in dict.fromkeys([*map(self._layout.column, STATISTICS), *whole]):
            if column in self._schema.names and column not in self.unsaid:
                least, greatest = bounds_of(rows.column(column))
                low, high = self._bounds.get(column, (least, greatest))
                self._bounds[column] = (min(low, least), max(high, greatest))

    def _stats(self, more: dict[str, Any]) -> str:
        low: dict[str, int | str] = {}
        high: dict[str, int | str] = {}
        for name, bounds in self._bounds.items():
            is_time = pa.types.is_timestamp(self._schema.field(name).type)
            low[name], high[name] = map(_time, bounds) if is_time else bounds
        return json.dumps({"numRecords": self._rows, "minValues": low, "maxValues": high, **more})


def bounded(schema: pa.Schema) -> list[str]:
    """The columns of which a file says the least and the greatest value: not those of bytes.

    Queries look for no value between two byte strings, and Parquet would make several copies of the
    longest ones.
    """
    return [
        it.name
        for it in schema
        if not pa.types.is_nested(it.type) and not pa.types.is_binary(it.type)
    ]


class Counted:
    """A file that says how much was written to it."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self.bytes = 0

    def write(self, data: Any) -> int:
        """All of it."""
        self._sink.write(data)
        self.bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """How much that was."""
        return self.bytes

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """The context of the store closes the file."""


def _time(micros: int) -> str:
    """In Delta's form."""
    return moment_text(micros // MICROS, "milliseconds").replace("+00:00", "Z")


def write_rows(
    layout: Layout, span: Span, batches: Iterator[pa.RecordBatch] | Sequence[pa.RecordBatch]
) -> list[DataFile]:
    """All rows of a span, at once."""
    writer = RangeWriter(layout, span)
    try:
        for batch in batches:
            writer.write(batch)
        return writer.finish()
    except BaseException:
        writer.abandon()
        raise
