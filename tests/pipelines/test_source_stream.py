"""`spark.readStream.format("odradek")` beside Spark's own connector, on our broker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import sentence_of
from tests.pipelines.streams import run_stream
from tests.pipelines.topics import Topics

Batches = list[list[tuple[int, int]]]


class Stream:
    """A stream of (partition, offset) that remembers its batches."""

    def __init__(self, spark: Any, checkpoint: Path) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self.batches: Batches = []

    def run(self, form: str, options: dict[str, str]) -> None:
        """What is there now, in as many batches as limits make of it."""
        frame = self._spark.readStream.format(form).options(**options).load()

        def note(rows: Any, _number: int) -> None:
            found = sorted((row.partition, row.offset) for row in rows.collect())
            if found:
                self.batches.append(found)

        writer = frame.select("partition", "offset").writeStream.foreachBatch(note)
        writer = writer.option("checkpointLocation", str(self._checkpoint))
        run_stream(writer.trigger(availableNow=True).start)


def test_the_same_batches_as_the_connector(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Boundaries of every micro-batch, and after a restart with more of all, in smaller splits."""
    topic = topics.make(partitions=2)
    topics.fill_numbers(topic, 120)
    topics.fill_numbers(topic, 30, partition=1)
    options = topics.options(topic, startingOffsets="earliest", maxOffsetsPerTrigger=70)
    streams = {name: Stream(spark, tmp_path / name) for name in ("odradek", "kafka")}
    for name, stream in streams.items():
        stream.run(name, options)
    assert len(streams["odradek"].batches) == 3
    topics.widen(topic, 3)
    topics.fill_numbers(topic, 85, partition=2)
    for name, stream in streams.items():
        stream.run(name, {**options, "minPartitions": "5"})
    assert streams["odradek"].batches == streams["kafka"].batches
    assert sum(map(len, streams["odradek"].batches)) == 235


def test_a_topic_that_was_made_again(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Is told from one that lost records; with failOnDataLoss=false the new one is read."""
    topic = topics.make()
    topics.fill_numbers(topic, 40)
    stream = Stream(spark, tmp_path / "checkpoint")
    options = topics.options(topic, startingOffsets="earliest")
    stream.run("odradek", options)
    topics.delete(topic)
    topics.make()
    topics.fill_numbers(topic, 60)
    told = refused(lambda: stream.run("odradek", options))
    assert "deleted and created again" in told
    stream.run("odradek", {**options, "failOnDataLoss": "false"})
    assert stream.batches[-1] == [(0, offset) for offset in range(60)]


def test_records_that_expired(spark: Any, topics: Topics, tmp_path: Path) -> None:
    """Are named, or skipped if that is asked for."""
    from confluent_kafka import TopicPartition

    topic = topics.make()
    topics.fill_numbers(topic, 10)
    stream = Stream(spark, tmp_path / "checkpoint")
    options = topics.options(topic, startingOffsets="earliest")
    stream.run("odradek", options)
    topics.fill_numbers(topic, 20)
    for future in topics.admin.delete_records([TopicPartition(topic, 0, 25)]).values():
        future.result(30)
    told = refused(lambda: stream.run("odradek", options))
    assert "10" in told
    assert "25" in told
    stream.run("odradek", {**options, "failOnDataLoss": "false"})
    assert stream.batches[-1] == [(0, offset) for offset in range(25, 30)]


def refused(run: Callable[[], None]) -> str:
    """The sentence that a run ends with."""
    with pytest.raises(Exception) as caught:
        run()
    told = sentence_of(caught.value)
    assert told is not None, caught.value
    return told
