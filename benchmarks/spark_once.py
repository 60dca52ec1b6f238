"""The sink with `exactlyOnce` beside the idempotent one: the same rows of a topic into another.

`./dev test pipelines` makes the environment; then `ODRADEK_INSTALL=yes .venv-spark/bin/python
benchmarks/spark_once.py [--rows N] [--size BYTES] [--rounds N]`. One session with two slots, the
broker on the same two cores; starting Spark does not count. One round is one micro-batch.

Bar: at least 0.8 times as fast as the idempotent one.
"""

import argparse
from itertools import count
from typing import Any

from spark_world import compare, fill, new_topic, reading, world

from odradek.pipelines.exactly_once import MicroBatch
from odradek.pipelines.sink.options import parse
from odradek.pipelines.sink.transactions import Transactions


def main() -> None:
    """Both sinks, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with world(2) as where:
        topic = fill(where, "source", chosen.rows, chosen.size)
        options = {"kafka.bootstrap.servers": where.bootstrap}
        plain, once = new_topic(where, "plain"), new_topic(where, "once")
        name = {"exactlyOnce": "true", "kafka.transactional.id": once}
        transactions = Transactions(parse({**options, **name, "topic": once}))
        numbers = count()

        def rows() -> Any:
            return reading(where, "odradek", topic).select("key", "value")

        def exactly_once() -> None:
            batch = MicroBatch(transactions, "benchmark", next(numbers))
            assert batch.write(rows(), where.spark.sparkContext)

        def idempotent() -> None:
            sink = rows().write.format("odradek").options(**options, topic=plain)
            sink.mode("append").save()

        cases = {"exactlyOnce": exactly_once, "idempotent": idempotent}
        compare(f"{chosen.size} B into a topic", chosen.rows, cases, chosen.rounds)
        transactions.close()


if __name__ == "__main__":
    main()
