"""Named conditions that the rows of a table have to fulfil, in Spark's SQL.

With them rows pass through Spark: a first stage reads records and makes rows, Spark evaluates the
conditions, a second stage writes. Both stages of a range run in one task, so its rows stay in
order. Beside its values each row carries the record that it was made of. A record that gave no row
passes, too, without values, so that the second stage accounts for all of them.

A condition that Spark cannot evaluate for a row (`cast(note as int)` of a text, a division by zero)
is neither fulfilled nor not: the record is a dead letter, unless the action is to fail.
"""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from odradek.pipelines.columns import completed
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.archiving.tasks import RangeOutput, WriteRange, Written, agreed
from odradek.pipelines.moving.jobs import ANSWER, attempted, run_tasks, tasks_for
from odradek.pipelines.moving.values import RECORD, RECORD_SCHEMA, Converted
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.reading import Skipped, read_batches
from odradek.pipelines.upserts.columns import OP, PUT
from odradek.pipelines.workers import SentToWorkers, freeze_once

FAIL: Final = "fail"
DROP: Final = "drop"
DEAD: Final = "dead-letter"
ACTIONS: Final = (FAIL, DROP, DEAD)

PIECE: Final = "__piece"
RECORD_COLUMN: Final = "__record"
DROPPED: Final = "__dropped"
REASON: Final = "__reason"
SKIPPED: Final = "__skipped"
HOLDS: Final = "__holds_"
SHARING: Final = "spark.sql.subexpressionElimination.enabled"
BESIDE: Final = (
    pa.field(PIECE, pa.int32()),
    pa.field(RECORD_COLUMN, pa.struct(list(RECORD_SCHEMA))),
    pa.field(DROPPED, pa.bool_()),
    pa.field(REASON, pa.string()),
    pa.field(SKIPPED, pa.binary()),
)


@dataclass(frozen=True, slots=True)
class Check:
    """A condition, and what is done with a row for which it is not true."""

    name: str
    condition: str
    action: str = FAIL


class Violated(PipelineError):
    """A row does not fulfil a condition whose action is to fail."""


def run_checked(
    spark: Any, pieces: Sequence[OffsetRange], work: WriteRange, checks: Sequence[Check]
) -> list[Written]:
    """What `run_tasks` says, with rows that were checked.

    Spark has to know the columns before it begins, so those that values add are found in a pass of
    its own, unless the format has always the same.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    growth = _new_columns(spark, pieces, work) if work.values.may_grow else None
    if growth is not None:
        work = replace(work, layout=replace(work.layout, schema=growth))
    chosen = tuple(pieces)
    first = ReadRows(work, chosen)
    frame = spark.range(0, len(chosen), 1, tasks_for(spark, chosen))
    frame = frame.mapInArrow(first, from_arrow_schema(_nullable(first.schema)))
    for number, check in enumerate(checks):
        if check.action not in ACTIONS:
            raise InvalidOption(f"expectation {check.name!r}: {check.action!r} is no action")
        frame = frame.withColumn(f"{HOLDS}{number}", condition_of(frame, check))
    last = frame.mapInArrow(WriteRows(work, chosen, tuple(checks)), ANSWER)
    with each_by_itself(spark):
        answers: dict[int, Written] = dict(
            pickle.loads(row[0])  # noqa: S301 - our own tasks wrote it
            for row in attempted(last.collect)
        )
    written = [answers.get(number, Written()) for number in range(len(chosen))]
    return [replace(it, schema=growth) for it in written]


def condition_of(frame: Any, check: Check) -> Any:
    """The condition as a column; InvalidOption if it is none.

    True or false; null where it cannot be evaluated. Spark has no function that tries any
    expression, but some that try one of their own, and with it what they are given.
    """
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql.functions import coalesce, expr, lit, try_to_binary

    try:
        holds = coalesce(expr(check.condition).cast("boolean"), lit(False))  # noqa: FBT003
        tried = try_to_binary(holds.cast("string"), lit("utf-8")) == lit(b"true")
        _ = frame.select(tried).schema
    except (AnalysisException, ParseException) as error:
        text = str(error).strip().splitlines()[0]
        raise InvalidOption(f"expectation {check.name!r}: {text}") from error
    return tried


@contextmanager
def each_by_itself(spark: Any) -> Iterator[None]:
    """Nothing that several conditions have in common is evaluated before any of them is tried."""
    before = spark.conf.get(SHARING)
    spark.conf.set(SHARING, "false")
    try:
        yield
    finally:
        spark.conf.set(SHARING, before)


def unmet(check: Check, *, is_known: bool) -> str:
    """What is said of a row."""
    fate = "is not fulfilled" if is_known else "cannot be evaluated"
    return f"expectation {check.name!r} {fate}: {check.condition}"


def _new_columns(spark: Any, pieces: Sequence[OffsetRange], work: WriteRange) -> pa.Schema | None:
    """The table's schema with the columns that values of these ranges add; None: none."""
    _, growth = agreed(work, pieces, lambda it, some: run_tasks(spark, some, FindColumns(it)))
    return growth


@dataclass(frozen=True)
class FindColumns:
    """The work of a task that only looks which columns the rows of a range have."""

    work: WriteRange

    def __call__(self, of: OffsetRange) -> Written:
        """The table's schema and what values of the range add."""
        layouts = [self.work.layout]
        for batch in read_batches(self.work.source, of, RECORD):
            for _, converted in self.work.rows_of(batch, lambda: layouts[-1]):
                last = layouts[-1]
                schema = last.schema_with(converted.rows.schema)
                if schema is not None:
                    layouts.append(replace(last, schema=schema))
        return Written(schema=layouts[-1].schema)


@dataclass(frozen=True)
class ReadRows(SentToWorkers):
    """The first stage."""

    work: WriteRange
    pieces: tuple[OffsetRange, ...]

    @property
    def schema(self) -> pa.Schema:
        """The table's columns, and what stands beside them."""
        return pa.schema([*self.work.layout.schema, *BESIDE])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the ranges whose numbers come."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                skipped: list[Skipped] = []
                piece = self.pieces[number]
                for records in read_batches(self.work.source, piece, RECORD, skipped):
                    yield from self._rows(number, records)
                if skipped:
                    yield self._gap(number, skipped)
        freeze_once()

    def _gap(self, number: int, skipped: list[Skipped]) -> pa.RecordBatch:
        """A row of nothing but what was not read."""
        said = {PIECE: number, SKIPPED: pickle.dumps(skipped)}
        schema = _nullable(self.schema)
        columns = [pa.array([said.get(it.name)], it.type) for it in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _rows(self, number: int, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for some, converted in self.work.rows_of(records, lambda: self.work.layout):
            yield from self._rows_of(number, some, converted)

    def _rows_of(
        self, number: int, records: pa.RecordBatch, converted: Converted
    ) -> Iterator[pa.RecordBatch]:
        schema = self.work.layout.schema
        without = np.array(sorted(converted.dead.keys() | converted.dropped), np.int32)
        kept = np.delete(np.arange(records.num_rows, dtype=np.int32), without)
        if converted.rows.num_rows:
            rows = completed(converted.rows, schema)
            yield self._beside(number, rows, records, kept, converted)
        if len(without):
            nothing = pa.RecordBatch.from_arrays(
                [pa.nulls(len(without), it.type) for it in schema], schema=_nullable(schema)
            )
            yield self._beside(number, nothing, records, without, converted)

    def _beside(  # noqa: PLR0917 - what a row is made of
        self,
        number: int,
        rows: pa.RecordBatch,
        records: pa.RecordBatch,
        at: Any,
        converted: Converted,
    ) -> pa.RecordBatch:
        taken = records if len(at) == records.num_rows else records.take(pa.array(at))
        record = pa.StructArray.from_arrays(taken.columns, fields=list(RECORD_SCHEMA))
        reasons = (
            pa.array([converted.dead.get(it) for it in at.tolist()], pa.string())
            if converted.dead
            else pa.nulls(len(at), pa.string())
        )
        return pa.RecordBatch.from_arrays(
            [
                *rows.columns,
                pa.array(np.full(len(at), number, np.int32)),
                record,
                pa.array(np.isin(at, list(converted.dropped))),
                reasons,
                pa.nulls(len(at), pa.binary()),
            ],
            schema=_nullable(self.schema),
        )


@dataclass(frozen=True)
class WriteRows(SentToWorkers):
    """The second stage."""

    work: WriteRange
    pieces: tuple[OffsetRange, ...]
    checks: tuple[Check, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes what comes; one range after the other."""
        current: int | None = None
        output: RangeOutput | None = None
        try:
            for batch in batches:
                for start, end, number in _runs(_numpy(batch.column(PIECE))):
                    if number != current:
                        if output is not None:
                            yield _answer(current, output.finish())
                        current, output = number, RangeOutput(self.work, self.pieces[number])
                    assert output is not None
                    rows = _told(batch.slice(start, end - start), output.skipped)
                    output.take(*self._checked(rows))
            if output is not None:
                yield _answer(current, output.finish())
            freeze_once()
        except BaseException:
            if output is not None:
                output.abandon()
            raise

    def _checked(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Converted]:
        record = batch.column(RECORD_COLUMN)
        records = completed(
            pa.RecordBatch.from_arrays(record.flatten(), names=list(RECORD)), RECORD_SCHEMA
        )
        reasons = batch.column(REASON)
        dead = {
            at: reasons[at].as_py() for at in np.flatnonzero(_numpy(reasons.is_valid())).tolist()
        }
        dropped = set(np.flatnonzero(_numpy(batch.column(DROPPED))).tolist())
        rests = np.ones(batch.num_rows, bool)
        rests[[*dead, *dropped]] = False
        is_put = _puts(batch)
        for number, check in enumerate(self.checks):
            holds = batch.column(f"{HOLDS}{number}")
            broken = rests & is_put & ~_numpy(holds.fill_null(fill_value=False))
            for at in np.flatnonzero(broken).tolist():
                reason = unmet(check, is_known=holds[at].is_valid)
                if check.action == FAIL:
                    raise _violated(records, at, reason)
                if check.action == DROP and holds[at].is_valid:
                    dropped.add(at)
                else:
                    dead[at] = reason
            rests &= ~broken
        schema = self.work.layout.schema
        rows = batch.select(schema.names)
        if not rests.all():
            rows = rows.filter(pa.array(rests))
        return records, Converted(completed(rows, schema), dead, frozenset(dropped))


def _violated(records: pa.RecordBatch, at: int, reason: str) -> Violated:
    topic, partition, offset = (
        records.column(it)[at].as_py() for it in ("topic", "partition", "offset")
    )
    return Violated(f"the record at offset {offset} of {topic}-{partition}: {reason}")


def _told(batch: pa.RecordBatch, skipped: list[Skipped]) -> pa.RecordBatch:
    """The rows that are some, and what was not read."""
    column = batch.column(SKIPPED)
    if column.null_count == len(column):
        return batch
    for it in column.drop_null().to_pylist():
        skipped += pickle.loads(it)  # noqa: S301 - the first stage wrote it
    return batch.filter(column.is_null())


def _runs(numbers: Any) -> Iterator[tuple[int, int, int]]:
    """Where equal numbers begin and end."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(numbers)]):
        yield start, end, int(numbers[start])


def _numpy(column: pa.Array) -> Any:
    """Of a column without nulls."""
    return column.to_numpy(zero_copy_only=False)


def _puts(batch: pa.RecordBatch) -> Any:
    """Which rows have values: deletes of a row have none that a condition could be held against."""
    if OP not in batch.schema.names:
        return np.ones(batch.num_rows, bool)
    return _numpy(batch.column(OP).fill_null(PUT)) == PUT


def _answer(number: int | None, written: Written) -> pa.RecordBatch:
    answer = pa.array([pickle.dumps((number, written))], pa.binary())
    return pa.RecordBatch.from_pydict({"answer": answer})


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([it.with_nullable(nullable=True) for it in schema])
