"""Exactly the rows of a range of offsets, made anew: after a format was mended, or a file lost.

The range lies within what the table holds. Rows of other offsets stay, also those that lie in the
same files. It is one commit: a reader sees all old rows or all new ones. An archive may go on
meanwhile.

So do rows of offsets that the log does not give, because retention took them or a batch is damaged,
where the job is told to skip these: nothing could make them again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.archiving.dead_letters import DEAD_SCHEMA, DeadLetterTable
from odradek.pipelines.moving.archiving.steps import WHOLE
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.planning import plan
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.gaps import Gap
from odradek.pipelines.tables.rewriting import Rewriting, topics_of


def backfill(spark: Any, job: Archive) -> Account:
    """Reads from `job.source`'s start to its end, which are those of Mode.BATCH, and replaces."""
    rows = OpenTable(job.table, job.table_options, ROWS)
    rows.check_append("backfill", "`odradek pipeline reset FILE` makes all of it again")
    rows.check_prefix(job.values.prefix)
    rows.check_removable()
    offsets = SourceOffsets(job.source)
    begin, end = offsets.starting(), offsets.ending()
    end = _within(end, rows.snapshot.positions)
    ranges = plan(replace(job.source, splits=WHOLE), begin, end)
    if not ranges:
        raise PipelineError(f"{job.table} holds nothing of this range")
    dead: OpenTable | None = None
    if isinstance(job.dead_letters, DeadLetterTable):
        dead = OpenTable(job.dead_letters.location, job.dead_letters.options, DEAD)
        if not dead.exists:
            dead.create(DEAD_SCHEMA, (), rows.snapshot.positions, "")
        dead.check_removable()
    layout = None if dead is None else dead.layout(job.file_bytes)
    work = job.work(rows.layout(job.file_bytes), layout)
    written = job.run(spark, plan(job.source, begin, end), work)
    account = sum((it.account for it in written), Account())
    account.check()
    gaps = [gap for it in written for gap in it.gaps]
    ranges = [part for it in ranges for part in _given(it, gaps)]
    if not ranges:
        return account
    if dead is not None:
        letters = [file for it in written for file in it.dead_files]
        _replace(dead, end.cluster_id, ranges, letters)
    files = [file for it in written for file in it.files]
    schema = rows.together([it.schema for it in written])
    _replace(rows, end.cluster_id, ranges, files, schema=schema)
    return account


def _within(end: Positions, table: Positions) -> Positions:
    """No further than the table."""
    return end.moved({it: min(end.offset(it) or 0, table.offset(it) or 0) for it in end})


def _given(of: OffsetRange, gaps: Sequence[Gap]) -> Iterator[OffsetRange]:
    """The parts of a range that the log gave."""
    at = of.start
    for it in sorted(gaps, key=lambda gap: gap.start):
        if (it.topic, it.partition) == (of.topic, of.partition):
            if at < it.start:
                yield replace(of, start=at, end=it.start)
            at = max(at, it.end)
    if at < of.end:
        yield replace(of, start=at)


def _replace(
    opened: OpenTable,
    cluster_id: str,
    ranges: Sequence[OffsetRange],
    files: Sequence[DataFile],
    *,
    schema: Any = None,
) -> None:
    rewriting = Rewriting(opened.layout(), topics_of(opened.snapshot))
    batch = commits.Batch(cluster_id, tuple(ranges), tuple(files), schema)
    commits.replace(opened.table, batch, rewriting.trim)
