"""Batches of 100,000 changes into a table with one row for each key, beside MERGE on Delta.

`./dev test pipelines` makes the environment; then
`.venv-spark/bin/python benchmarks/spark_upsert.py [--rows 10000000] [--rounds 5] [--kind uniform]`.
One session with two slots does both, in turn; a tenth of a batch is new keys. Its updates are
among the newest twentieth of the keys, or anywhere. What the connector would take to read the
changes does not count: MERGE is given them in a Parquet file. Ours reads them from a topic, and the
broker works on the same two cores.

Bars: at least 1.5 times MERGE; a worker of at most 512 MB.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from time import perf_counter, time_ns
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from spark_world import BATCH_BYTES, World, new_topic, worker_memory, world

from odradek.client.blocking.client import BlockingClient
from odradek.model.ids import TopicPartition
from odradek.pipelines.definition.keyed import KEYED_FILE_BYTES
from odradek.pipelines.encoding.batches import Rows, encode
from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse as parse_type
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.reports import Account
from odradek.pipelines.source.options import Mode, parse
from tests.external import tools

KINDS: Final = ("newest", "uniform")
BATCH: Final = 100_000
NEW: Final = 0.1
NEWEST: Final = 0.05
LOADED: Final = 500_000
"""Rows of one batch while the table is filled."""
SENT: Final = 20_000
COLUMNS: Final = {"id": "long", "customer": "string", "amount": "double", "n": "long"}
DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


class Ours:
    """A table of ours, and one topic for all of its changes."""

    def __init__(self, where: World, name: str) -> None:
        self._where = where
        self._topic = new_topic(where, f"ours-{name}", 1)
        columns = tuple((it, parse_type(kind)) for it, kind in COLUMNS.items())
        options = {
            "kafka.bootstrap.servers": where.bootstrap,
            "subscribe": self._topic,
            "startingOffsets": "earliest",
            "minPartitions": "2",
        }
        self._job = Archive(
            parse(options, Mode.STREAM),
            f"delta:{where.folder / name}",
            values=Changes(JsonValues(columns, may_grow=False), ("id",)),
            keys=("id",),
            file_bytes=KEYED_FILE_BYTES,
        )

    def upsert(self, changes: pa.Table) -> Callable[[], Account]:
        """Sends changes to the topic; what it gives brings them into the table."""
        values = [json.dumps(it, separators=(",", ":")).encode() for it in changes.to_pylist()]
        keys = [b"%d" % it for it in changes.column("id").to_pylist()]
        with BlockingClient(self._where.bootstrap) as client:
            producer = client.producer()
            for first in range(0, len(values), SENT):
                some = slice(first, first + SENT)
                times = np.full(len(values[some]), time_ns() // 1_000_000, np.int64)
                rows = Rows(
                    pa.array(keys[some], pa.binary()), pa.array(values[some], pa.binary()), times
                )
                for batch in encode(rows, batch_bytes=BATCH_BYTES):
                    producer.send(TopicPartition(self._topic, 0), batch)
            producer.flush()

        def case() -> Account:
            done = archive(self._where.spark, self._job, Once())
            assert (done.read, done.dead) == (len(values), 0), done
            return done

        return case


class Merge:
    """A table of Delta's own runtime, changed by `MERGE`."""

    def __init__(self, where: World, name: str) -> None:
        self._where = where
        self._place = str(where.folder / f"merge-{name}")
        self._given = str(where.folder / f"given-{name}.parquet")

    def load(self, rows: pa.Table) -> None:
        """The table without changes."""
        pq.write_table(rows, self._given)
        frame = self._where.spark.read.parquet(self._given).repartitionByRange(2, "id")
        frame.sortWithinPartitions("id").write.format("delta").mode("append").save(self._place)

    def upsert(self, changes: pa.Table) -> Callable[[], None]:
        """Writes changes to a file; what it gives brings them into the table."""
        pq.write_table(changes, self._given)

        def case() -> None:
            self._where.spark.read.parquet(self._given).createOrReplaceTempView("changes")
            self._where.spark.sql(
                f"MERGE INTO delta.`{self._place}` t USING changes s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ).collect()

        return case

    def sums(self) -> list[tuple[int, int, int]]:
        """What both tables have to agree in."""
        return sums(self._where, self._place)


def sums(where: World, place: str) -> list[tuple[int, int, int]]:
    """Rows, and sums over them."""
    frame = where.spark.read.format("delta").load(place)
    return [tuple(it) for it in frame.selectExpr("count(*)", "sum(id)", "sum(n)").collect()]


def rows_of(ids: Any, chance: Any) -> pa.Table:
    """Some rows of a hundred bytes."""
    count = len(ids)
    customers = [f"customer-{it:07d}" for it in chance.integers(0, 10**7, count).tolist()]
    return pa.table(
        {
            "id": pa.array(ids),
            "customer": pa.array(customers),
            "amount": pa.array(chance.random(count)),
            "n": pa.array(chance.integers(0, 1_000, count)),
        }
    )


def changes_of(rows: int, chance: Any, *, is_uniform: bool) -> pa.Table:
    """One batch beside so many rows: no key twice, as MERGE wants it."""
    new = int(BATCH * NEW)
    first = 0 if is_uniform else int(rows * (1 - NEWEST))
    old = first + chance.permutation(rows - first)[: BATCH - new]
    return rows_of(np.concatenate([old, np.arange(rows, rows + new)]), chance)


def compare_upserts(where: World, name: str, rows: int, rounds: int) -> None:
    """One kind of changes."""
    chance = np.random.default_rng(7)
    ours, merge = Ours(where, name), Merge(where, name)
    for first in range(0, rows, LOADED):
        some = rows_of(np.arange(first, min(first + LOADED, rows)), chance)
        ours.upsert(some)()
        merge.load(some)
    ratios: list[float] = []
    seconds: dict[str, list[float]] = {"ours": [], "MERGE": []}
    total, memory = Account(), 0.0
    for number in range(rounds + 1):
        changes = changes_of(rows, chance, is_uniform=name == "uniform")
        rows += int(BATCH * NEW)
        one, other = ours.upsert(changes), merge.upsert(changes)
        started = perf_counter()
        done = one()
        between = perf_counter()
        memory = max(memory, worker_memory())  # idle workers end
        other()
        ended = perf_counter()
        if number:
            total += done
            seconds["ours"].append(between - started)
            seconds["MERGE"].append(ended - between)
            ratios.append((ended - between) / (between - started))
    assert sums(where, str(where.folder / name)) == merge.sums()
    told = ", ".join(f"{it} {median(those):.2f}" for it, those in seconds.items())
    print(f"{name}, {rows} rows: seconds of a batch: {told}", flush=True)
    print(
        f"{name}: MERGE / ours: min {min(ratios):.2f}, median {median(ratios):.2f}, "
        f"max {max(ratios):.2f}; {total.rewritten or 0:.1f} bytes rewritten for each byte changed; "
        f"the largest Python worker: {memory:.0f} MB",
        flush=True,
    )


def main() -> None:
    """Both kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=KINDS, action="append")
    chosen = parser.parse_args()
    with world(2, jars=tools.spark_delta(), conf=DELTA) as where:
        for name in chosen.kind or KINDS:
            compare_upserts(where, name, chosen.rows, chosen.rounds)


if __name__ == "__main__":
    main()
