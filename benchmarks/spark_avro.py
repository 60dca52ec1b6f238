"""Avro behind the number of its schema into rows: the order of `spark_json.py`, with a registry.

`./dev test pipelines` makes the environment; then `ODRADEK_INSTALL=yes .venv-spark/bin/python
benchmarks/spark_avro.py [--rounds 5] [--rows N] [--alone]`. First the format by itself, one core,
no Spark; then (without `--alone`) a topic into a Delta table beside Spark's connector, `from_avro`
with the schema given and Spark's Parquet sink, in one session with two slots, the broker on the
same two cores; starting Spark does not count.

Bar: at least as fast as the connector, and better twice.
"""

import argparse
import io
import json
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from statistics import median
from time import process_time
from typing import Any, Final

import fastavro
from spark_json import BATCH, archiving, fill
from spark_world import PARTITIONS, World, compare, reading, worker_memory, world

from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.registry import SchemaRegistry
from tests.external import tools

NUMBER: Final = 7
HEAD: Final = struct.pack(">bI", 0, NUMBER)
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "active", "type": "boolean"},
        {"name": "count", "type": "int"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "region", "type": "string"},
        {
            "name": "address",
            "type": {
                "type": "record",
                "name": "Address",
                "fields": [
                    {"name": "street", "type": "string"},
                    {"name": "zip", "type": "string"},
                    {"name": "lat", "type": "double"},
                ],
            },
        },
    ],
}


class Registry(BaseHTTPRequestHandler):
    """Knows the one schema."""

    def do_GET(self) -> None:
        """It, whatever is asked."""
        body = json.dumps({"schema": json.dumps(SCHEMA)}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def registry() -> Iterator[SchemaRegistry]:
    """One that answers meanwhile."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield SchemaRegistry(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


def orders(count: int) -> list[bytes]:
    """So many values."""
    chance = Random(7)
    schema = fastavro.parse_schema(dict(SCHEMA))
    found = []
    for number in range(count):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, _order(number, chance))
        found.append(HEAD + out.getvalue())
    return found


def _order(number: int, chance: Random) -> dict[str, Any]:
    return {
        "id": chance.getrandbits(62),
        "customer": f"customer-{chance.randrange(10**6):07d}",
        "amount": round(chance.random() * 1e4, 2),
        "price": Decimal(chance.randrange(10**6)).scaleb(-2),
        "at": datetime(2026, 1, 1 + number % 28, 10, number % 60, tzinfo=UTC),
        "active": number % 2 == 0,
        "count": number % (1 << 31),
        "note": "x" * 50,
        "region": "eu-central-1",
        "address": {"street": f"Long Street {number % 100}", "zip": "10999", "lat": 52.5},
    }


def alone(format_: AvroValues, rounds: int) -> None:
    """How many records one core turns into rows."""
    from tests.pipelines.formats.records import records

    values = orders(40_000)
    batches = [records(values[at : at + BATCH]) for at in range(0, len(values), BATCH)]
    seconds = []
    for _ in range(rounds):
        started = process_time()
        for batch in batches:
            assert not format_.convert(batch, format_.schema).dead
        seconds.append(process_time() - started)
    size = sum(map(len, values)) / len(values)
    speed = len(values) / median(seconds) / 1e6
    print(f"Avro of {size:.0f} B to rows: {speed:.3f} M records/s", flush=True)


def connecting(where: World, topic: str) -> Callable[[], None]:
    """Spark's connector, `from_avro`, Spark's Parquet sink."""

    def case() -> None:
        from pyspark.sql.avro.functions import from_avro
        from pyspark.sql.functions import col, expr

        frame: Any = reading(where, "kafka", topic)
        parsed = frame.select(
            from_avro(expr("substring(value, 6)"), json.dumps(SCHEMA)).alias("it"),
            *("topic", "partition", "offset", "timestamp", "key"),
        )
        rows = parsed.select(col("it.*"), "topic", "partition", "offset", "timestamp", "key")
        writer = rows.write.mode("overwrite").option("compression", "zstd")
        writer.parquet(str(where.folder / "spark"))

    return case


def main() -> None:
    """The format alone, then all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--alone", action="store_true")
    chosen = parser.parse_args()
    with registry() as known:
        format_ = avro_values(known, ("orders",))
        alone(format_, chosen.rounds)
        if chosen.alone:
            return
        rows = chosen.rows - chosen.rows % PARTITIONS
        with world(2, jars=tools.spark_avro()) as where:
            topic = fill(where, "orders", orders(rows))
            cases = {
                "ours": archiving(where, topic, rows, format_),
                "connector": connecting(where, topic),
            }
            compare("Avro", rows, cases, chosen.rounds)
            print(f"the largest Python worker: {worker_memory():.0f} MB", flush=True)


if __name__ == "__main__":
    main()
