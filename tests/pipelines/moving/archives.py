"""Archives of one topic for tests, and what their tables hold."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition

from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.opening import OpenTable
from odradek.pipelines.source.options import Mode, SourceOptions, parse
from odradek.pipelines.tables.rewriting import Rewriting, topics_of

CONSUME_SECONDS: Final = 0.1
"""librdkafka waits so long for as many messages as it was asked for, also at the end of a topic."""

Row = tuple[int, int, bytes | None, bytes | None]
"""Partition, offset, key and value."""


def reading(bootstrap: str, topic: str, mode: Mode = Mode.STREAM, **more: object) -> SourceOptions:
    """The options of a reader from the earliest offset on."""
    given = {key.replace("__", "."): str(value) for key, value in more.items()}
    return parse(
        {
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
            **given,
        },
        mode,
    )


def archive_of(bootstrap: str, topic: str, table: str, **more: Any) -> Archive:
    """An archive of raw records."""
    source = reading(bootstrap, topic, **more.pop("options", {}))
    return Archive(source, table, **more)


def batches_in(location: str, options: Mapping[str, str] | None = None) -> list[pa.RecordBatch]:
    """All rows of the newest version, file by file."""
    opened = OpenTable(location, options or {}, kind_of(location, options))
    rewriting = Rewriting(opened.layout(), topics_of(opened.snapshot))
    files = opened.table.files(opened.snapshot)
    return [batch for file in files for batch in rewriting.read(file)]


def kind_of(location: str, options: Mapping[str, str] | None) -> str:
    """Of rows or of dead letters."""
    from odradek.pipelines.tables.location import open_table

    return open_table(location, options).load().properties["kind"]


def rows_in(location: str, options: Mapping[str, str] | None = None) -> list[Row]:
    """All rows, ordered."""
    return sorted(
        (row["partition"], row["offset"], row["key"], row["value"])
        for batch in batches_in(location, options)
        for row in batch.to_pylist()
    )


def records_of(bootstrap: str, topic: str, partitions: Sequence[int] = (0,)) -> list[Row]:
    """All records of a topic as librdkafka reads them."""
    found = messages_of(bootstrap, topic, partitions)
    return sorted((it.partition(), it.offset(), it.key(), it.value()) for it in found)


def messages_of(
    bootstrap: str, topic: str, partitions: Sequence[int], first: int = 0
) -> list[Message]:
    """From an offset on to the end that each partition has."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found: list[Message] = []
    ended: set[int] = set()
    consumer.assign([TopicPartition(topic, number, first) for number in partitions])
    while len(ended) < len(partitions):
        for message in consumer.consume(10_000, CONSUME_SECONDS):
            if message.error():
                ended.add(message.partition())
            else:
                found.append(message)
    consumer.close()
    return found
