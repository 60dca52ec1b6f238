"""A table held against the log: gaps, doubles, rows that the log has not, content that differs.

Compared is what both have: from where the table begins, or the log if that is later, up to where
the table ends. Doubles are looked for in the whole table. Rows that were made of values have no
bytes to compare, and a record may have been dropped or be dead: there only doubles and rows without
a record are faults. What is damaged, in the log or in the table, is a fault as well, and the rest
is compared nevertheless.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.errors import NothingCompared, PipelineError
from odradek.pipelines.moving.comparing.findings import Finding, joined, runs_of
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.values import RECORD
from odradek.pipelines.positions import NO_EPOCH, OffsetRange, Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.source.reading import Skipped, read_batches
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.ordering import by_partition, rows_in_order
from odradek.pipelines.tables.rewriting import Rewriting, topics_of

CONTENT: Final = ("key", "value", "timestamp", "timestampType", "headers")
GAP: Final = "missing in the table"
DOUBLE: Final = "more than once in the table"
EXTRA: Final = "not in the log"
DIFFERENT: Final = "different in table and log"
UNREADABLE: Final = "in a file that cannot be read"
DAMAGED: Final = "damaged in the log"


@dataclass(frozen=True)
class Verify:
    """What is held against what."""

    source: SourceOptions  # of Mode.BATCH
    table: str
    table_options: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False  # the log may have fewer records than the table has rows


@dataclass(frozen=True, slots=True)
class Verified:
    """What was compared, and what was found."""

    records: int
    rows: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One partition: what both have, and all files of the table."""

    of: OffsetRange
    files: tuple[DataFile, ...]


def verify(spark: Any, job: Verify) -> Verified:
    """Compares every partition that the source selects and the table knows.

    `NothingCompared` where there is none, or where table and log have no offset in common.
    """
    opened = OpenTable(job.table, job.table_options, ROWS)
    opened.check_append("this comparison", "`odradek verify --pipeline FILE` folds the log")
    snapshot = opened.snapshot
    files, unknown = by_partition(opened.table.files(snapshot))
    if unknown:
        raise PipelineError(f"{job.table}: {unknown[0].path} was not written by Odradek")
    earliest = SourceOffsets(job.source).earliest()
    check_topics(job, snapshot.positions, earliest)
    pieces = [
        Piece(of, tuple(files.get((of.topic_id, of.partition), [])))
        for of in in_both(snapshot.positions, opened.begins, earliest)
    ]
    rewriting = Rewriting(opened.layout(), topics_of(snapshot))
    done = run_tasks(spark, pieces, VerifyPartition(job.source, rewriting, job.compacted))
    findings = tuple(joined(it for one in done for it in one.findings))
    records, rows = sum(it.records for it in done), sum(it.rows for it in done)
    if not findings and not (any(it.of.size for it in pieces) and records + rows):
        raise NothingCompared(
            f"nothing was compared: the log and {job.table} have no offset in common"
        )
    return Verified(records, rows, findings)


def check_topics(job: Verify, table: Positions, log: Positions) -> None:
    """Refuses a table of another cluster or of other topics than those that were asked for."""
    if table.cluster_id and log.cluster_id and table.cluster_id != log.cluster_id:
        raise PipelineError(
            f"{job.table} holds records of cluster {table.cluster_id}, the brokers are of "
            f"cluster {log.cluster_id}"
        )
    if not log.topics:
        raise NothingCompared("nothing was compared: no topic has such a name")
    missing = sorted(log.topics.keys() - table.topics.keys())
    if missing and (job.source.selection.pattern is None or len(missing) == len(log.topics)):
        held = ", ".join(sorted(table.topics)) or "no topic yet"
        raise PipelineError(f"{job.table} holds no records of topic {missing[0]!r}, but of {held}")
    for name in sorted(log.topics.keys() & table.topics.keys()):
        if table.topics[name].topic_id != log.topics[name].topic_id:
            raise PipelineError(
                f"topic {name!r} was deleted and created again since it was archived: {job.table} "
                "holds records of the one before"
            )


def in_both(table: Positions, begins: Positions, log: Positions) -> Iterator[OffsetRange]:
    """What both have of each partition that the table knows."""
    for it in log:
        end = table.offset(it)
        if end is None:
            continue
        start = max(begins.offset(it) or 0, log.offset(it) or 0)
        topic_id = log.topics[it.topic].topic_id
        yield OffsetRange(it.topic, topic_id, it.partition, start, max(start, end), NO_EPOCH)


@dataclass(frozen=True)
class VerifyPartition:
    """The work of one task."""

    source: SourceOptions
    rewriting: Rewriting
    compacted: bool

    def __call__(self, piece: Piece) -> Verified:
        """Reads both sides once, in the order of offsets."""
        sides = Sides(self, piece)
        findings = tuple(joined(sides.findings()))
        return Verified(sides.records, sides.rows, findings)


class Sides:
    """The log and the table of one partition, a window of the log at a time."""

    def __init__(self, task: VerifyPartition, piece: Piece) -> None:
        self._task = task
        self._source = replace(task.source, fail_on_data_loss=False)
        self._of = piece.of
        self._skipped: list[Skipped] = []
        self._column = task.rewriting.layout.column("offset")
        self._is_raw = not task.rewriting.layout.prefix
        self._unreadable: list[Finding] = []
        self._table = rows_in_order(self._read, piece.files, self._column)
        self._head: pa.RecordBatch | None = None
        self._last: int | None = None  # offset of the row before
        self.records = self.rows = 0

    def findings(self) -> Iterator[Finding]:
        """Everything that is wrong; what is in a file that cannot be read is not missing, too."""
        found = list(self._found())
        yield from self._unreadable
        for skipped in self._skipped:
            if not skipped.is_expired:
                yield self._finding(DAMAGED, skipped.start, skipped.end - 1, skipped.why)
        for it in found:
            if not (it.kind == GAP and any(_holds(file, it) for file in self._unreadable)):
                yield it

    def _found(self) -> Iterator[Finding]:
        of = self._of
        yield from self._beside(self._until(of.start), None)
        for batch in self._log():
            self.records += batch.num_rows
            until = batch.column("offset")[-1].as_py() + 1
            yield from self._beside(self._until(until), batch)
        yield from self._beside(self._until(of.end), None, is_compared=True)
        yield from self._beside(self._until(None), None, is_compared=True)

    def _log(self) -> Iterator[pa.RecordBatch]:
        """All that can be read: behind a batch whose end is not known nothing can."""
        at = self._of.start
        try:
            for batch in read_batches(self._source, self._of, RECORD, self._skipped):
                at = batch.column("offset")[-1].as_py() + 1
                yield batch
        except PipelineError as error:
            at = max([at, *(it.end for it in self._skipped)])
            self._skipped.append(Skipped(at, self._of.end, str(error)))

    def _read(self, file: DataFile) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._task.rewriting.read(file)
        except (OSError, pa.ArrowException, PipelineError) as error:
            span = file.span
            assert span is not None
            detail = f"{file.path}: {str(error).splitlines()[0][:200]}"
            self._unreadable.append(self._finding(UNREADABLE, span.start, span.end - 1, detail))

    def _until(self, end: int | None) -> list[pa.RecordBatch]:
        """The rows of the table up to an offset."""
        found: list[pa.RecordBatch] = []
        while True:
            if self._head is None:
                self._head = next(self._table, None)
            if self._head is None:
                return found
            offsets = self._head.column(self._column).to_numpy()
            count = len(offsets) if end is None else int(np.searchsorted(offsets, end))
            if count:
                found.append(self._head.slice(0, count))
            if count < len(offsets):
                self._head = self._head.slice(count)
                return found
            self._head = None

    def _beside(
        self,
        rows: Sequence[pa.RecordBatch],
        log: pa.RecordBatch | None,
        *,
        is_compared: bool = False,
    ) -> Iterator[Finding]:
        """Rows of the table beside the records of a window; `is_compared`: there are none."""
        table = pa.Table.from_batches(rows).combine_chunks() if rows else None
        offsets = np.zeros(0, np.int64) if table is None else table.column(self._column).to_numpy()
        self.rows += len(offsets)
        yield from self._doubles(offsets)
        if log is None and not is_compared:
            return
        single, at = np.unique(offsets, return_index=True)
        there = np.zeros(0, np.int64) if log is None else log.column("offset").to_numpy()
        if not self._task.compacted:
            extra = self._comparable(np.setdiff1d(single, there, assume_unique=True))
            yield from (self._finding(EXTRA, *run) for run in runs_of(extra.tolist()))
        if self._is_raw:
            missing = np.setdiff1d(there, single, assume_unique=True)
            yield from (self._finding(GAP, *run) for run in runs_of(missing.tolist()))
            if table is not None and log is not None:
                yield from self._differences(table.take(at), single, log, there)

    def _comparable(self, offsets: Any) -> Any:
        """Without those that could not be read in the log."""
        for it in self._skipped:
            offsets = offsets[(offsets < it.start) | (offsets >= it.end)]
        return offsets

    def _doubles(self, offsets: Any) -> Iterator[Finding]:
        if not len(offsets):
            return
        before = np.concatenate(([-1 if self._last is None else self._last], offsets[:-1]))
        self._last = int(offsets[-1])
        twice = np.unique(offsets[offsets == before])
        yield from (self._finding(DOUBLE, *run) for run in runs_of(twice.tolist()))

    def _differences(
        self, table: pa.Table, single: Any, log: pa.RecordBatch, there: Any
    ) -> Iterator[Finding]:
        """Column by column where both have the offset."""
        common, left, right = np.intersect1d(single, there, True, return_indices=True)  # noqa: FBT003
        ours = table.take(pa.array(left))
        theirs = log.take(pa.array(right))
        for name in CONTENT:
            a = ours.column(name).combine_chunks().cast(COLUMNS[name])
            b = theirs.column(name)
            if a.equals(b):
                continue
            if pa.types.is_timestamp(b.type):  # Python's calendar ends before a record's may
                a, b = a.cast(pa.int64()), b.cast(pa.int64())
            pairs = zip(common.tolist(), a.to_pylist(), b.to_pylist(), strict=True)
            wrong = [offset for offset, x, y in pairs if x != y]
            yield from (self._finding(DIFFERENT, *run, name) for run in runs_of(wrong))

    def _finding(self, kind: str, first: int, last: int, detail: str = "") -> Finding:
        return Finding(kind, self._of.topic, self._of.partition, first, last, detail)


def _holds(file: Finding, gap: Finding) -> bool:
    return file.first <= gap.first and gap.last <= file.last
