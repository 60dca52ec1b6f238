"""`compact` and `backfill` on tables that an archive made."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.backfill import backfill
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.compact import Upkeep, compact
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.moving.values import RECORD_SCHEMA, Converted
from odradek.pipelines.sink.options import parse
from odradek.pipelines.source.options import Mode
from odradek.pipelines.tables.gaps import gaps_of
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.archiver import SevenIsDead, check_numbers, job_of
from tests.pipelines.moving.archives import archive_of, reading, records_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.moving.test_verify import CHECKSUM, damage
from tests.pipelines.topics import Topics

SPARK = LocalSpark()
FORMATS = ("delta", "iceberg", "parquet")


def small_files(topics: Topics, tmp_path: Path, name: str) -> Archive:
    """An archive of ten files for each of two partitions."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(400)])
    job = archive_of(
        topics.bootstrap, topic, f"{name}:{tmp_path}/t", options={"maxOffsetsPerTrigger": 40}
    )
    archive(SPARK, job, Once())
    return job


@pytest.mark.parametrize("name", FORMATS)
def test_small_files_become_few(topics: Topics, tmp_path: Path, name: str) -> None:
    """The rows stay, in their order; what is not needed any more goes; a second time finds none."""
    job = small_files(topics, tmp_path, name)
    before = rows_in(job.table)
    done = compact(SPARK, Upkeep(job.table, keep_ms=-1_000, orphan_age_ms=-1_000))
    assert (done.merged, done.into) == (20, 2)
    assert rows_in(job.table) == before
    assert len(list((tmp_path / "t").rglob("rows.*.parquet"))) == 2
    again = compact(SPARK, Upkeep(job.table, keep_ms=-1_000, orphan_age_ms=-1_000))
    assert (again.merged, again.into) == (0, 0)
    assert archive(SPARK, job, Once()).read == 0


class Shouted:
    """A format that was mended: rows have another value than before."""

    prefix = ""
    schema = RECORD_SCHEMA
    may_grow = False

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """The value, and something behind it."""
        del table
        at = batch.schema.get_field_index("value")
        joined = pc.binary_join_element_wise(batch.column(at), b"!", b"")
        return Converted(batch.set_column(at, "value", joined))


@pytest.mark.parametrize("name", FORMATS)
def test_a_backfill_rewrites_exactly_its_range(topics: Topics, tmp_path: Path, name: str) -> None:
    """Also within files; the table's end stays; merged afterwards, the order is still right."""
    job = small_files(topics, tmp_path, name)
    (topic,) = job.source.selection.topics
    source = reading(
        topics.bootstrap,
        topic,
        Mode.BATCH,
        startingOffsets=f'{{"{topic}": {{"0": 5, "1": 200}}}}',
        endingOffsets=f'{{"{topic}": {{"0": 133, "1": 200}}}}',
    )
    done = backfill(SPARK, Archive(source, job.table, values=Shouted()))
    assert done.written == 128
    expected = [
        (p, o, k, (v or b"") + (b"!" if p == 0 and 5 <= o < 133 else b""))
        for p, o, k, v in records_of(topics.bootstrap, topic, (0, 1))
    ]
    assert rows_in(job.table) == expected
    compact(SPARK, Upkeep(job.table))
    assert rows_in(job.table) == expected
    again = topics.make("again", partitions=2)
    sink = parse({"kafka.bootstrap.servers": topics.bootstrap, "topic": again})
    replay(SPARK, Replay(job.table, sink))
    assert records_of(topics.bootstrap, again, (0, 1)) == expected
    assert archive(SPARK, job, Once()).read == 0


def test_a_backfill_of_rows_and_dead_letters(topics: Topics, tmp_path: Path) -> None:
    """Both tables; a range beyond the table's end is cut there."""
    topic = topics.make()
    topics.fill_numbers(topic, 100)
    job = job_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    archive(SPARK, job, Once())
    topics.fill_numbers(topic, 50, first=100)
    source = reading(topics.bootstrap, topic, Mode.BATCH)
    again = Archive(source, job.table, values=SevenIsDead(), dead_letters=job.dead_letters)
    assert backfill(SPARK, again).read == 100
    check_numbers(job.table, 100)
    assert archive(SPARK, job, Once()).read == 50
    check_numbers(job.table, 150)


def test_a_backfill_keeps_what_the_log_does_not_give(tmp_path: Path) -> None:
    """Told to skip what is damaged, it leaves those rows: the table is all that is left of them."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "damaged")
    topic = topics.make()
    for first in range(0, 100, 10):
        topics.fill_numbers(topic, 10, first=first)
    job = archive_of(broker.bootstrap, topic, f"delta:{tmp_path}/t")
    archive(SPARK, job, Once())
    broker.stop()
    damage(broker, topic, 50, CHECKSUM)
    broker.start()
    patient = {"kafka__default__api__timeout__ms": 2_000, "failOnDataLoss": "false"}
    source = reading(broker.bootstrap, topic, Mode.BATCH, **patient)
    done = backfill(SPARK, Archive(source, job.table, values=Shouted()))
    broker.stop()
    assert (done.read, done.skipped) == (90, 10)
    found = [(offset, value) for _, offset, _, value in rows_in(job.table)]
    assert found == [(it, b"%d" % it if 50 <= it < 60 else b"%d!" % it) for it in range(100)]
    assert not gaps_of(OpenTable(job.table, {}, ROWS).snapshot.properties)
