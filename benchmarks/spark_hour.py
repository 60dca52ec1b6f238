"""An archive that runs on: a thousand rows a second, a batch a second, for as long as is asked.

`./dev test pipelines` makes the environment; then `.venv-spark/bin/python
benchmarks/spark_hour.py [--seconds 3600] [--rate 1000]`. Broker, producer, Spark and the table are
on the same two cores.

Bar: the duration of a batch and the count of files stay level. Shown are five stretches of the run;
at the end every record that was sent is one row of the table.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from threading import Event, Thread
from time import monotonic, sleep

from confluent_kafka import Producer
from spark_world import World, new_topic, world

from odradek.model.units import Millis
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.triggers import Every
from odradek.pipelines.moving.opening import ROWS, OpenTable
from odradek.pipelines.moving.reports import BatchReport
from odradek.pipelines.source.options import Mode, parse

PARTITIONS = 4
SLICES = 10  # of a second
STRETCHES = 5
PAGE_KB = 4


class Load(Thread):
    """Sends so many records a second until it is told to end."""

    def __init__(self, bootstrap: str, topic: str, rate: int) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
        self._topic = topic
        self._rate = rate
        self.ending = Event()
        self.sent = 0

    def run(self) -> None:
        """A tenth of a second's records at a time."""
        began = monotonic()
        while not self.ending.is_set():
            due = int((monotonic() - began) * self._rate)
            for number in range(self.sent, due):
                self._producer.produce(self._topic, b"%0100d" % number, key=b"k%d" % (number % 99))
            self.sent = max(due, self.sent)
            self._producer.poll(0)
            sleep(1 / SLICES)
        assert self._producer.flush(60) == 0


def files_on_disk(folder: Path) -> int:
    """Also those that older versions still need."""
    return sum(1 for _ in folder.rglob("rows.*.parquet"))


def resident_mb() -> int:
    """Of this process."""
    return int(Path(f"/proc/{os.getpid()}/statm").read_text().split()[1]) * PAGE_KB >> 10


def run(where: World, seconds: int, rate: int, keep_ms: int) -> None:
    """Archives while records come, and what comes after them."""
    topic = new_topic(where, "hour", PARTITIONS)
    table = where.folder / "lake"
    given = {
        "kafka.bootstrap.servers": where.bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    job = Archive(parse(given, Mode.STREAM), f"delta:{table}", keep_ms=keep_ms)
    load, stopping = Load(where.bootstrap, topic, rate), Event()
    began, seen = monotonic(), []

    def note(report: BatchReport) -> None:
        at = monotonic() - began
        row = at, report.duration_ms, len(opened_files(job.table)), files_on_disk(table)
        seen.append((*row, resident_mb()))

    def finish() -> None:
        sleep(seconds)
        load.ending.set()
        load.join()
        while written(job.table) < load.sent:
            sleep(1)
        stopping.set()

    load.start()
    Thread(target=finish, daemon=True).start()
    archive(where.spark, job, Every(Millis(1_000)), on_batch=note, stopping=stopping)
    tell(seen)
    rows = written(job.table)
    print(f"{load.sent} records sent, {rows} rows in the table", flush=True)
    assert rows == load.sent


def opened_files(table: str) -> tuple[object, ...]:
    """Of the newest version."""
    opened = OpenTable(table, {}, ROWS)
    return opened.table.files(opened.snapshot)


def written(table: str) -> int:
    """Rows of the newest version."""
    opened = OpenTable(table, {}, ROWS)
    return sum(it.rows for it in opened.table.files(opened.snapshot))


def tell(seen: Sequence[tuple[float, int, int, int, int]]) -> None:
    """Five stretches of equal length; the first batch warms up."""
    rows = seen[1:]
    size = -(-len(rows) // STRETCHES)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        durations = sorted(it[1] for it in part)
        files = [it[2] for it in part]
        print(
            f"{part[0][0]:6.0f} to {part[-1][0]:6.0f} s: {len(part)} batches, ms: least "
            f"{durations[0]}, median {median(durations):.0f}, most {durations[-1]}; files "
            f"{min(files)} to {max(files)}, on the disk {part[-1][3]}; driver {part[-1][4]} MB",
            flush=True,
        )


def main() -> None:
    """As long as is asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3_600)
    parser.add_argument("--rate", type=int, default=1_000, help="records a second")
    parser.add_argument("--keep", type=int, default=120, help="seconds that old versions are kept")
    chosen = parser.parse_args()
    with world(2) as where:
        run(where, chosen.seconds, chosen.rate, chosen.keep * 1_000)


if __name__ == "__main__":
    main()
