"""`archive`: topics to a table, and what stops it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.reports import BatchReport
from tests.pipelines.moving.archives import archive_of, batches_in, records_of, rows_in
from tests.pipelines.topics import Topics, now_ms

FORMATS = ("delta", "iceberg", "parquet")


@pytest.mark.parametrize("name", FORMATS)
def test_the_table_holds_what_the_topic_holds(
    spark: Any, topics: Topics, tmp_path: Path, name: str
) -> None:
    """Every record once, in batches of the size that was asked for; a second run adds nothing."""
    topic = topics.make(partitions=3)
    topics.fill(
        topic,
        [
            {
                "key": None if i % 7 else b"k%d" % i,
                "value": None if i % 11 == 0 else b"v%d" % i,
                "partition": i % 3,
                "headers": [("h", b"%d" % i), ("n", None)] if i % 4 == 0 else None,
            }
            for i in range(3_000)
        ],
        compression_type="zstd",
    )
    job = archive_of(
        topics.bootstrap, topic, f"{name}:{tmp_path}/t", options={"maxOffsetsPerTrigger": 1_200}
    )
    reports: list[BatchReport] = []
    total = archive(spark, job, Once(), on_batch=reports.append)
    assert (total.read, total.written, total.dropped, total.dead) == (3_000, 3_000, 0, 0)
    assert [it.account.read for it in reports] == [1_200, 1_200, 600]
    assert rows_in(job.table) == records_of(topics.bootstrap, topic, range(3))
    assert archive(spark, job, Once()).read == 0
    topics.fill_numbers(topic, 10, partition=2)
    assert archive(spark, job, Once()).written == 10
    assert rows_in(job.table) == records_of(topics.bootstrap, topic, range(3))


@pytest.mark.parametrize("name", FORMATS)
def test_records_of_far_times_are_kept(
    spark: Any, topics: Topics, tmp_path: Path, name: str
) -> None:
    """A client that takes microseconds for milliseconds writes to the year 55,000."""
    topic = topics.make()
    now = now_ms()
    topics.fill(topic, [{"value": b"now", "timestamp": now}])
    topics.fill(topic, [{"value": b"far", "timestamp": now * 1_000}])
    for folder, partitioning in (("plain", ()), ("by-day", ("day(timestamp)",))):
        table = f"{name}:{tmp_path}/{folder}"
        job = archive_of(topics.bootstrap, topic, table, partitioning=partitioning)
        assert archive(spark, job, Once()).written == 2
        found = [
            row
            for batch in batches_in(table)
            for row in zip(
                batch.column("value").to_pylist(),
                batch.column("timestamp").cast(pa.int64()).to_pylist(),
                strict=True,
            )
        ]
        assert sorted(found) == [(b"far", now * 1_000_000), (b"now", now * 1_000)]


def test_a_topic_that_was_made_again_is_refused(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Its offsets mean other records: the table stays what it is."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    archive(spark, job, Once())
    before = rows_in(job.table)
    topics.delete(topic)
    topics.make()
    topics.fill_numbers(topic, 30)
    with pytest.raises(PipelineError, match="deleted and created again"):
        archive(spark, job, Once())
    skipping = archive_of(topics.bootstrap, topic, job.table, options={"failOnDataLoss": "false"})
    with pytest.raises(PipelineError, match="deleted and created again"):
        archive(spark, skipping, Once())
    assert rows_in(job.table) == before


def test_new_partitions_begin_at_their_first_record(
    spark: Any, topics: Topics, tmp_path: Path
) -> None:
    """However late the archive sees them."""
    topic = topics.make()
    topics.fill_numbers(topic, 5)
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    archive(spark, job, Once())
    topics.widen(topic, 3)
    topics.fill_numbers(topic, 7, partition=2)
    assert archive(spark, job, Once()).written == 7
    assert rows_in(job.table) == records_of(topics.bootstrap, topic, range(3))


def test_an_unknown_topic_is_one_sentence(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Asking makes neither a topic nor a table."""
    job = archive_of(topics.bootstrap, "never-made", f"delta:{tmp_path}/t")
    with pytest.raises(PipelineError, match="'never-made' does not exist"):
        archive(spark, job, Once())
    assert "never-made" not in topics.admin.list_topics(timeout=10).topics
    assert not (tmp_path / "t").exists()
