"""Upkeep of a table: small files become few, old versions are forgotten, orphans are deleted.

All of it may run beside an archive. Files are merged in tasks, a group each; a group of which a
file has gone meanwhile is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.model.units import DAY
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.jobs import run_tasks
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.rewriting import Rewriting, groups_to_merge, topics_of
from odradek.pipelines.tables.store import now_ms
from odradek.pipelines.tables.sweep import ORPHAN_AGE_MS, sweep
from odradek.pipelines.tables.table import Snapshot
from odradek.pipelines.tables.writing import FILE_BYTES
from odradek.pipelines.upserts.merging import MergeFiles
from odradek.pipelines.upserts.planning import groups_to_merge as keyed_groups

KEPT_MS: Final = 7 * DAY
"""How long versions can be read after they were replaced, unless something else is said."""


@dataclass(frozen=True)
class Upkeep:
    """What is to be done with which table."""

    table: str
    table_options: Mapping[str, str] = field(default_factory=dict)
    file_bytes: int = FILE_BYTES
    keep_ms: int | None = KEPT_MS  # None: no version is forgotten
    orphan_age_ms: int = ORPHAN_AGE_MS


@dataclass(frozen=True, slots=True)
class Kept:
    """What was done."""

    merged: int = 0  # files that went
    into: int = 0  # files that came for them
    expired: int = 0  # versions
    orphans: int = 0


@dataclass(frozen=True)
class MergeGroup:
    """The work of one task."""

    rewriting: Rewriting

    def __call__(self, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
        """The same rows in few files."""
        return self.rewriting.merge(files)


def compact(spark: Any, job: Upkeep) -> Kept:
    """Merges, expires, sweeps, in this order."""
    opened = OpenTable(job.table, job.table_options, ROWS, DEAD)
    merged, into = merge_small(spark, opened, job.file_bytes)
    expired = 0
    if job.keep_ms is not None:
        expired = opened.table.expire(now_ms() - job.keep_ms)
    opened.reload()
    return Kept(merged, into, expired, sweep(opened.table, job.orphan_age_ms))


def merge_small(
    spark: Any, opened: OpenTable, file_bytes: int, *, is_running: bool = False
) -> tuple[int, int]:
    """Merges small files that lie beside each other; how many went, and how many came."""
    snapshot: Snapshot = opened.snapshot
    files, layout = opened.table.files(snapshot), opened.layout(file_bytes)
    work: MergeGroup | MergeFiles
    if opened.keys:
        groups = keyed_groups(files, file_bytes)
        work = MergeFiles(layout)
    else:
        groups = groups_to_merge(files, file_bytes, is_running=is_running)
        work = MergeGroup(Rewriting(layout, topics_of(snapshot)))
    merged: Sequence[tuple[DataFile, ...]] = run_tasks(spark, groups, work)
    went = came = 0
    for old, new in zip(groups, merged, strict=True):
        if sum(it.rows for it in old) != sum(it.rows for it in new):
            raise PipelineError(f"{opened.table.location}: a merge of {old[0].path} lost rows")
        if commits.merge(opened.table, old, new, {"files": str(len(old))}) is None:
            opened.table.store.delete([it.path for it in new])
            continue
        went, came = went + len(old), came + len(new)
    opened.reload()
    return went, came
