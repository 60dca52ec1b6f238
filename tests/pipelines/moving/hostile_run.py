"""Hostile values through all of a run but Spark: formats, files, commits, and readers of the table.

`python -m tests.pipelines.moving.hostile_run --count 100000` tries many; CI tries some thousands.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.archiving.dead_letters import DEAD_SCHEMA
from odradek.pipelines.moving.archiving.tasks import RangeOutput, WriteRange, Written, agreed
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.moving.values import RECORD_SCHEMA
from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.options import Mode
from odradek.pipelines.source.options import parse as parse_source
from tests.pipelines.formats.hostile import COLUMNS, hostile_values

FORMATS: Final = ("delta", "iceberg", "parquet")
PARTITIONINGS: Final = ("nothing", "note", "day(at)")
TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
CLUSTER: Final = "a-cluster"
READ_AT_ONCE: Final = 700
SOURCE: Final = parse_source({"kafka.bootstrap.servers": "x:1", "subscribe": "orders"}, Mode.STREAM)


def records_at(start: int, partition: int, values: list[bytes | None]) -> pa.RecordBatch:
    """Records as a task reads them."""
    count = len(values)
    columns: dict[str, Any] = {
        "key": [b"key"] * count,
        "value": values,
        "topic": ["orders"] * count,
        "partition": [partition] * count,
        "offset": range(start, start + count),
        "timestamp": [1_700_000_000_000_000] * count,
        "timestampType": [0] * count,
        "headers": [[]] * count,
    }
    arrays = [pa.array(columns[it.name], it.type) for it in RECORD_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)


class Run:
    """A table, its dead letters, and two partitions that are written batch by batch."""

    def __init__(self, form: str, folder: Path, partitioning: tuple[str, ...] = ()) -> None:
        self.values = JsonValues(tuple((name, parse(it)) for name, it in COLUMNS.items()))
        self.location = f"{form}:{folder / 'rows'}"
        self.rows = OpenTable(self.location, {}, ROWS)
        self.dead = OpenTable(f"{form}:{folder / 'dead'}", {}, DEAD)
        self.rows.create(self.values.schema, partitioning, Positions(CLUSTER, {}), "_")
        self.dead.create(DEAD_SCHEMA, (), Positions(CLUSTER, {}), "")
        self.account = Account()
        self._next = 0

    def batch(self, *partitions: list[bytes | None]) -> None:
        """One batch, committed: so many values for each partition."""
        size = len(partitions[0])
        start, self._next = self._next, self._next + size
        pieces = [
            OffsetRange("orders", TOPIC_ID, number, start, start + size, 1)
            for number in range(len(partitions))
        ]
        work = WriteRange(SOURCE, self.values, self.rows.layout(), self.dead.layout())

        def run(it: WriteRange, some: Any) -> list[Written]:
            return [written(it, piece, partitions[piece.partition]) for piece in some]

        done, _ = agreed(work, pieces, run)
        for it in done:
            it.account.check()
            self.account += it.account
        self.dead.append(CLUSTER, pieces, [file for it in done for file in it.dead_files])
        files = [file for it in done for file in it.files]
        self.rows.append(CLUSTER, pieces, files, schemas=[it.schema for it in done])


def written(work: WriteRange, of: OffsetRange, values: list[bytes | None]) -> Written:
    """What a task does with these values."""
    with RangeOutput(work, of) as output:
        for first in range(0, len(values), READ_AT_ONCE):
            some = values[first : first + READ_AT_ONCE]
            for records, converted in work.rows_of(
                records_at(of.start + first, of.partition, some), lambda: output.layout
            ):
                output.take(records, converted)
        return output.finish()


def hostile_run(
    form: str, folder: Path, count: int, *, seed: int, partitioning: tuple[str, ...] = ()
) -> Run:
    """So many values in two partitions, in batches of some thousands."""
    run = Run(form, folder, partitioning)
    size = min(2_000, count // 4)
    for number in range(count // (2 * size)):
        run.batch(*(hostile_values(size, seed + 2 * number + it, 0.5) for it in range(2)))
    assert run.account.read == count // (2 * size) * 2 * size
    return run


def main() -> None:
    """One format and way to partition, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--form", choices=FORMATS)
    parser.add_argument("--partition-by", choices=PARTITIONINGS)
    chosen = parser.parse_args()
    for form in (chosen.form,) if chosen.form else FORMATS:
        for by in (chosen.partition_by,) if chosen.partition_by else PARTITIONINGS:
            partitioning = () if by == "nothing" else (by,)
            with tempfile.TemporaryDirectory() as folder:
                run = hostile_run(
                    form, Path(folder), chosen.count, seed=chosen.seed, partitioning=partitioning
                )
                print(form, partitioning, run.account, flush=True)


if __name__ == "__main__":
    main()
