"""Beginning again: a table without rows that ends where the source starts, by one commit."""

from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.tables.gaps import said
from odradek.pipelines.tables.table import Change, NoSuchTable


def reset(definition: Definition) -> int:
    """How many rows are gone from the newest version; older ones are kept until they expire.

    CommitConflict where a run commits at the same time: stop it first.
    """
    job = definition.archive
    start = SourceOffsets(job.source).starting()
    rows = OpenTable(job.table, job.table_options, ROWS)
    if not rows.exists:
        raise NoSuchTable(f"there is no table at {job.table}: nothing to reset")
    if isinstance(job.dead_letters, DeadLetterTable):
        letters = OpenTable(job.dead_letters.location, job.dead_letters.options, DEAD)
        if letters.exists:
            _empty(letters, start)
    return _empty(rows, start)


def _empty(opened: OpenTable, start: Positions) -> int:
    files = opened.table.files(opened.snapshot)
    opened.begin_again(Change("reset", remove=tuple(files), properties=said(())), start)
    return sum(it.rows for it in files)
