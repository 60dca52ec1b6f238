"""Topics to a table, exactly once: the loop that plans a batch, has it written, and commits it.

Where a batch begins is what the table says. So nothing is kept beside the table: a run that died
leaves files without a commit, and the next one begins where the table ends. A batch that another
archiver committed first is refused and not written twice.

Dead letters go to a table of their own, which is committed first. If the run dies in between, that
table ends later than the rows' in some partitions; the next batch then ends there, too, and its
dead letters are known to be there.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from time import monotonic_ns
from typing import Any, Final

from odradek.model.ids import TopicPartition
from odradek.pipelines.errors import Away
from odradek.pipelines.moving.archiving.checks import Check, run_checked
from odradek.pipelines.moving.archiving.dead_letters import (
    DEAD_SCHEMA,
    DeadLetters,
    DeadLetterTable,
    DeadLetterTopic,
)
from odradek.pipelines.moving.archiving.steps import Step, Steps
from odradek.pipelines.moving.archiving.tasks import WriteRange, Written, agreed
from odradek.pipelines.moving.archiving.triggers import Once, Trigger, pause_ms
from odradek.pipelines.moving.archiving.upsert import Upsert, changing
from odradek.pipelines.moving.archiving.waiting import ONCE_MS_MAX, Waiting
from odradek.pipelines.moving.compact import KEPT_MS, merge_small
from odradek.pipelines.moving.jobs import run_tasks, tasks_for
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.moving.reports import Account, BatchReport, Listener, unheard
from odradek.pipelines.moving.values import RAW, Values
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.options import SourceOptions
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.rewriting import DamagedTable
from odradek.pipelines.tables.store import now_ms as wall_ms
from odradek.pipelines.tables.sweep import BATCH_AGE_MS_MAX
from odradek.pipelines.tables.table import TableRefused
from odradek.pipelines.tables.writing import FILE_BYTES, Layout
from odradek.pipelines.upserts.columns import table_schema

NANOS: Final = 1_000_000  # of a millisecond
MERGE_AFTER: Final = 100

log = logging.getLogger("odradek.pipelines")


@dataclass(frozen=True)
class Archive:
    """What goes from where to where."""

    source: SourceOptions  # of Mode.STREAM
    table: str  # such as `delta:lake/orders`
    table_options: Mapping[str, str] = field(default_factory=dict)
    values: Values = RAW
    partitioning: tuple[str, ...] = ()  # of a table that is made here
    dead_letters: DeadLetters | None = None  # without them the run stops at a dead record
    checks: tuple[Check, ...] = ()
    file_bytes: int = FILE_BYTES
    keys: tuple[str, ...] = ()  # each has one row, the last: values are changes then
    merge_after: int | None = MERGE_AFTER  # files that were added; None: never while it runs
    keep_ms: int = KEPT_MS  # how long versions that were replaced can be read

    def work(self, rows: Layout, dead: Layout | None) -> WriteRange:
        """What one task does."""
        topic = None
        if isinstance(self.dead_letters, DeadLetterTopic):
            topic = SinkOptions(self.source.client, self.dead_letters.topic, headers=True)
        return WriteRange(self.source, self.values, rows, dead, topic)

    def run(self, spark: Any, pieces: Sequence[OffsetRange], work: WriteRange) -> list[Written]:
        """Has all pieces written."""
        if self.checks:
            return run_checked(spark, pieces, work, self.checks)

        def written(it: WriteRange, some: Sequence[OffsetRange]) -> Sequence[Written]:
            return run_tasks(spark, some, it, tasks_for(spark, some))

        return agreed(work, pieces, written)[0]


def archive(
    spark: Any,
    job: Archive,
    trigger: Trigger,
    *,
    on_batch: Listener = unheard,
    stopping: Event | None = None,
) -> Account:
    """Runs until the trigger is done, `stopping` is set or something fails; the sum of all batches.

    Raises a `PipelineError` for whatever a user can mend. What was committed before stays. What
    is away is waited for.
    """
    stopping = stopping or Event()
    archiver = Archiver(spark, job)
    if isinstance(trigger, Once):
        archiver.steps.end_now()
    total, number = Account(), 0
    waiting = Waiting(ONCE_MS_MAX if isinstance(trigger, Once) else None)
    while not stopping.is_set():
        began = now_ms()
        try:
            if waiting.is_on:
                archiver.reload()
            step = archiver.step()
            waiting.begun()
            report = archiver.run(step, number + 1, began) if step.ranges else None
            waiting.answered(now_ms())
        except Away as error:
            waiting.wait(error, now_ms(), stopping)
            continue
        if report is not None:
            number += 1
            total += report.account
            on_batch(report)
        elif isinstance(trigger, Once):
            break
        stopping.wait(pause_ms(trigger, began, now_ms(), idle=not step.ranges) / 1_000)
    return total


class Archiver:
    """The tables of one run, and its batches."""

    def __init__(self, spark: Any, job: Archive) -> None:
        self._spark = spark
        self._job = job
        self.steps = Steps(job.source)
        self._added = 0  # files since small ones were merged
        self.rows = OpenTable(job.table, job.table_options, ROWS)
        if not self.rows.exists:
            starting = SourceOffsets(job.source).starting()
            values = job.values
            self.rows.create(
                table_schema(values.schema),
                job.partitioning,
                starting,
                values.prefix,
                keys=job.keys,
            )
        self.rows.check_prefix(job.values.prefix)
        self.rows.check_keys(job.keys)
        self.dead: OpenTable | None = None
        if isinstance(job.dead_letters, DeadLetterTable):
            self.dead = OpenTable(job.dead_letters.location, job.dead_letters.options, DEAD)
            if not self.dead.exists:
                self.dead.create(DEAD_SCHEMA, (), self.rows.snapshot.positions, "")

    def reload(self) -> None:
        """The tables as they are: a commit whose answer was lost may be in them."""
        self.rows.reload()
        if self.dead is not None:
            self.dead.reload()

    def step(self) -> Step:
        """What comes next."""
        dead = None if self.dead is None else self.dead.snapshot.positions
        return self.steps.next(self.rows.snapshot.positions, dead)

    def run(self, step: Step, number: int, began_ms: int) -> BatchReport:
        """Writes and commits one batch."""
        work = self._job.work(
            self.rows.layout(self._job.file_bytes),
            None if self.dead is None else self.dead.layout(self._job.file_bytes),
        )
        upsert: Upsert | None = None
        if self._job.keys:
            work = changing(work, step)
        written = self._job.run(self._spark, step.pieces, work)
        if self._job.keys:
            upsert = Upsert(self._spark, self.rows, work, step=step, written=written)
            written = upsert.written()
        account = sum((it.account for it in written), Account())
        account.check()
        if now_ms() - began_ms > BATCH_AGE_MS_MAX:
            raise TableRefused("the batch took more than half a day: a sweep may take its files")
        if self.dead is not None:
            self._commit_dead(self.dead, step, written)
        if upsert is None:
            files = self._append(step, written)
        else:
            upsert.commit()
            account, files = upsert.accounted(account), upsert.files
        self._upkeep(files)
        return BatchReport(
            number,
            self.rows.snapshot.version,
            account,
            files,
            step.begin,
            step.end,
            step.latest,
            _newest(step.pieces, written[: len(step.pieces)]),
            now_ms() - began_ms,
        )

    def _append(self, step: Step, written: Sequence[Written]) -> int:
        """How many files came."""
        files = [file for it in written for file in it.files]
        gaps = [gap for it in written for gap in it.gaps]
        schemas = [it.schema for it in written]
        self.rows.append(step.latest.cluster_id, step.ranges, files, schemas=schemas, gaps=gaps)
        return len(files)

    def _upkeep(self, added: int) -> None:
        """Merges small files and forgets old versions when enough files were added."""
        self._added += added
        if self._job.merge_after is not None and self._added >= self._job.merge_after:
            self._added = 0
            try:
                merge_small(self._spark, self.rows, self._job.file_bytes, is_running=True)
            except DamagedTable as error:
                log.warning("small files are not merged: %s", error)
            self.rows.table.expire(wall_ms() - self._job.keep_ms)
            self.rows.reload()

    def _commit_dead(self, dead: OpenTable, step: Step, written: Sequence[Written]) -> None:
        """Adds the dead letters of ranges that are not there yet; files of others stay orphans."""
        ends = dead.snapshot.positions
        ranges = [
            _from(it, ends.offset(it.topic_partition))
            for it in step.ranges
            if (ends.offset(it.topic_partition) or 0) <= it.start
        ]
        new = {(it.topic_id, it.partition) for it in ranges}
        files = [file for it in written for file in it.dead_files if _place(file) in new]
        if ranges:
            dead.append(step.latest.cluster_id, ranges, files)


def _newest(pieces: Sequence[OffsetRange], written: Sequence[Written]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for piece, it in zip(pieces, written, strict=True):
        if it.newest_ms is not None:
            known = found.get(piece.topic_partition, it.newest_ms)
            found[piece.topic_partition] = max(known, it.newest_ms)
    return found


def _place(file: DataFile) -> tuple[str, int]:
    assert file.span is not None
    return file.span.topic_id, file.span.partition


def _from(of: OffsetRange, end: int | None) -> OffsetRange:
    """From where the table of dead letters ends: it may have been left out for a while."""
    return of if end is None else replace(of, start=end)


def now_ms() -> int:
    """Of a clock that is not set."""
    return monotonic_ns() // NANOS
