"""`spark.read.format("odradek")` beside Spark's own connector, on our broker."""

from typing import Any

import pytest

from tests.pipelines.topics import Topics, now_ms, rows

PUSHING = "spark.sql.python.filterPushdown.enabled"


def both(spark: Any, options: dict[str, str]) -> tuple[list[Any], list[Any]]:
    """What our source reads, and what Spark's connector reads."""
    ours = spark.read.format("odradek").options(**options).load()
    theirs = spark.read.format("kafka").options(**options).load()
    assert ours.schema == theirs.schema
    return rows(ours), rows(theirs)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_same_rows_in_every_codec(spark: Any, topics: Topics, codec: str) -> None:
    """Nulls, empty values, headers, two partitions; a reader cannot tell the sources apart."""
    topic = topics.make(partitions=2)
    topics.fill(
        topic,
        [
            {
                "key": None if i % 3 == 0 else b"k%d" % i,
                "value": None if i % 5 == 0 else b"v" * (i % 300),
                "partition": i % 2,
                "headers": [("h", b"%d" % i), ("n", None)] if i % 4 == 0 else None,
            }
            for i in range(2_000)
        ],
        compression_type=codec,
    )
    ours, theirs = both(spark, topics.options(topic, includeHeaders="true"))
    assert len(ours) == 2_000
    assert ours == theirs


def test_log_append_time(spark: Any, topics: Topics) -> None:
    """The time is the leader's, and the type says so."""
    topic = topics.make(message_timestamp_type="LogAppendTime")
    topics.fill(topic, [{"value": b"x", "timestamp": now_ms() - 60_000}] * 10)
    ours, theirs = both(spark, topics.options(topic))
    assert ours == theirs
    assert {row[6] for row in ours} == {1}


OFFSETS = '{{"{0}": {{"0": 40, "1": -2, "2": 7}}}}'
ENDS = '{{"{0}": {{"0": 60, "1": -1, "2": 5}}}}'


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": OFFSETS},
        {"endingOffsets": ENDS},
        {"startingTimestamp": "{1}"},
        {"startingOffsetsByTimestamp": '{{"{0}": {{"0": {1}, "1": {2}, "2": {1}}}}}'},
        {"endingTimestamp": "{2}"},
        {"assign": '{{"{0}": [1]}}'},
        {"subscribePattern": ".*from_where_to_where.*"},
        {"minPartitions": "7"},
        {"maxRecordsPerPartition": "13"},
    ],
    ids="-".join,
)
def test_from_where_to_where(spark: Any, topics: Topics, options: dict[str, str]) -> None:
    """Offsets, times, partitions and cuts mean what they mean to the connector."""
    topic = topics.make(partitions=3)
    begin = now_ms() - 100_000
    for partition in range(3):
        topics.fill(
            topic,
            [
                {"value": b"%d" % it, "partition": partition, "timestamp": begin + it * 1_000}
                for it in range(90)
            ],
        )
    chosen = {k: v.format(topic, begin + 30_000, begin + 70_000) for k, v in options.items()}
    given = topics.options(topic, **chosen)
    if {"assign", "subscribePattern"} & options.keys():
        del given["subscribe"]
    ours, theirs = both(spark, given)
    assert ours
    assert ours == theirs


def halves(topics: Topics) -> str:
    """A topic of two partitions with fifty records each."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(100)])
    return topic


def test_a_frame_is_read_again(spark: Any, topics: Topics) -> None:
    """What one query filters is no matter of the next one's."""
    frame = spark.read.format("odradek").options(**topics.options(halves(topics))).load()
    filters = ("partition = 0", "true", "offset < 10", "partition = 1", "true")
    assert [frame.where(it).count() for it in filters] == [50, 100, 20, 50, 100]
    assert frame.where("partition = 0").union(frame.where("offset < 5")).count() == 60


def test_filters_narrow_what_is_read(spark: Any, topics: Topics) -> None:
    """Where Spark is told to push them; it plans a task for each range that is left."""
    options = topics.options(halves(topics))
    spark.conf.set(PUSHING, "true")
    try:
        for condition, count, tasks in (
            ("partition = 0", 50, 1),
            ("offset >= 10 and offset < 30 and partition in (0, 1)", 40, 2),
            ("timestamp > timestamp '2001-01-01'", 100, 2),
        ):
            frame = spark.read.format("odradek").options(**options).load().where(condition)
            assert frame.rdd.getNumPartitions() == tasks
            frame = spark.read.format("odradek").options(**options).load().where(condition)
            assert frame.count() == count
    finally:
        spark.conf.unset(PUSHING)
