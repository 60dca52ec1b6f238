"""JSON of 300 B into rows: ten fields, one of them nested, all columns declared.

`./dev test pipelines` makes the environment; then `.venv-spark/bin/python benchmarks/spark_json.py
[--rounds 5] [--rows N] [--alone]`. First a format by itself, one core, no Spark; then (without
`--alone`) a topic into a Delta table beside Spark's connector, `from_json` and its Parquet sink, in
one session with two slots, the broker on the same two cores; starting Spark does not count.

Bars: at least twice the connector; with one dead letter in a hundred at least 0.7 of a clean topic.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from time import process_time
from typing import Any, Final

from spark_world import PARTITIONS, World, compare, new_topic, reading, worker_memory, world

from odradek.client.blocking.client import BlockingClient
from odradek.model.ids import TopicPartition
from odradek.pipelines.encoding.batches import Rows, encode
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse as parse_type
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.values import Values
from odradek.pipelines.source.options import Mode, parse

COLUMNS: Final = {
    "id": "long",
    "customer": "string",
    "amount": "double",
    "price": "decimal(12,2)",
    "at": "timestamp",
    "active": "boolean",
    "count": "int",
    "note": "string",
    "region": "string",
    "address": "struct<street: string, zip: string, lat: double>",
}
BATCH: Final = 5_000
DEAD: Final = (b"no order", b'{"id": "x"}', b'{"count": 3000000000}', b'{"price": "dear"}', b"{")


def orders(count: int, dead: float = 0.0) -> list[bytes]:
    """So many values, of which about this part gives no row."""
    chance = Random(7)
    return [
        chance.choice(DEAD) if chance.random() < dead else _order(it, chance) for it in range(count)
    ]


def _order(number: int, chance: Random) -> bytes:
    order = {
        "id": chance.getrandbits(62),
        "customer": f"customer-{chance.randrange(10**6):07d}",
        "amount": round(chance.random() * 1e4, 2),
        "price": chance.randrange(10**6) / 100,
        "at": f"2026-01-{1 + number % 28:02d}T10:{number % 60:02d}:00.{number % 1_000:03d}Z",
        "active": number % 2 == 0,
        "count": number % (1 << 31),
        "note": "x" * 50,
        "region": "eu-central-1",
        "address": {"street": f"Long Street {number % 100}", "zip": "10999", "lat": 52.5},
    }
    return json.dumps(order, separators=(",", ":")).encode()


def format_of_orders() -> JsonValues:
    """With all columns."""
    return JsonValues(tuple((name, parse_type(it)) for name, it in COLUMNS.items()))


def alone(rounds: int) -> None:
    """How many records one core turns into rows."""
    from tests.pipelines.formats.records import records

    made = format_of_orders()
    for title, dead in (("clean", 0.0), ("1 % dead", 0.01)):
        values = orders(40_000, dead)
        batches = [records(values[at : at + BATCH]) for at in range(0, len(values), BATCH)]
        seconds = []
        for _ in range(rounds):
            started = process_time()
            for batch in batches:
                made.convert(batch, made.schema)
            seconds.append(process_time() - started)
        size = sum(map(len, values)) / len(values)
        speed = len(values) / median(seconds) / 1e6
        print(f"JSON of {size:.0f} B to rows, {title}: {speed:.3f} M records/s", flush=True)


def fill(where: World, name: str, values: Sequence[bytes]) -> str:
    """A topic of these values."""
    import numpy as np
    import pyarrow as pa

    new_topic(where, name)
    with BlockingClient(where.bootstrap) as client:
        producer = client.producer()
        for partition in range(PARTITIONS):
            mine = values[partition::PARTITIONS]
            for first in range(0, len(mine), BATCH):
                some = mine[first : first + BATCH]
                keys = pa.array([b"key"] * len(some), pa.binary())
                times = np.full(len(some), 1_700_000_000_000, np.int64)
                rows = Rows(keys, pa.array(some, pa.binary()), times)
                for batch in encode(rows, batch_bytes=54_000):
                    producer.send(TopicPartition(name, partition), batch)
        producer.flush()
    return name


def archiving(where: World, topic: str, rows: int, values: Values) -> Callable[[], None]:
    """Into a new Delta table, dead letters into another."""
    options = {
        "kafka.bootstrap.servers": where.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }
    source = parse(options, Mode.STREAM)

    def case() -> None:
        for name in ("delta", "dead"):
            shutil.rmtree(where.folder / name, ignore_errors=True)
        letters = DeadLetterTable(f"delta:{where.folder / 'dead'}")
        table = f"delta:{where.folder / 'delta'}"
        job = Archive(source, table, values=values, dead_letters=letters)
        done = archive(where.spark, job, Once())
        assert done.read == rows, done

    return case


def connecting(where: World, topic: str) -> Callable[[], None]:
    """Spark's connector, `from_json`, Spark's Parquet sink."""

    def case() -> None:
        from pyspark.sql.functions import col, from_json

        schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        frame: Any = reading(where, "kafka", topic)
        parsed = frame.select(
            from_json(col("value").cast("string"), schema).alias("it"),
            *("topic", "partition", "offset", "timestamp", "key"),
        )
        writer = parsed.select("it.*", "topic", "partition", "offset", "timestamp", "key").write
        writer.mode("overwrite").option("compression", "zstd").parquet(str(where.folder / "spark"))

    return case


def main() -> None:
    """The format alone, then all of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--alone", action="store_true")
    chosen = parser.parse_args()
    alone(chosen.rounds)
    if chosen.alone:
        return
    rows = chosen.rows - chosen.rows % PARTITIONS
    with world(2) as where:
        clean = fill(where, "clean", orders(rows))
        dirty = fill(where, "dirty", orders(rows, 0.01))
        cases = {
            "ours": archiving(where, clean, rows, format_of_orders()),
            "connector": connecting(where, clean),
            "ours with 1 % dead": archiving(where, dirty, rows, format_of_orders()),
        }
        compare("JSON of 300 B", rows, cases, chosen.rounds)
        print(f"the largest Python worker: {worker_memory():.0f} MB", flush=True)


if __name__ == "__main__":
    main()
