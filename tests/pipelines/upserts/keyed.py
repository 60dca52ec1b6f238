"""A table with one row for each key, written batch by batch from records in memory; and its model.

All of a run but Spark, brokers and the planning of batches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.archiving.steps import Step
from odradek.pipelines.moving.archiving.tasks import RangeOutput, WriteRange, Written, agreed
from odradek.pipelines.moving.archiving.upsert import Upsert, changing
from odradek.pipelines.moving.compact import merge_small
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RECORD_SCHEMA, Values
from odradek.pipelines.positions import OffsetRange, Positions, TopicPositions
from odradek.pipelines.tables.files import DataFile, Span
from odradek.pipelines.tables.rewriting import Rewriting
from odradek.pipelines.tables.writing import write_rows
from tests.pipelines.moving.hostile_run import CLUSTER, SOURCE, TOPIC_ID
from tests.pipelines.moving.local_spark import LocalSpark

FORMATS: Final = ("delta", "iceberg")
TOPIC: Final = "orders"
READ_AT_ONCE: Final = 7
VALUES: Final = JsonValues((("id", parse("long")), ("n", parse("long"))))

Record = tuple[bytes | None, bytes | None]
"""Key and value."""


def records_at(start: int, partition: int, some: Sequence[Record]) -> pa.RecordBatch:
    """Records as a task reads them."""
    count = len(some)
    columns: dict[str, Any] = {
        "key": [key for key, _ in some],
        "value": [value for _, value in some],
        "topic": [TOPIC] * count,
        "partition": [partition] * count,
        "offset": range(start, start + count),
        "timestamp": [1_700_000_000_000_000] * count,
        "timestampType": [0] * count,
        "headers": [[]] * count,
    }
    arrays = [pa.array(columns[it.name], it.type) for it in RECORD_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)


@dataclass
class KeyedTable:
    """One table, and the records that it is made of, by partition."""

    location: str
    log: Mapping[int, Sequence[Record]]
    keys: tuple[str, ...] = ("id",)
    values: Values = VALUES
    file_bytes: int = 4_000
    account: Account = field(default_factory=Account)
    between: Callable[[], None] | None = None
    """What happens between a batch's merge and its commit."""
    compacted: int = 0

    def __post_init__(self) -> None:
        """Opens the table, or makes it."""
        self.rows = OpenTable(self.location, {}, ROWS)
        if not self.rows.exists:
            nowhere = Positions(CLUSTER, {})
            self.rows.create(self.values.schema, (), nowhere, self.values.prefix, keys=self.keys)
        self.rows.check_keys(self.keys)

    def end(self, partition: int) -> int:
        """Where the table ends."""
        topic = self.rows.snapshot.positions.topics.get(TOPIC)
        return 0 if topic is None else topic.offsets.get(partition, 0)

    def batch(self, ends: Mapping[int, int], cut: int | None = None) -> None:
        """Up to these offsets, in one commit; pieces are cut there, too."""
        ranges = [
            OffsetRange(TOPIC, TOPIC_ID, number, self.end(number), end, 1)
            for number, end in sorted(ends.items())
            if end > self.end(number)
        ]
        pieces = [piece for it in ranges for piece in _cut(it, cut)]
        latest = TopicPositions(TOPIC_ID, {it: len(those) for it, those in self.log.items()})
        nowhere = Positions(CLUSTER, {})
        step = Step(
            nowhere, nowhere, Positions(CLUSTER, {TOPIC: latest}), tuple(ranges), tuple(pieces)
        )
        work = WriteRange(
            SOURCE, Changes(self.values, self.keys), self.rows.layout(self.file_bytes)
        )
        work = changing(work, step)

        def run(it: WriteRange, some: Sequence[OffsetRange]) -> list[Written]:
            return [self._written(it, piece) for piece in some]

        done, _ = agreed(work, pieces, run)
        upsert = Upsert(LocalSpark(), self.rows, work, step=step, written=done)
        account = sum((it.account for it in upsert.written()), Account())
        account.check()
        if self.between is not None:
            self.between()
        upsert.commit()
        self.account += upsert.accounted(account)

    def _written(self, work: WriteRange, of: OffsetRange) -> Written:
        with RangeOutput(work, of) as output:
            for start in range(of.start, of.end, READ_AT_ONCE):
                end = min(start + READ_AT_ONCE, of.end)
                some = records_at(start, of.partition, self.log[of.partition][start:end])
                for records, converted in work.rows_of(some, lambda: output.layout):
                    output.take(records, converted)
            return output.finish()

    def compact(self) -> None:
        """Makes few files of small ones, as upkeep does."""
        self.rows.reload()
        self.compacted = merge_small(LocalSpark(), self.rows, self.file_bytes)[0]

    def shuffled(self, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """The same rows, last ones first, in a file that says no keys."""
        rewriting = Rewriting(self.rows.layout(), {})
        rows = [batch for file in files for batch in rewriting.read(file)]
        whole = pa.Table.from_batches(rows).sort_by([(self.keys[0], "descending")])
        layout = replace(self.rows.layout(), keys=())
        return tuple(
            write_rows(layout, Span(TOPIC_ID, 0, 0, 1), whole.combine_chunks().to_batches())
        )

    def found(self) -> list[dict[str, Any]]:
        """All rows of the newest version as we read them, without those of their records."""
        snapshot = self.rows.reload()
        rewriting = Rewriting(self.rows.layout(), {})
        return [
            {name: it for name, it in row.items() if not name.startswith("_")}
            for file in self.rows.table.files(snapshot)
            for batch in rewriting.read(file)
            for row in batch.to_pylist()
        ]


def _cut(of: OffsetRange, at: int | None) -> Iterator[OffsetRange]:
    if at is None or not of.start < at < of.end:
        yield of
        return
    yield replace(of, end=at)
    yield replace(of, start=at)


def rows_of_others(location: str) -> list[dict[str, Any]]:
    """As the format's own library reads them."""
    form, _, place = location.partition(":")
    if form == "delta":
        from deltalake import DeltaTable

        found: list[dict[str, Any]] = DeltaTable(place).to_pyarrow_table().to_pylist()
    else:
        from odradek.pipelines.tables.location import open_table

        table: Any = open_table(location)
        table.load()
        found = table._table.scan().to_arrow().to_pylist()
    return [{name: it for name, it in row.items() if not name.startswith("_")} for row in found]


def place_of(folder: Path, form: str) -> str:
    """Of a table."""
    return f"{form}:{folder}/t"
