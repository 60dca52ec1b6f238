"""Our source beside Spark's own connector, in one session: a topic into nothing, seven columns.

`./dev test pipelines` makes the environment; then `.venv-spark/bin/python
benchmarks/spark_source.py [--slots 1] [--rounds 5] [--rows N] [--size 100]`. The broker runs on the
same two cores.

Bars, 100 B and 1 KB: one slot at least 2.5 times the connector's defaults and 1.4 times tuned; two
slots 2 times and 1.2 times. A trivial micro-batch at most 0.35 s. A Python worker at most 300 MB.
"""

import argparse
from collections.abc import Callable
from statistics import median

from spark_world import TUNED, World, compare, fill, reading, worker_memory, world


def to_nothing(where: World, form: str, topic: str, options: dict[str, str]) -> Callable[[], None]:
    """Reads all columns of all rows."""

    def case() -> None:
        reading(where, form, topic, **options).write.format("noop").mode("overwrite").save()

    return case


def micro_batches(where: World, topic: str) -> None:
    """The median duration of batches of eight records."""
    options = {
        "kafka.bootstrap.servers": where.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "8",
    }
    for form in ("odradek", "kafka"):
        stream = where.spark.readStream.format(form).options(**options).load()
        checkpoint = str(where.folder / f"checkpoint-{form}")
        query = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        while len(query.recentProgress) < 25:
            query.awaitTermination(1)
        durations = [it["durationMs"]["triggerExecution"] for it in query.recentProgress[5:]]
        query.stop()
        print(f"micro-batch of 8 records, {form}: median {median(durations):.0f} ms", flush=True)


def main() -> None:
    """Both sizes of values, then micro-batches and memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of 100 B; a sixth of 1 KB")
    parser.add_argument("--size", type=int, choices=(100, 1_000), help="only these values")
    chosen = parser.parse_args()
    with world(chosen.slots) as where:
        for size, count_of in ((100, chosen.rows), (1_000, chosen.rows // 6)):
            if chosen.size not in (None, size):
                continue
            rows = count_of - count_of % 8
            topic = fill(where, f"values-{size}", rows, size)
            cases = {
                "ours": to_nothing(where, "odradek", topic, {}),
                "defaults": to_nothing(where, "kafka", topic, {}),
                "tuned": to_nothing(where, "kafka", topic, dict(TUNED)),
            }
            compare(f"{size} B, {chosen.slots} slots, noop", rows, cases, chosen.rounds)
        print(f"the largest Python worker: {worker_memory():.0f} MB", flush=True)
        micro_batches(where, topic)


if __name__ == "__main__":
    main()
