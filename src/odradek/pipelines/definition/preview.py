"""The first records of a pipeline's source, and what they would become. Nothing is kept."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from odradek.pipelines.columns import beyond_calendar
from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.moving.archiving.checks import (
    DEAD,
    FAIL,
    condition_of,
    each_by_itself,
    unmet,
)
from odradek.pipelines.moving.values import RECORD
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.source.planning import plan
from odradek.pipelines.source.reading import read_batches
from odradek.pipelines.upserts.columns import is_ours

ROW = "_odradek_row"

OpenSession = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Shown:
    """One record: its row, or why it gives none."""

    topic: str
    partition: int
    offset: int
    row: dict[str, Any] | None = None
    reason: str = ""


def preview(definition: Definition, count: int, open_session: OpenSession) -> list[Shown]:
    """Up to `count` records of each partition's start; Spark is asked only for conditions."""
    job = definition.archive
    offsets = SourceOffsets(job.source)
    ranges = plan(job.source, offsets.starting(), offsets.latest())
    records: list[pa.RecordBatch] = []
    left = count
    for piece in ranges:
        if left <= 0:
            break
        for batch in read_batches(job.source, piece, RECORD):
            records.append(batch.slice(0, left))
            left -= records[-1].num_rows
            if left <= 0:
                break
    if not records:
        return []
    (batch,) = pa.Table.from_batches(records).combine_chunks().to_batches()
    return _shown(definition, batch, open_session)


def _shown(definition: Definition, batch: pa.RecordBatch, open_session: OpenSession) -> list[Shown]:
    job = definition.archive
    converted = job.values.convert(batch, job.values.schema)
    fates = dict(converted.dead)
    fates |= dict.fromkeys(converted.dropped, "dropped: it has no value")
    given = [at for at in range(batch.num_rows) if at not in fates]
    if job.checks and given:
        for row, reason in _not_met(definition, converted.rows, open_session).items():
            fates[given[row]] = reason
    table = converted.rows.select([it for it in converted.rows.schema.names if not is_ours(it)])
    rows = dict(zip(given, _readable(table).to_pylist(), strict=True))
    places = batch.select(("topic", "partition", "offset")).to_pylist()
    return [
        Shown(**place, row=None if at in fates else rows[at], reason=fates.get(at, ""))
        for at, place in enumerate(places)
    ]


def _readable(rows: pa.RecordBatch) -> pa.RecordBatch:
    """With numbers in the place of times that no calendar has."""
    for name in beyond_calendar(rows):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, rows.column(at).cast(pa.int64()))
    return rows


def _not_met(
    definition: Definition, rows: pa.RecordBatch, open_session: OpenSession
) -> dict[int, str]:
    """The rows that do not meet a condition, with what becomes of them."""
    numbered = pa.Table.from_batches([rows]).append_column(
        ROW, pa.array(range(rows.num_rows), pa.int64())
    )
    found: dict[int, str] = {}
    with open_session() as spark:
        frame = spark.createDataFrame(numbered)
        for check in definition.archive.checks:
            with each_by_itself(spark):
                tried = frame.select(ROW, condition_of(frame, check)).collect()
            for row, holds in tried:
                if holds:
                    continue
                word = check.action if holds is False or check.action == FAIL else DEAD
                said = "the run stops" if word == FAIL else word
                found.setdefault(row, f"{said}: {unmet(check, is_known=holds is False)}")
    return found
