"""Records that give no row: where they go, with their bytes, where they came from, and why.

In a table they are exact, as rows are: it has end offsets of its own, and is committed before the
table of rows. In a topic they may be there twice after a crash; topic, partition and offset are in
their headers. Without either the run stops at the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from odradek.model.moments import EPOCH, in_calendar
from odradek.pipelines.columns import HEADERS_TYPE, MICROS
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.values import RECORD_SCHEMA

REASON: Final = "reason"
DEAD_SCHEMA: Final = RECORD_SCHEMA.append(pa.field(REASON, pa.string()))
HEADER_PREFIX: Final = "odradek."
HEADERS: Final = ("topic", "partition", "offset", "timestamp", REASON)


class BadRecord(PipelineError):
    """A record that gives no row, where dead letters go nowhere; names the record."""


@dataclass(frozen=True, slots=True)
class DeadLetterTable:
    """A table of any format, with the columns of records and a reason."""

    location: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    """A topic of the cluster that is read from: key and value as they were, the rest in headers."""

    topic: str


DeadLetters = DeadLetterTable | DeadLetterTopic


def dead_rows(batch: pa.RecordBatch, dead: Mapping[int, str]) -> pa.RecordBatch:
    """The dead records of a batch as `DEAD_SCHEMA`."""
    numbers = sorted(dead)
    taken = batch.take(pa.array(numbers, pa.int32()))
    texts = [dead[it].encode(errors="backslashreplace").decode() for it in numbers]
    reasons = pa.array(texts, pa.string())
    return pa.RecordBatch.from_arrays([*taken.columns, reasons], schema=DEAD_SCHEMA)


def dead_letters(batch: pa.RecordBatch, dead: Mapping[int, str]) -> pa.RecordBatch:
    """The same for a topic: key and value as they were, where from and why in headers."""
    letters = dead_rows(batch, dead)
    micros = letters.column("timestamp").cast(pa.int64())
    rows = letters.drop_columns(["timestamp"]).to_pylist()
    for row, time in zip(rows, micros.to_pylist(), strict=True):
        row["timestamp"] = _time_text(time)
    named = [
        [
            *(row["headers"] or ()),
            *({"key": f"{HEADER_PREFIX}{it}", "value": str(row[it]).encode()} for it in HEADERS),
        ]
        for row in rows
    ]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([row["key"] for row in rows], pa.binary()),
            pa.array([row["value"] for row in rows], pa.binary()),
            pa.array(named, HEADERS_TYPE),
        ],
        ["key", "value", "headers"],
    )


def _time_text(micros: int) -> str:
    """As Python writes a time; as milliseconds where its calendar has ended."""
    millis = micros // MICROS
    return str(EPOCH + timedelta(microseconds=micros)) if in_calendar(millis) else str(millis)


def time_in_text(text: str) -> int:
    """The microseconds of such a text."""
    if text.removeprefix("-").isdecimal():
        return int(text) * MICROS
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def refuse(batch: pa.RecordBatch, dead: Mapping[int, str]) -> None:
    """Raises `BadRecord` for the first dead record."""
    if not dead:
        return
    number = min(dead)
    where = batch.slice(number, 1)
    topic, partition, offset = (
        where.column(name)[0].as_py() for name in ("topic", "partition", "offset")
    )
    raise BadRecord(
        f"the record at offset {offset} of {topic}-{partition} gives no row: {dead[number]}; "
        "dead letters go nowhere, so the run stops"
    )
