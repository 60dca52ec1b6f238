"""A batch of a table in which each key has one row: changes are made of records, and merged.

Two jobs. The first makes runs of the batch's ranges, as an archive makes files. The second merges
them into the files of the table that may hold their keys. What it finds to be no change, because a
row of that key is of another partition, is a dead letter, and a third job fetches its record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from odradek.pipelines.moving.archiving.steps import Step
from odradek.pipelines.moving.archiving.tasks import RangeOutput, WriteRange, Written
from odradek.pipelines.moving.archiving.truncates import Truncates
from odradek.pipelines.moving.jobs import run_tasks, slots_of
from odradek.pipelines.moving.opening import OpenTable
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RECORD
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.reading import read_batches
from odradek.pipelines.tables.commits import Batch, FilesChanged, merge
from odradek.pipelines.tables.files import DataFile
from odradek.pipelines.tables.keys import is_sorted
from odradek.pipelines.tables.table import CommitConflict
from odradek.pipelines.upserts.columns import change_schema, table_schema
from odradek.pipelines.upserts.merging import Merged, MergeRuns
from odradek.pipelines.upserts.planning import pieces_of
from odradek.pipelines.upserts.runs import Truncated, run_of, run_schema, truncated_in
from odradek.pipelines.upserts.sorting import SortFile

REWRITTEN: Final = "rewritten"
CHANGED: Final = "changed"
"""In the summary of a commit: bytes that it wrote, and bytes of its changes."""
ATTEMPTS_MAX: Final = 100


def changing(work: WriteRange, step: Step) -> WriteRange:
    """The work of a task of an archive, such that it makes runs of changes."""
    layout = work.layout
    alone = frozenset(name for name, it in step.latest.topics.items() if len(it.offsets) == 1)
    schema = change_schema(layout.schema, layout.keys)
    return replace(
        work,
        values=Truncates(work.values, alone),
        layout=replace(layout, schema=schema),
    )


class Upsert:
    """One batch, whose runs are written: what they are merged into, until it is committed."""

    def __init__(
        self,
        spark: Any,
        rows: OpenTable,
        work: WriteRange,
        *,
        step: Step,
        written: Sequence[Written],
    ) -> None:
        self._spark = spark
        self._rows = rows
        self._work = work  # of changes
        self._step = step
        self._written = tuple(written)
        self._runs = in_order(step, written)
        self._files: frozenset[str] = frozenset()
        self._merged = self._merge()

    def written(self) -> list[Written]:
        """What became of all ranges; records that were refused are dead letters."""
        reasons: dict[tuple[str, int], dict[int, str]] = {}
        for it in self._merged.refused:
            there = reasons.setdefault((it.topic, it.partition), {})
            there.update(dict.fromkeys(it.offsets, it.reason))
        if not reasons:
            return list(self._written)
        pieces = [
            (replace(it, start=min(those), end=max(those) + 1), those)
            for it in self._step.ranges
            if (those := reasons.get((it.topic, it.partition)))
        ]
        letters: list[Written] = run_tasks(self._spark, pieces, BuryRefused(self._work))
        count = sum(map(len, reasons.values()))
        files = tuple(file for it in letters for file in it.dead_files)
        return [*self._written, Written((), files, Account(written=-count, dead=count))]

    def accounted(self, account: Account) -> Account:
        """The same, with the bytes that were written for those that changed."""
        return replace(account, bytes=self._bytes, changed=self._changed)

    @property
    def files(self) -> int:
        """How many came."""
        return len(self._merged.add)

    def commit(self) -> None:
        """All of it, or nothing; merges again where others have changed the table's files."""
        refused = set(self._merged.refused)
        for _ in range(ATTEMPTS_MAX):
            try:
                self._rows.upsert(self._batch(), self._merged.remove, self._files)
            except FilesChanged:
                self._rows.reload()
                self._merged = self._merge()
                if set(self._merged.refused) != refused:
                    raise self._overtaken() from None
            else:
                self._rows.table.store.delete([it.path for it in self._runs])
                return
        raise self._overtaken()

    def _overtaken(self) -> CommitConflict:
        return CommitConflict(
            f"{self._rows.table.location}: other programs changed its rows while a batch was "
            "merged into them; run it again when they are done"
        )

    def _batch(self) -> Batch:
        schemas = [it.schema and table_schema(it.schema) for it in self._written]
        return Batch(
            self._step.latest.cluster_id,
            self._step.ranges,
            self._merged.add,
            self._rows.together(schemas),
            tuple(gap for it in self._written for gap in it.gaps),
            {REWRITTEN: str(self._bytes), CHANGED: str(self._changed)},
        )

    @property
    def _bytes(self) -> int:
        return sum(it.bytes for it in self._merged.add)

    @property
    def _changed(self) -> int:
        return sum(it.bytes for it in self._runs)

    def _merge(self) -> Merged:
        """What becomes of the table's files as they are now."""
        sort_others(self._spark, self._rows, self._work.layout.file_bytes)
        files = self._rows.table.files(self._rows.snapshot)
        self._files = frozenset(it.path for it in files)
        if not self._runs:
            return Merged()
        growth = next((it.schema for it in self._written if it.schema is not None), None)
        changes = growth or self._work.layout.schema
        layout = replace(self._work.layout, schema=table_schema(changes))
        truncated = truncated_in_all(self._runs)
        parts = [part for run in self._runs for part in run_of(run)]
        pieces = pieces_of(files, parts, slots_of(self._spark), is_all=bool(truncated))
        work = MergeRuns(layout, run_schema(changes), self._runs, truncated)
        done: list[Merged] = run_tasks(self._spark, pieces, work)
        return Merged(
            tuple(file for it in done for file in it.add),
            tuple(file for it in done for file in it.remove),
            tuple(one for it in done for one in it.refused),
        )


def rewritten_by(rows: OpenTable) -> float | None:
    """Bytes that the newest commit wrote for each byte that it changed; None: it says neither."""
    said = rows.table.summary(rows.snapshot)
    changed = int(said.get(CHANGED, "0"))
    return int(said.get(REWRITTEN, "0")) / changed if changed else None


def sort_others(spark: Any, rows: OpenTable, file_bytes: int) -> None:
    """Sorts files that another program wrote, such as an `OPTIMIZE`: they say no keys."""
    others = [it for it in rows.table.files(rows.snapshot) if not is_sorted(it.path)]
    if others:
        done = run_tasks(spark, others, SortFile(rows.layout(file_bytes)))
        for old, new in zip(others, done, strict=True):
            merge(rows.table, (old,), new, {"sorted": "1"})
        rows.reload()


def in_order(step: Step, written: Sequence[Written]) -> tuple[DataFile, ...]:
    """All runs, by topic, partition and offset."""
    order = sorted(range(len(step.pieces)), key=lambda it: _place(step.pieces[it]))
    return tuple(run for number in order for run in written[number].files)


def _place(of: OffsetRange) -> tuple[str, int, int]:
    return of.topic, of.partition, of.start


def truncated_in_all(runs: Sequence[DataFile]) -> tuple[Truncated, ...]:
    """The last of each topic."""
    found: dict[str, Truncated] = {}
    for run in runs:
        it = truncated_in(run)
        if it is not None:
            found[it.topic] = it
    return tuple(found.values())


@dataclass(frozen=True)
class BuryRefused:
    """The work of one task: the dead letters of some records of one partition."""

    work: WriteRange

    def __call__(self, piece: tuple[OffsetRange, Mapping[int, str]]) -> Written:
        """Reads the records again."""
        of, reasons = piece
        with RangeOutput(self.work, of) as output:
            for batch in read_batches(self.work.source, of, RECORD):
                offsets = batch.column("offset").to_pylist()
                dead = {at: reasons[it] for at, it in enumerate(offsets) if it in reasons}
                if dead:
                    output.bury(batch, dead)
            return output.finish()
