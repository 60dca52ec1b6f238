"""Rows, batches and tables for the tests of `odradek.pipelines.tables`."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from odradek.pipelines.columns import COLUMNS, arrow_schema
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.tables import commits
from odradek.pipelines.tables.files import DataFile, Span, directory_of
from odradek.pipelines.tables.location import open_table
from odradek.pipelines.tables.partitioning import PartitionField
from odradek.pipelines.tables.rewriting import Rewriting, topics_of
from odradek.pipelines.tables.table import Snapshot, Table
from odradek.pipelines.tables.writing import Layout, write_rows

SCHEMA = arrow_schema(tuple(COLUMNS))
CLUSTER = "a-cluster"
TOPIC = "orders"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
FORMATS = ("delta", "iceberg", "parquet")
DAY_US = 86_400_000_000


def rows(start: int, end: int, *, partition: int = 0, topic: str = TOPIC) -> pa.RecordBatch:
    """Records of these offsets; a day has a thousand of them."""
    count = end - start
    return pa.RecordBatch.from_pydict(
        {
            "key": [None] * count,
            "value": [b"value %d" % number for number in range(start, end)],
            "topic": [topic] * count,
            "partition": [partition] * count,
            "offset": list(range(start, end)),
            "timestamp": [number * DAY_US // 1_000 for number in range(start, end)],
            "timestampType": [0] * count,
            "headers": [[{"key": "a", "value": b"1"}]] * count,
        },
        schema=SCHEMA,
    )


def new_range(
    start: int, end: int, *, partition: int = 0, topic: str = TOPIC, topic_id: str = TOPIC_ID
) -> OffsetRange:
    """A range of the topic."""
    return OffsetRange(topic, topic_id, partition, start, end, 7)


class Lake:
    """One table, written to as an archive does."""

    def __init__(self, location: str, options: Mapping[str, str] | None = None) -> None:
        self.location = location
        self.options = options
        self.table: Table = open_table(location, options)

    def again(self) -> "Lake":
        """What another process sees."""
        lake = Lake(self.location, self.options)
        lake.table.load()
        return lake

    def create(self, partitioning: tuple[PartitionField, ...] = ()) -> Snapshot:
        """An empty table."""
        return self.table.create(SCHEMA, partitioning, commits.begun_at(CLUSTER))

    def layout(self, snapshot: Snapshot) -> Layout:
        """As the running pipeline makes it."""
        return Layout(
            self.table.store,
            snapshot.schema,
            snapshot.partitioning,
            self.table.holds_partition_columns,
            directory=directory_of(snapshot.properties),
        )

    def written(self, snapshot: Snapshot, span: OffsetRange) -> list[DataFile]:
        """Files of a range that no commit names yet."""
        return write_rows(
            self.layout(snapshot),
            Span(span.topic_id, span.partition, span.start, span.end),
            [rows(span.start, span.end, partition=span.partition, topic=span.topic)],
        )

    def batch(self, snapshot: Snapshot, *ranges: OffsetRange) -> commits.Batch:
        """A batch whose files are written."""
        files = [file for it in ranges for file in self.written(snapshot, it)]
        return commits.Batch(CLUSTER, ranges, tuple(files))

    def append(self, snapshot: Snapshot, *ranges: OffsetRange) -> Snapshot:
        """Writes and commits."""
        return commits.append(self.table, snapshot, self.batch(snapshot, *ranges))

    def replace(self, batch: commits.Batch) -> Snapshot:
        """Exchanges the rows of the batch's ranges."""
        snapshot = self.table.load()
        rewriting = Rewriting(self.layout(snapshot), topics_of(snapshot))
        return commits.replace(self.table, batch, rewriting.trim)

    def rows(self) -> list[tuple[int, int, bytes]]:
        """(partition, offset, value) of every row of the newest version, in order."""
        snapshot = self.table.load()
        rewriting = Rewriting(self.layout(snapshot), topics_of(snapshot))
        found = [
            (row["partition"], row["offset"], row["value"])
            for file in self.table.files(snapshot)
            for batch in rewriting.read(file)
            for row in batch.to_pylist()
        ]
        return sorted(found)


def lakes(directory: Path) -> Iterator[Lake]:
    """One of each format."""
    for name in FORMATS:
        yield Lake(f"{name}:{directory}/{name}")


def expected(end: int, start: int = 0, partition: int = 0) -> list[tuple[int, int, bytes]]:
    """What `Lake.rows` gives for these offsets."""
    return [(partition, number, b"value %d" % number) for number in range(start, end)]
