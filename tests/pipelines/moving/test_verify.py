"""`verify` finds each fault that is planted in a table, and no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition

from odradek.pipelines.errors import NothingCompared, PipelineError
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.comparing.verify import Verify, verify
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.source.options import Mode
from odradek.pipelines.tables.rewriting import Rewriting, topics_of
from odradek.pipelines.tables.table import Change
from odradek.pipelines.tables.writing import write_rows
from odradek.records.batch import headers
from tests.compat.broker_process import OdradekBroker
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
    assert found[5].startswith("-1 offsets 50 to 59 in a file that cannot be read: rows")


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


def damage(broker: OdradekBroker, topic: str, offset: int, at: int) -> None:
    """Changes a byte of the batch that begins at an offset of partition 0; the broker is away."""
    (file,) = broker.directory.glob(f"*/{topic}-0/*.log")
    data = bytearray(file.read_bytes())
    (position, header), *_ = [it for it in headers(data) if it[1].base_offset == offset]
    assert at < header.size, "this byte is of the batch behind it"
    data[position + at] ^= 4
    file.write_bytes(data)


CHECKSUM, MAGIC = 70, 16


@pytest.mark.parametrize("at", [CHECKSUM, MAGIC])
def test_damage_in_the_log_is_one_fault_among_others(tmp_path: Path, at: int) -> None:
    """What can be read is compared, in this partition and in others; the damage is named."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "damaged")
    topic = topics.make(partitions=2)
    for first in range(0, 100, 10):
        for partition in (0, 1):
            topics.fill_numbers(topic, 10, partition=partition, first=first)
    options = {"maxOffsetsPerTrigger": 20}
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t", options=options)
    archive(SPARK, job, Once())
    plant(job, 0, lambda rows: with_value(rows, 3, value=b"other"))
    plant(job, 7, lambda rows: with_value(rows, 3, value=b"other"))
    broker.stop()
    damage(broker, topic, 50, at)
    broker.start()
    patient = {"kafka__default__api__timeout__ms": 2_000}
    source = reading(broker.bootstrap, topic, Mode.BATCH, **patient)
    done = verify(SPARK, Verify(source, job.table))
    broker.stop()
    found = [(it.kind, it.first, it.last) for it in done.findings]
    if at == CHECKSUM:
        assert ("damaged in the log", 50, 59) in found
        assert ("different in table and log", 73, 73) in found
    else:
        assert ("damaged in the log", 50, 99) in found
    assert ("different in table and log", 3, 3) in found
    assert {it[0] for it in found} == {"damaged in the log", "different in table and log"}
    assert all(it.partition == 0 for it in done.findings)


def test_the_table_of_another_topic_is_refused(topics: Topics, tmp_path: Path) -> None:
    """It holds nothing that could be compared; also where one of two topics is not in it."""
    job = archived(topics, tmp_path, "delta")
    (topic,) = job.source.selection.topics
    other = topics.make("other")
    topics.fill_numbers(other, 10)
    for asked in (other, f"{topic},{other}"):
        source = reading(topics.bootstrap, asked, Mode.BATCH)
        with pytest.raises(PipelineError, match=f"holds no records of topic '{other}'"):
            verify(SPARK, Verify(source, job.table))


def test_a_comparison_of_nothing_is_none(topics: Topics, tmp_path: Path) -> None:
    """The log begins where the table has ended; a topic without records; a name that fits none."""
    job = archived(topics, tmp_path, "delta")
    (topic,) = job.source.selection.topics
    ends = [TopicPartition(topic, number, 100) for number in (0, 1)]
    for future in topics.admin.delete_records(ends).values():
        future.result()
    source = reading(topics.bootstrap, topic, Mode.BATCH)
    with pytest.raises(NothingCompared, match="no offset in common"):
        verify(SPARK, Verify(source, job.table))
    empty = archive_of(topics.bootstrap, topics.make("empty"), f"delta:{tmp_path}/empty")
    archive(SPARK, empty, Once())
    (topic,) = empty.source.selection.topics
    with pytest.raises(PipelineError):
        verify(SPARK, Verify(reading(topics.bootstrap, topic, Mode.BATCH), empty.table))


def at_the_beginning(rows: pa.RecordBatch) -> pa.RecordBatch:
    """All times are 1970."""
    at = rows.schema.get_field_index("timestamp")
    times = pa.array([0] * rows.num_rows, pa.int64()).cast(rows.schema.field(at).type)
    return rows.set_column(at, rows.schema.field(at), times)


def _at(row: dict[str, Any]) -> int:
    return int(row["offset"])
