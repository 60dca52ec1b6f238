"""What one task of an archive does: reads a range, makes rows, writes files, and says which."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from odradek.pipelines.columns import MICROS, completed
from odradek.pipelines.moving.archiving.dead_letters import dead_letters, dead_rows, refuse
from odradek.pipelines.moving.archiving.narrowing import narrowed
from odradek.pipelines.moving.archiving.tracing import traced
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RECORD, Converted, Values
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.reading import Skipped, read_batches
from odradek.pipelines.tables.accepting import accepted
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.gaps import Gap
from odradek.pipelines.tables.table import TableRefused
from odradek.pipelines.tables.writing import Layout, RangeWriter
from odradek.pipelines.upserts.columns import put_whole
from odradek.pipelines.upserts.runs import RunWriter


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one range."""

    files: tuple[DataFile, ...] = ()
    dead_files: tuple[DataFile, ...] = ()
    account: Account = field(default_factory=Account)
    schema: pa.Schema | None = None  # where the rows have more than the table
    newest_ms: int | None = None
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class WriteRange:
    """The work of one task; it is pickled with all that it needs."""

    source: SourceOptions
    values: Values
    layout: Layout
    dead_layout: Layout | None = None
    dead_topic: SinkOptions | None = None

    def __call__(self, of: OffsetRange) -> Written:
        """Reads and writes one range."""
        with RangeOutput(self, of) as output:
            for batch in read_batches(self.source, of, RECORD, output.skipped):
                for records, converted in self.rows_of(batch, lambda: output.layout):
                    output.take(records, converted)
            return output.finish()

    def rows_of(
        self, batch: pa.RecordBatch, layout: Callable[[], Layout]
    ) -> Iterator[tuple[pa.RecordBatch, Converted]]:
        """What becomes of records in a table that has this layout, which may grow meanwhile."""

        def convert(records: pa.RecordBatch) -> Converted:
            found = narrowed(self.values.convert(records, layout().schema), layout())
            accepted(layout(), put_whole(found.rows))
            return found

        return traced(batch, convert)


def agreed(
    work: WriteRange,
    pieces: Sequence[OffsetRange],
    run: Callable[[WriteRange, Sequence[OffsetRange]], Sequence[Written]],
) -> tuple[list[Written], pa.Schema | None]:
    """What became of the pieces, and the one schema that all of them added to the table's.

    Two pieces may give a new column two types. The first of them has it; the other is done again
    with that column in the table, so that its records which do not fit are dead letters.
    """
    schema = work.layout.schema
    done: dict[int, Written] = {}
    while rest := [number for number in range(len(pieces)) if number not in done]:
        now = replace(work, layout=replace(work.layout, schema=schema))
        for number, it in zip(rest, run(now, [pieces[it] for it in rest]), strict=True):
            try:
                layout = replace(work.layout, schema=schema)
                schema = layout.schema_with(it.schema) or schema
            except TableRefused:
                continue
            done[number] = it
    growth = None if schema.equals(work.layout.schema) else schema
    return [replace(done[number], schema=growth) for number in range(len(pieces))], growth


class RangeOutput:
    """The rows and dead letters of one range, on their way into files, and the account of them."""

    def __init__(self, work: WriteRange, of: OffsetRange) -> None:
        span = Span(of.topic_id, of.partition, of.start, of.end)
        kind = RunWriter if work.layout.keys else GrowingWriter
        self._rows: RunWriter | GrowingWriter = kind(work.layout, span)
        self._letters = None if work.dead_layout is None else RangeWriter(work.dead_layout, span)
        self._sender = None if work.dead_topic is None else TopicSender(work.dead_topic)
        self._of = of
        self.skipped: list[Skipped] = []
        self._account = Account()
        self._newest: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abandon()

    def abandon(self) -> None:
        """Drops the files that are open."""
        self._rows.abandon()
        if self._letters is not None:
            self._letters.abandon()

    @property
    def layout(self) -> Layout:
        """Of the table, with what was added to it here."""
        return self._rows.layout

    @property
    def schema(self) -> pa.Schema:
        """The columns of that."""
        return self.layout.schema

    def take(self, records: pa.RecordBatch, converted: Converted) -> None:
        """What became of some records."""
        self._account += _counted(records, converted)
        self._newest = _newer(self._newest, records)
        if converted.dead:
            self.bury(records, converted.dead)
        if converted.rows.num_rows:
            self._rows.write(converted.rows)

    def finish(self) -> Written:
        """Closes the files, and says what became of the range."""
        files = tuple(self._rows.finish())
        dead_files = () if self._letters is None else tuple(self._letters.finish())
        if self._sender is not None:
            self._sender.finish()
        account = self._account + Account(
            bytes=sum(file.bytes for file in files),
            skipped=sum(it.end - it.start for it in self.skipped),
        )
        of, gaps = self._of, []
        for it in self.skipped:
            why = "retention deleted them" if it.is_expired else it.why
            gaps.append(Gap(of.topic, of.topic_id, of.partition, it.start, it.end, why))
        return Written(files, dead_files, account, self._rows.growth, self._newest, tuple(gaps))

    def bury(self, records: pa.RecordBatch, dead: Mapping[int, str]) -> None:
        """Sends records where dead letters go, or refuses the first of them."""
        if self._letters is not None:
            self._letters.write(dead_rows(records, dead))
        elif self._sender is not None:
            self._sender.send(dead_letters(records, dead))
        else:
            refuse(records, dead)


class GrowingWriter:
    """Writes rows whose columns may become more: then it goes on in new files."""

    def __init__(self, layout: Layout, span: Span) -> None:
        self.layout = layout
        """Of the table, with what was added to it here."""
        self._span = span
        self._writer = RangeWriter(layout, span)
        self._done: list[DataFile] = []
        self.growth: pa.Schema | None = None

    def write(self, rows: pa.RecordBatch) -> None:
        """Takes rows of the table's columns or of some of them, and of new ones."""
        schema = self.layout.schema_with(rows.schema)
        if schema is not None:
            self._done += self._writer.finish()
            self.layout = replace(self.layout, schema=schema)
            self._writer = RangeWriter(self.layout, self._span)
            self.growth = schema
        if not rows.schema.equals(self.layout.schema):
            rows = completed(rows, self.layout.schema)
        self._writer.write(rows)

    def finish(self) -> list[DataFile]:
        """All files, closed."""
        return self._done + self._writer.finish()

    def abandon(self) -> None:
        """Drops the files that are open."""
        self._writer.abandon()


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
