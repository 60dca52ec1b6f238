"""A table with one row for each key held against the log: the log is folded as a run does it.

The log is read from where the table begins to where it ends, and made into runs of changes; then
their fold and the table's rows are compared in the order of keys. Rows of records that the log does
not hold any more are not compared. Nor are rows of a key that has records of two partitions: which
of these is its row depends on which came first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import NothingCompared
from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.archiving.dead_letters import DEAD_SCHEMA
from odradek.pipelines.moving.archiving.steps import Step
from odradek.pipelines.moving.archiving.tasks import Written
from odradek.pipelines.moving.archiving.upsert import changing, in_order, truncated_in_all
from odradek.pipelines.moving.comparing.findings import Finding, joined
from odradek.pipelines.moving.comparing.verify import (
    DIFFERENT,
    EXTRA,
    GAP,
    Verified,
    Verify,
    check_topics,
    in_both,
)
from odradek.pipelines.moving.jobs import run_tasks, slots_of
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import Ahead, Sorted, in_key_order
from odradek.pipelines.tables.rewriting import Rewriting
from odradek.pipelines.tables.writing import Layout
from odradek.pipelines.upserts.folding import Fold, joined_parts
from odradek.pipelines.upserts.merging import MergeRuns, Piece
from odradek.pipelines.upserts.planning import pieces_of
from odradek.pipelines.upserts.runs import run_of, run_schema


def verify_keys(spark: Any, job: Archive) -> Verified:
    """Compares all keys; `NothingCompared` where log and table have no offset in common."""
    opened = OpenTable(job.table, job.table_options, ROWS)
    opened.check_keys(job.keys)
    offsets = SourceOffsets(job.source)
    earliest, latest = offsets.earliest(), offsets.latest()
    check_topics(Verify(job.source, job.table), opened.snapshot.positions, earliest)
    ranges = [it for it in in_both(opened.snapshot.positions, opened.begins, earliest) if it.size]
    if not ranges:
        raise NothingCompared(
            f"nothing was compared: the log and {job.table} have no offset in common"
        )
    step = Step(earliest, opened.snapshot.positions, latest, tuple(ranges), tuple(ranges))
    layout = opened.layout()
    letters = Layout(layout.store, DEAD_SCHEMA, directory=layout.directory)
    work = job.work(layout, letters)
    source = replace(work.source, fail_on_data_loss=False)
    work = changing(replace(work, source=source, dead_topic=None), step)
    written = job.run(spark, step.pieces, work)
    try:
        return _compared(spark, opened, work.layout.schema, step=step, written=written)
    finally:
        files = [file for it in written for file in (*it.files, *it.dead_files)]
        layout.store.delete([it.path for it in files])


def _compared(
    spark: Any, opened: OpenTable, changes: pa.Schema, *, step: Step, written: Sequence[Written]
) -> Verified:
    growth = next((it.schema for it in written if it.schema is not None), changes)
    runs = in_order(step, written)
    parts = [part for run in runs for part in run_of(run)]
    merging = MergeRuns(opened.layout(), run_schema(growth), runs, truncated_in_all(runs))
    files = opened.table.files(opened.snapshot)
    pieces = pieces_of(files, parts, slots_of(spark), is_all=True)
    starts = {it.topic_partition: it.start for it in step.ranges}
    done = run_tasks(spark, pieces, CompareKeys(merging, starts))
    return Verified(
        sum(it.account.read for it in written),
        sum(it.rows for it in done),
        tuple(joined(one for it in done for one in it.findings)),
    )


@dataclass(frozen=True)
class CompareKeys:
    """The work of one task."""

    merging: MergeRuns
    starts: Mapping[TopicPartition, int]
    """The first offset of each partition that the log holds."""

    def __call__(self, piece: Piece) -> Verified:
        """All keys between the piece's bounds."""
        found: list[Finding] = []
        rows = 0
        changes = self.merging.changes_of(piece)
        ends = [*(it.low for it in piece.clusters[1:]), piece.high]
        for cluster, end in zip(piece.clusters, ends, strict=True):
            fold = Fold(self.merging.layout).rows(iter(()), Ahead(changes.below(end)))
            expected = Ahead(fold)
            for some in self._stored(cluster.files):
                rows += len(some.keys)
                found += self._beside(some, list(expected.up_to(some.keys[-1])))
            for rest in expected.below(None):
                found += self._findings(GAP, rest.rows)
        return Verified(0, rows, tuple(found))

    def _stored(self, files: Sequence[DataFile]) -> Iterator[Sorted]:
        layout = self.merging.layout
        return in_key_order([Rewriting(layout, {}).read(it) for it in files], layout.keys)

    def _beside(self, stored: Sorted, parts: Sequence[Sorted]) -> Iterator[Finding]:
        if not parts:
            yield from self._findings(EXTRA, stored.rows)
            return
        expected = joined_parts(parts)
        _, left, right = np.intersect1d(
            stored.keys, expected.keys, assume_unique=True, return_indices=True
        )
        extra = np.delete(np.arange(len(stored.keys)), left)
        missing = np.delete(np.arange(len(expected.keys)), right)
        yield from self._findings(EXTRA, stored.rows.take(pa.array(extra)))
        yield from self._findings(GAP, expected.rows.take(pa.array(missing)))
        yield from self._different(
            stored.rows.take(pa.array(left)), expected.rows.take(pa.array(right))
        )

    def _different(self, ours: pa.RecordBatch, theirs: pa.RecordBatch) -> Iterator[Finding]:
        if ours.equals(theirs):
            return
        places = [self.merging.layout.column(it) for it in ("topic", "partition")]
        for at in range(ours.num_rows):
            one, other = ours.slice(at, 1), theirs.slice(at, 1)
            if one.equals(other) or not one.select(places).equals(other.select(places)):
                continue
            names = [it for it in ours.schema.names if not one.column(it).equals(other.column(it))]
            yield from self._findings(DIFFERENT, other, ", ".join(names))

    def _findings(self, kind: str, rows: pa.RecordBatch, detail: str = "") -> Iterator[Finding]:
        names = [self.merging.layout.column(it) for it in ("topic", "partition", "offset")]
        for topic, partition, offset in zip(
            *(rows.column(it).to_pylist() for it in names), strict=True
        ):
            if offset >= self.starts.get(TopicPartition(topic, partition), 1 << 63):
                yield Finding(kind, topic, partition, offset, offset, detail)
