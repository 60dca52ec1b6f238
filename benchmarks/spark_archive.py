"""Archives beside Spark's own connector and Parquet sink, and replays beside its topic sink.

`./dev test pipelines` makes the environment; then `.venv-spark/bin/python
benchmarks/spark_archive.py [--rounds 5] [--rows N] [--format iceberg] [--bar]`. One session with
two slots, the broker on the same two cores; starting Spark does not count.

Bars: archive at least 2.5 times the tuned connector into Parquet, and 7 times its defaults with
values of 100 B, 4 times with 1 KB; replay at least 2 times the connector's sink. A batch of eight
records at most 0.35 s, in a session that has run for a while. A Python worker at most 300 MB.
"""

import argparse
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

from spark_world import TUNED, World, compare, fill, new_topic, reading, worker_memory, world

from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.moving.replaying.replay import Replay, replay
from odradek.pipelines.sink.options import parse as sink_options
from odradek.pipelines.source.options import Mode, parse

SMALL_BATCHES: Final = 60


def table_of(where: World, form: str) -> tuple[Path, str]:
    """Where the archive lies, and its location."""
    folder = where.folder / form
    return folder, f"{form}:{folder}{'/' if form == 'iceberg' else ''}"


def archiving(where: World, topic: str, rows: int, form: str) -> Callable[[], None]:
    """Into a new table."""
    source = parse(
        {
            "kafka.bootstrap.servers": where.bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
        },
        Mode.STREAM,
    )

    def case() -> None:
        folder, table = table_of(where, form)
        shutil.rmtree(folder, ignore_errors=True)
        done = archive(where.spark, Archive(source, table), Once())
        assert done.written == rows, done

    return case


def connecting(where: World, topic: str, options: dict[str, str]) -> Callable[[], None]:
    """Spark's connector into Spark's Parquet sink."""

    def case() -> None:
        frame = reading(where, "kafka", topic, **options)
        writer = frame.write.mode("overwrite").option("compression", "zstd")
        writer.parquet(str(where.folder / "spark"))

    return case


def replaying(where: World, rows: int, form: str) -> Callable[[], None]:
    """The table into a new topic."""
    numbers = count()

    def case() -> None:
        topic = new_topic(where, f"replayed-{rows}-{next(numbers)}")
        sink = sink_options({"kafka.bootstrap.servers": where.bootstrap, "topic": topic})
        done = replay(where.spark, Replay(table_of(where, form)[1], sink))
        assert done.sent == rows, done

    return case


def sending(where: World, rows: int, options: dict[str, str]) -> Callable[[], None]:
    """The files that the connector read, through the connector into a new topic."""
    numbers = count()

    def case() -> None:
        topic = new_topic(where, f"sent-{rows}-{len(options)}-{next(numbers)}")
        frame = where.spark.read.parquet(str(where.folder / "spark"))
        chosen = {"kafka.bootstrap.servers": where.bootstrap, "topic": topic, **options}
        rows_of = frame.select("key", "value", "partition")
        rows_of.write.format("kafka").options(**chosen).mode("append").save()

    return case


def small_batches(where: World, form: str) -> None:
    """The median duration of an archive's batches of eight records."""
    topic = fill(where, "small", 8 * SMALL_BATCHES, 100)
    source = parse(
        {
            "kafka.bootstrap.servers": where.bootstrap,
            "subscribe": topic,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "8",
        },
        Mode.STREAM,
    )
    durations: list[int] = []
    job = Archive(source, f"{form}:{where.folder / 'small'}/", merge_after=None)
    archive(where.spark, job, Once(), on_batch=lambda it: durations.append(it.duration_ms))
    told = f"median {median(durations[5:]):.0f} ms, of {min(durations)} to {max(durations)}"
    print(f"archive into {form}, {len(durations)} batches of 8 records: {told}", flush=True)


def main() -> None:
    """Both sizes of values."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of 100 B; a sixth of 1 KB")
    parser.add_argument("--size", type=int, choices=(100, 1_000), help="only these values")
    parser.add_argument("--format", choices=("delta", "iceberg", "parquet"), default="delta")
    parser.add_argument("--bar", action="store_true", help="archives beside the defaults alone")
    chosen = parser.parse_args()
    form = chosen.format
    with world(2) as where:
        for size, count_of in ((100, chosen.rows), (1_000, chosen.rows // 6)):
            if chosen.size not in (None, size):
                continue
            rows = count_of - count_of % 8
            topic = fill(where, f"values-{size}", rows, size)
            archives = {
                "ours": archiving(where, topic, rows, form),
                "defaults": connecting(where, topic, {}),
                "tuned": connecting(where, topic, dict(TUNED)),
            }
            if chosen.bar:
                archives.pop("tuned")
            compare(f"{size} B, archive into {form}", rows, archives, chosen.rounds)
            if chosen.bar:
                continue
            batching = {"kafka.linger.ms": "5", "kafka.batch.size": str(128 << 10)}
            compare(
                f"{size} B, replay",
                rows,
                {
                    "ours": replaying(where, rows, form),
                    "defaults": sending(where, rows, {}),
                    "tuned": sending(where, rows, batching),
                },
                chosen.rounds,
            )
        print(f"the largest Python worker: {worker_memory():.0f} MB", flush=True)
        if not chosen.bar:
            small_batches(where, form)


if __name__ == "__main__":
    main()
