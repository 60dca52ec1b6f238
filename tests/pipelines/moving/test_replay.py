"""`replay`: a table back into a topic."""

import time
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.replaying.pieces import Replayed
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.sink.options import SinkOptions, parse
from tests.pipelines.moving.archives import archive_of
from tests.pipelines.reading import committed
from tests.pipelines.topics import Topics, now_ms

DAY_MS = 86_400_000


def into(topics: Topics, topic: str) -> SinkOptions:
    """A sink of one topic."""
    return parse({"kafka.bootstrap.servers": topics.bootstrap, "topic": topic})


def all_of(spark: Any, topics: Topics, topic: str) -> list[Any]:
    """Everything that a reader sees but the topic's name."""
    frame = spark.read.format("kafka").options(**topics.options(topic, includeHeaders="true"))
    rows = frame.load().drop("topic").orderBy("partition", "offset").collect()
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("partitioning", [(), ("day(timestamp)",)])
def test_a_replayed_topic_cannot_be_told_from_the_first(
    spark: Any, topics: Topics, tmp_path: Path, partitioning: tuple[str, ...]
) -> None:
    """Partitions, order, times, headers and nulls; also of a table that is split by day."""
    topic, again = topics.make(partitions=3), topics.make("again", partitions=3)
    topics.fill(
        topic,
        [
            {
                "key": None if i % 3 == 0 else b"k%d" % i,
                "value": None if i % 5 == 0 else b"v%d" % i,
                "partition": i % 3,
                "timestamp": now_ms() - i % 4 * DAY_MS,
                "headers": [("h", b"%d" % i), ("n", None)] if i % 4 == 0 else None,
            }
            for i in range(1_500)
        ],
    )
    job = archive_of(
        topics.bootstrap,
        topic,
        f"delta:{tmp_path}/t",
        partitioning=partitioning,
        options={"maxOffsetsPerTrigger": 600},
    )
    archive(spark, job, Once())
    done = replay(spark, Replay(job.table, into(topics, again)))
    assert done == Replayed(sent=1_500, held=0)
    assert all_of(spark, topics, again) == all_of(spark, topics, topic)
    assert replay(spark, Replay(job.table, into(topics, again), resume=True)).sent == 0


def test_it_goes_on_where_it_was(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """As many rows as the topic holds are left out."""
    topic, again = topics.make(), topics.make("again")
    topics.fill_numbers(topic, 100)
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    archive(spark, job, Once())
    topics.fill_numbers(again, 30)
    done = replay(spark, Replay(job.table, into(topics, again), resume=True))
    assert done == Replayed(sent=70, held=30)
    values = [int(row[1]) for row in all_of(spark, topics, again)]
    assert values == list(range(100))


def test_in_transactions_each_row_is_sent_once(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Whoever else writes to the topic; the same name goes on where its last transaction ended."""
    topic, again = topics.make(partitions=3), topics.make("again", partitions=3)
    for partition in range(3):
        topics.fill_numbers(topic, 200, partition=partition, first=1_000 * partition)
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    archive(spark, job, Once())
    options = {"kafka.bootstrap.servers": topics.bootstrap, "topic": again}
    name = {"exactlyOnce": "true", "kafka.transactional.id": again}
    again_once = Replay(job.table, parse({**options, **name}), part_bytes=1_000)
    topics.fill_numbers(again, 5, first=9_000)
    assert replay(spark, again_once) == Replayed(sent=600, held=0)
    topics.fill_numbers(again, 5, first=9_005)
    assert replay(spark, again_once) == Replayed(sent=0, held=600)
    topics.fill_numbers(topic, 20, first=200)
    archive(spark, job, Once())
    assert replay(spark, again_once) == Replayed(sent=20, held=600)
    numbers = [1_000 * partition + it for partition in range(3) for it in range(200)]
    assert committed(topics, again) == sorted([*numbers, *range(200, 220), *range(9_000, 9_010)])
    rows = [int(row[1]) for row in all_of(spark, topics, again) if int(row[1]) < 9_000]
    assert rows[:220] == list(range(220))


def test_the_id_of_another_replay_is_refused(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """What it has noted are offsets of another topic."""
    again = topics.make("again")
    name = {"exactlyOnce": "true", "kafka.transactional.id": again}
    sink = parse({"kafka.bootstrap.servers": topics.bootstrap, "topic": again, **name})
    for number in range(2):
        topic = topics.make(f"from-{number}")
        topics.fill_numbers(topic, 5)
        job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/{number}")
        archive(spark, job, Once())
        if number == 0:
            replay(spark, Replay(job.table, sink))
        else:
            with pytest.raises(PipelineError, match="that of another replay"):
                replay(spark, Replay(job.table, sink))
    assert committed(topics, again) == list(range(5))


def test_a_rate_is_kept_to(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """It may be slower, never faster."""
    topic, again = topics.make(), topics.make("again")
    topics.fill_numbers(topic, 300)
    job = archive_of(topics.bootstrap, topic, f"parquet:{tmp_path}/t")
    archive(spark, job, Once())
    began = time.monotonic()
    assert replay(spark, Replay(job.table, into(topics, again), rate=200)).sent == 300
    assert time.monotonic() - began >= 1.3


def test_what_is_refused(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Each in a sentence, before anything is sent."""
    topic, narrow = topics.make(partitions=2), topics.make("narrow")
    topics.fill_numbers(topic, 5, partition=1)
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    archive(spark, job, Once())
    for table, target, sentence in (
        (job.table, narrow, "has 1 partition"),
        (job.table, "never-made", "'never-made' does not exist"),
        (f"delta:{tmp_path}/none", narrow, "there is no table"),
    ):
        with pytest.raises(PipelineError, match=sentence):
            replay(spark, Replay(table, into(topics, target)))
