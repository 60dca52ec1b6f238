"""`write.format("odradek")` and `writeStream`: rows into topics, as Spark's own sink does it."""

from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import sentence_of
from tests.pipelines.streams import run_stream
from tests.pipelines.topics import Topics


def written(spark: Any, topics: Topics, topic: str) -> list[tuple[Any, ...]]:
    """Partition, key, value and headers of all records, by partition in order."""
    found = spark.read.format("kafka").options(**topics.options(topic, includeHeaders="true"))
    rows = found.load().orderBy("partition", "offset").collect()
    return [(row.partition, row.key, row.value, row.headers) for row in rows]


def test_rows_go_where_the_connector_sends_them(spark: Any, topics: Topics) -> None:
    """By key, by partition, with headers; nulls stay nulls; strings are bytes."""
    frame = spark.range(0, 500, 1, 1).selectExpr(
        "CASE WHEN id % 9 = 0 THEN NULL ELSE concat('key-', id) END AS key",
        "CASE WHEN id % 7 = 0 THEN NULL ELSE cast(concat('value-', id) AS binary) END AS value",
        "CASE WHEN id % 9 = 0 THEN cast(id % 4 AS int) END AS partition",
        "CASE WHEN id % 5 = 0 THEN array(struct('a' AS key, cast(id AS string) AS v)) END AS h",
    )
    frame = frame.selectExpr(
        "key", "value", "partition", "cast(h AS array<struct<key: string, value: binary>>) headers"
    )
    found = {}
    for form in ("odradek", "kafka"):
        topic = topics.make(form, partitions=4)
        options = {"kafka.bootstrap.servers": topics.bootstrap, "topic": topic}
        frame.write.format(form).options(**options, includeHeaders="true").mode("append").save()
        found[form] = written(spark, topics, topic)
    assert len(found["odradek"]) == 500
    assert found["odradek"] == found["kafka"]


def test_a_stream_writes_what_it_reads(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """From two topics, chosen by a column, compressed."""
    source, a, b = topics.make("s", 2), topics.make("a"), topics.make("b")
    topics.fill_numbers(source, 1_000, partition=1)
    stream = spark.readStream.format("odradek").options(
        **topics.options(source, startingOffsets="earliest", maxOffsetsPerTrigger=300)
    )
    rows = stream.load().selectExpr("value", f"if(offset % 2 = 0, '{a}', '{b}') AS topic")
    writer = (
        rows.writeStream.format("odradek")
        .options(**{"kafka.bootstrap.servers": topics.bootstrap, "kafka.compression.type": "zstd"})
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    run_stream(writer.trigger(availableNow=True).start)
    values = [int(row[2]) for topic in (a, b) for row in written(spark, topics, topic)]
    assert values == [*range(0, 1_000, 2), *range(1, 1_000, 2)]


@pytest.mark.parametrize(
    "case",
    [
        ("1 AS key", {"topic": "t"}, "no column 'value'"),
        ("'x' AS value", {}, "option 'topic' or as a column"),
        ("1 AS value", {"topic": "t"}, "'value' is int, it must be string or binary"),
        ("'x' AS value", {"topic": "t", "kafka.compression.type": "rar"}, "compression.type"),
        ("'x' AS value", {"topic": "t", "kafka.key.serializer": "x"}, "is not supported"),
        ("'x' AS value", {"topic": "never-made"}, "'never-made' does not exist"),
        (
            "'x' AS value",
            {"topic": "t", "exactlyOnce": "true", "kafka.transactional.id": "x"},
            "is not for format('odradek')",
        ),
        ("'x' AS value, 7 AS partition", {"topic": "?"}, "it has 1 partition"),
    ],
)
def test_what_is_refused(spark: Any, topics: Topics, case: tuple[str, dict[str, str], str]) -> None:
    """In one sentence, that the command prints alone."""
    columns, options, sentence = case
    if options.get("topic") == "?":
        options = {**options, "topic": topics.make()}
    frame = spark.sql(f"SELECT {columns}")
    writer = frame.write.format("odradek").option("kafka.bootstrap.servers", topics.bootstrap)
    with pytest.raises(Exception) as caught:
        writer.options(**options).mode("append").save()
    told = sentence_of(caught.value)
    assert told is not None
    assert sentence in told
