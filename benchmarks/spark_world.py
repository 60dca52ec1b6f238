"""What the benchmarks of Spark share: a broker of ours, a full topic, one session, rounds in turn.

Ratios are taken within a round and their median is shown: this kind of machine changes its speed
by a quarter within minutes.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, time_ns
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.client.blocking.client import BlockingClient
from odradek.model.ids import TopicPartition
from odradek.pipelines import session
from odradek.pipelines.decoding.fields import COMPILED
from odradek.pipelines.encoding.batches import Rows, encode
from tests.compat.broker_process import OdradekBroker
from tests.external import tools

PARTITIONS: Final = 8
BATCH_BYTES: Final = 54_000  # about 455 records of 100 B, as producers with some linger send
ROWS_AT_ONCE: Final = 20_000
TUNED: Final[Mapping[str, str]] = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
    "kafka.fetch.max.wait.ms": "10",
}

NO_CONF: Final[Mapping[str, str]] = {}


class World(NamedTuple):
    """Everything that a case needs."""

    spark: Any
    bootstrap: str
    folder: Path


@contextmanager
def world(slots: int, *, jars: str = "", conf: Mapping[str, str] = NO_CONF) -> Iterator[World]:
    """A session with Spark's own connector beside our source, and a broker."""
    with tempfile.TemporaryDirectory(dir=".cache") as place:
        folder = Path(place).absolute()
        broker = OdradekBroker(folder / "broker")
        broker.start()
        spark = session(
            f"local[{slots}]",
            conf={
                "spark.jars": ",".join(filter(None, [tools.spark_connector(), jars])),
                "spark.driver.memory": "2g",
                "spark.local.dir": str(folder / "local"),
                "spark.sql.shuffle.partitions": "2",
                **conf,
            },
        )
        spark.sparkContext.setLogLevel("OFF")
        how = "compiled" if COMPILED else "in plain Python: `python hatch_build.py` compiles it"
        print(f"records are decoded {how}", flush=True)
        try:
            yield World(spark, broker.bootstrap, folder)
        finally:
            spark.stop()
            broker.stop()


def new_topic(where: World, name: str, partitions: int = PARTITIONS) -> str:
    """An empty topic."""
    admin = AdminClient({"bootstrap.servers": where.bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
    return name


def fill(where: World, name: str, count: int, value_bytes: int) -> str:
    """A topic of random values, the same number in each partition."""
    new_topic(where, name)
    chance = np.random.default_rng(7)
    each = count // PARTITIONS
    with BlockingClient(where.bootstrap) as client:
        producer = client.producer()
        for partition in range(PARTITIONS):
            for first in range(0, each, ROWS_AT_ONCE):
                size = min(ROWS_AT_ONCE, each - first)
                data = chance.bytes(size * value_bytes)
                offsets = np.arange(0, (size + 1) * value_bytes, value_bytes, dtype=np.int32)
                values = pa.Array.from_buffers(
                    pa.binary(), size, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
                )
                keys = pa.array([b"key-%06d" % (first + it) for it in range(size)], pa.binary())
                times = np.full(size, time_ns() // 1_000_000, np.int64)
                for batch in encode(Rows(keys, values, times), batch_bytes=BATCH_BYTES):
                    producer.send(TopicPartition(name, partition), batch)
        producer.flush()
    return name


def reading(where: World, form: str, topic: str, **more: str) -> Any:
    """A batch reader."""
    options = {"kafka.bootstrap.servers": where.bootstrap, "subscribe": topic, **more}
    return where.spark.read.format(form).options(**options).load()


def compare(title: str, rows: int, cases: Mapping[str, Callable[[], None]], rounds: int) -> None:
    """Runs the cases in turn; the first one is ours. The first round warms up.

    Ratios are of time, and of what all processes used of the processors: where others work on the
    same machine the second says more.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    used: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds + 1):
        for name, case in cases.items():
            started, before = perf_counter(), cpu_seconds()
            case()
            if number:
                seconds[name].append(perf_counter() - started)
                used[name].append(cpu_seconds() - before)
    ours, *others = cases
    speeds = ", ".join(f"{it} {rows / median(seconds[it]) / 1e6:.3f}" for it in cases)
    print(f"{title}: M rows/s: {speeds}", flush=True)
    costs = ", ".join(f"{it} {median(used[it]) / rows * 1e6:.2f}" for it in cases)
    print(f"{title}: CPU µs a row: {costs}", flush=True)
    for name in others:
        for what, of in (("time", seconds), ("CPU", used)):
            ratios = [b / a for a, b in zip(of[ours], of[name], strict=True)]
            print(
                f"{title}: {name} / {ours} in {what}: min {min(ratios):.2f}, "
                f"median {median(ratios):.2f}, max {max(ratios):.2f}",
                flush=True,
            )


def cpu_seconds() -> float:
    """Of this process and of all that descend from it: the driver, Java, workers, the broker."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))  # with children that ended
    me, total = os.getpid(), 0
    for number, count in ticks.items():
        above = number
        while above not in {me, 0}:
            above = parents.get(above, 0)
        total += count if above == me else 0
    return total / os.sysconf("SC_CLK_TCK")


def worker_memory() -> float:
    """The largest peak of a Python worker, in MB."""
    peaks = [0.0]
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes()
                status = (folder / "status").read_text() if b"pyspark.daemon" in line else ""
            except OSError:
                continue
            found: Any = [it for it in status.splitlines() if it.startswith("VmHWM")]
            peaks += [int(it.split()[1]) / 1_024 for it in found]
    return max(peaks)
