"""Data files written anew: without the rows of some offsets, or several small ones as one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.earlier import earlier_of
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.ordering import rows_in_order
from odradek.pipelines.tables.partitioning import IDENTITY, NULL
from odradek.pipelines.tables.table import Snapshot, Table
from odradek.pipelines.tables.writing import Layout, write_rows

READ_ROWS: Final = 16_384
READ_BYTES: Final = 2 << 20
"""Of rows that are read at once; one row that is larger is read alone."""
READ_AHEAD_BYTES: Final = 1 << 20
"""Of each column, in place of the whole of it in a row group or in the file."""
SMALL_SHARE: Final = 2
"""A file is small below the target size divided by this."""
FILES_MIN: Final = 4
"""Fewer small files than this are left alone."""
FILES_MAX: Final = 1_000
NAMED_MAX: Final = 4


class DamagedTable(PipelineError):
    """A data file is not what was written, or not there."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Reads and writes the data files of one table."""

    layout: Layout
    topics: dict[str, str]  # names by topic id: rows hold names, spans hold ids

    def read(
        self, file: DataFile, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file in the table's schema, a few at a time; null what is not asked for."""
        source = self.layout.store.reading(file.path)
        values = dict(file.values)
        found = pq.ParquetFile(source, pre_buffer=False, buffer_size=READ_AHEAD_BYTES)
        for number in range(found.num_row_groups):
            group = found.metadata.row_group(number)
            each = group.total_byte_size // max(1, group.num_rows)
            rows = max(1, min(READ_ROWS, READ_BYTES // max(1, each)))
            for batch in found.iter_batches(rows, row_groups=[number], columns=columns):
                yield self._completed(batch, values)

    def _completed(self, batch: pa.RecordBatch, values: dict[str, str]) -> pa.RecordBatch:
        columns = []
        identities = {it.source for it in self.layout.partitioning if it.transform == IDENTITY}
        for field in self.layout.schema:
            if field.name in batch.schema.names:
                columns.append(batch.column(field.name).cast(field.type))
            elif field.name in identities and values.get(field.name, NULL) != NULL:
                scalar = pa.scalar(values[field.name]).cast(field.type)
                columns.append(pa.repeat(scalar, batch.num_rows))
            else:
                columns.append(pa.nulls(batch.num_rows, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.layout.schema)

    def trim(self, file: DataFile, spans: Sequence[Span]) -> tuple[DataFile, ...]:
        """The files that hold the rest of a file; the file itself, if nothing of it goes."""
        with _readable((file,)):
            return self._trimmed(file, spans)

    def _trimmed(self, file: DataFile, spans: Sequence[Span]) -> tuple[DataFile, ...]:
        places = [self.layout.column(name) for name in ("topic", "partition", "offset")]
        if not any(pc.any(self._within(batch, spans)).as_py() for batch in self.read(file, places)):
            return (file,)
        kept = (batch.filter(pc.invert(self._within(batch, spans))) for batch in self.read(file))
        rest = (batch for batch in kept if batch.num_rows)
        first = next(rest, None)
        if first is None:
            return ()
        return tuple(write_rows(self.layout, self._span(file, first), chain([first], rest)))

    def merge(self, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """The rows of files of one partition, in the order of their offsets, in few files."""
        spans = [file.span for file in files]
        first = spans[0]
        assert first is not None
        end = max(span.end for span in spans if span is not None)
        span = Span(first.topic_id, first.partition, first.start, end)
        rows = rows_in_order(self.read, files, self.layout.column("offset"))
        with _readable(files):
            return tuple(write_rows(self.layout, span, rows))

    def _within(self, batch: pa.RecordBatch, spans: Sequence[Span]) -> pa.Array:
        topic, partition, offset = (
            batch.column(self.layout.column(name)) for name in ("topic", "partition", "offset")
        )
        inside = pa.repeat(pa.scalar(value=False), batch.num_rows)
        for span in spans:
            one = pc.and_(
                pc.equal(topic, self.topics[span.topic_id]), pc.equal(partition, span.partition)
            )
            low, high = pc.greater_equal(offset, span.start), pc.less(offset, span.end)
            inside = pc.or_(inside, pc.and_(one, pc.and_(low, high)))
        return inside

    def _span(self, file: DataFile, rows: pa.RecordBatch) -> Span:
        if file.span is not None:
            return file.span
        ids = {name: topic_id for topic_id, name in self.topics.items()}
        topic = rows.column(self.layout.column("topic"))[0].as_py()
        partition = rows.column(self.layout.column("partition"))[0].as_py()
        return Span(ids.get(topic, ""), partition, 0, 1 << 62)


@contextmanager
def _readable(files: Sequence[DataFile]) -> Iterator[None]:
    """A file that is damaged or not there any more is named, with what helps."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        spans = [it.span for it in files if it.span is not None]
        where = f"offsets {min(it.start for it in spans)} to {max(it.end for it in spans) - 1}"
        names = ", ".join(file.path for file in files[:NAMED_MAX])
        raise DamagedTable(
            f"the table's rows cannot be read in one of {names}: {str(error).splitlines()[0]}; "
            f"odradek verify finds it, odradek pipeline backfill FILE --from POINT makes {where} "
            "of its partition again"
        ) from error


def topics_of(snapshot: Snapshot) -> dict[str, str]:
    """Names by topic id, for `Rewriting`; the topics that have the names now come last."""
    now = {topic.topic_id: name for name, topic in snapshot.positions.topics.items()}
    return {**earlier_of(snapshot.properties), **now}


def groups_to_merge(
    files: Sequence[DataFile], file_bytes: int, *, is_running: bool = False
) -> list[tuple[DataFile, ...]]:
    """Small files that lie beside each other in one partition and one directory.

    While an archive runs, a file is left alone as long as it is much larger than all behind it:
    so a row is written again a few times, however often files are merged.
    """

    def place(file: DataFile) -> tuple[str, int, tuple[tuple[str, str], ...]]:
        span = file.span
        assert span is not None
        return span.topic_id, span.partition, file.values

    def start(file: DataFile) -> int:
        span = file.span
        assert span is not None
        return span.start

    known = [file for file in files if file.span is not None]
    groups: list[tuple[DataFile, ...]] = []
    for _, together in groupby(sorted(known, key=lambda it: (place(it), start(it))), place):
        run: list[DataFile] = []
        for file in [*together, None]:
            small = file is not None and file.bytes * SMALL_SHARE <= file_bytes
            full = sum(it.bytes for it in run) >= file_bytes or len(run) >= FILES_MAX
            if run and (not small or full):
                run = _grown_enough(run) if is_running else run
                groups += [tuple(run)] if len(run) >= FILES_MIN else []
                run = []
            if small and file is not None:
                run.append(file)
    return groups


def _grown_enough(run: list[DataFile]) -> list[DataFile]:
    """The last files of a run, up to the first that is larger than twice all behind it."""
    behind = run[-1].bytes
    for number in range(len(run) - 2, -1, -1):
        if run[number].bytes > 2 * behind:
            return run[number + 1 :]
        behind += run[number].bytes
    return run


def merge_small(table: Table, layout: Layout, snapshot: Snapshot) -> tuple[int, int]:
    """Merges what is small; says how many files went and how many came."""
    went = came = 0
    rewriting = Rewriting(layout, topics_of(snapshot))
    for group in groups_to_merge(table.files(snapshot), layout.file_bytes):
        merged = rewriting.merge(group)
        committed = commits.merge(table, group, merged, {"files": str(len(group))})
        if committed is None:
            layout.store.delete([file.path for file in merged])
            continue
        went, came = went + len(group), came + len(merged)
    return went, came
