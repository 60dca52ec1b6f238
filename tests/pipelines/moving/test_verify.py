"""`verify` finds each fault that is planted in a table, and no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.moving.archive import Archive, archive
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.triggers import Once
from odradek.pipelines.moving.verify import Verify, verify
from odradek.pipelines.source.options import Mode
from odradek.pipelines.tables.rewriting import Rewriting, topics_of
from odradek.pipelines.tables.table import Change
from odradek.pipelines.tables.writing import write_rows
from tests.pipelines.moving.archives import archive_of, reading
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics, now_ms

SPARK = LocalSpark()
Rows = list[dict[str, Any]]


def archived(topics: Topics, tmp_path: Path, name: str, **more: Any) -> Archive:
    """Two partitions of a hundred records, in files of ten."""
    topic = topics.make(partitions=2)
    topics.fill(
        topic,
        [
            {"value": b"%d" % it, "partition": it % 2, "headers": [("h", b"%d" % it)]}
            for it in range(200)
        ],
    )
    options = {"maxOffsetsPerTrigger": 20}
    job = archive_of(topics.bootstrap, topic, f"{name}:{tmp_path}/t", options=options, **more)
    archive(SPARK, job, Once())
    return job


def found_in(topics: Topics, job: Archive) -> list[str]:
    """As a person reads it, without the topic's name."""
    (topic,) = job.source.selection.topics
    done = verify(SPARK, Verify(reading(topics.bootstrap, topic, Mode.BATCH), job.table))
    assert done.records == 200
    return [str(it).removeprefix(topic) for it in done.findings]


def plant(job: Archive, number: int, change: Callable[[Rows], Rows]) -> None:
    """Writes a file of the table anew, with other rows."""

    def changed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(change(batch.to_pylist()), schema=batch.schema)

    plant_columns(job, number, changed)


def plant_columns(
    job: Archive, number: int, change: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> None:
    """The same with columns."""
    opened = OpenTable(job.table, {}, ROWS)
    rewriting = Rewriting(opened.layout(), topics_of(opened.snapshot))
    files = [it for it in opened.table.files(opened.snapshot) if it.span and it.span.partition == 0]
    file = sorted(files, key=lambda it: it.span.start if it.span else 0)[number]
    (batch,) = pa.Table.from_batches(rewriting.read(file)).to_batches()
    assert file.span is not None
    new = write_rows(opened.layout(), file.span, [change(batch)])
    opened.table.commit(opened.snapshot, Change("replace", tuple(new), (file,)))


def with_value(rows: Rows, at: int, **columns: Any) -> Rows:
    """One row changed."""
    return [{**row, **columns} if number == at else row for number, row in enumerate(rows)]


@pytest.mark.parametrize("name", ["delta", "iceberg", "parquet"])
def test_a_table_that_is_right(topics: Topics, tmp_path: Path, name: str) -> None:
    """Nothing is found, also when the topic has gone on."""
    job = archived(topics, tmp_path, name)
    assert found_in(topics, job) == []


def test_each_fault_is_named(topics: Topics, tmp_path: Path) -> None:
    """Missing, double, another value, other headers, a row of no record, a file that is gone."""
    job = archived(topics, tmp_path, "parquet", partitioning=())
    plant(job, 1, lambda rows: rows[:3] + rows[5:])
    plant(job, 2, lambda rows: sorted([*rows, rows[4]], key=_at))
    plant(job, 3, lambda rows: with_value(rows, 7, value=b"other"))
    plant(job, 4, lambda rows: with_value(rows, 1, headers=[{"key": "h", "value": None}]))
    plant(job, 9, lambda rows: [*rows, {**rows[-1], "offset": 110}])
    opened = OpenTable(job.table, {}, ROWS)
    gone = [
        it
        for it in opened.table.files(opened.snapshot)
        if it.span is not None and it.span.partition == 1 and it.span.start == 50
    ]
    (tmp_path / "t" / gone[0].path).unlink()
    found = found_in(topics, job)
    assert found[:5] == [
        "-0 offset 37 different in table and log: value",
        "-0 offset 41 different in table and log: headers",
        "-0 offsets 13 to 14 missing in the table",
        "-0 offset 24 more than once in the table",
        "-0 offset 110 not in the log",
    ]
    assert len(found) == 6
    assert found[5].startswith("-1 offsets 50 to 59 in a file that cannot be read: data/rows")


def test_a_time_that_no_calendar_has(topics: Topics, tmp_path: Path) -> None:
    """It is compared as others are: a client took microseconds for milliseconds."""
    topic = topics.make()
    topics.fill(topic, [{"value": b"far", "timestamp": now_ms() * 1_000}])
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    archive(SPARK, job, Once())
    source = reading(topics.bootstrap, topic, Mode.BATCH)
    assert verify(SPARK, Verify(source, job.table)).findings == ()
    plant_columns(job, 0, at_the_beginning)
    (found,) = verify(SPARK, Verify(source, job.table)).findings
    assert str(found) == f"{topic}-0 offset 0 different in table and log: timestamp"


def at_the_beginning(rows: pa.RecordBatch) -> pa.RecordBatch:
    """All times are 1970."""
    at = rows.schema.get_field_index("timestamp")
    times = pa.array([0] * rows.num_rows, pa.int64()).cast(rows.schema.field(at).type)
    return rows.set_column(at, rows.schema.field(at), times)


def _at(row: dict[str, Any]) -> int:
    return int(row["offset"])
