"""What one task of an archive does: reads a range, makes rows, writes files, and says which."""

from dataclasses import dataclass, field, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.moving.dead_letters import dead_rows, refuse
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RECORD, Converted, Values
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.reading import read_batches
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.growth import grown
from odradek.pipelines.tables.writing import Layout, RangeWriter

MICROS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one range."""

    files: tuple[DataFile, ...] = ()
    dead_files: tuple[DataFile, ...] = ()
    account: Account = field(default_factory=Account)
    schema: pa.Schema | None = None  # where the rows have more than the table
    newest_ms: int | None = None


@dataclass(frozen=True)
class WriteRange:
    """The work of one task; it is pickled with all that it needs."""

    source: SourceOptions
    values: Values
    layout: Layout
    dead_layout: Layout | None = None

    def __call__(self, of: OffsetRange) -> Written:
        """Reads and writes one range."""
        span = Span(of.topic_id, of.partition, of.start, of.end)
        rows = GrowingWriter(self.layout, span)
        letters = None if self.dead_layout is None else RangeWriter(self.dead_layout, span)
        account, newest = Account(), None
        try:
            for batch in read_batches(self.source, of, RECORD):
                converted = self.values.convert(batch, rows.schema)
                account += _counted(batch, converted)
                newest = _newer(newest, batch)
                if letters is None:
                    refuse(batch, converted.dead)
                elif converted.dead:
                    letters.write(dead_rows(batch, converted.dead))
                rows.write(converted.rows)
            files = rows.finish()
            dead_files = [] if letters is None else letters.finish()
        except BaseException:
            rows.abandon()
            if letters is not None:
                letters.abandon()
            raise
        account += Account(bytes=sum(file.bytes for file in files))
        return Written(tuple(files), tuple(dead_files), account, rows.growth, newest)


class GrowingWriter:
    """Writes rows whose columns may become more: then it goes on in new files."""

    def __init__(self, layout: Layout, span: Span) -> None:
        self._layout = layout
        self._span = span
        self._writer = RangeWriter(layout, span)
        self._done: list[DataFile] = []
        self.growth: pa.Schema | None = None

    @property
    def schema(self) -> pa.Schema:
        """Of the table, with what was added to it here."""
        return self._layout.schema

    def write(self, rows: pa.RecordBatch) -> None:
        """Takes rows of the table's columns or of some of them, and of new ones."""
        if not rows.schema.equals(self.schema):
            schema = grown(self.schema, rows.schema, self._layout.store.uri)
            if schema is not None:
                self._done += self._writer.finish()
                self._layout = replace(self._layout, schema=schema)
                self._writer = RangeWriter(self._layout, self._span)
                self.growth = schema
            rows = completed(rows, self.schema)
        self._writer.write(rows)

    def finish(self) -> list[DataFile]:
        """All files, closed."""
        return self._done + self._writer.finish()

    def abandon(self) -> None:
        """Drops the files that are open."""
        self._writer.abandon()


def completed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with all columns of a schema that is at least as wide."""
    columns = [
        rows.column(it.name).cast(it.type)
        if it.name in rows.schema.names
        else pa.nulls(rows.num_rows, it.type)
        for it in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _counted(batch: pa.RecordBatch, converted: Converted) -> Account:
    account = Account(
        read=batch.num_rows,
        written=converted.rows.num_rows,
        dropped=len(converted.dropped),
        dead=len(converted.dead),
    )
    account.check()
    return account


def _newer(newest: int | None, batch: pa.RecordBatch) -> int | None:
    latest: int | None = pc.max(batch.column("timestamp").cast(pa.int64())).as_py()
    if latest is None:
        return newest
    return latest // MICROS if newest is None else max(newest, latest // MICROS)
