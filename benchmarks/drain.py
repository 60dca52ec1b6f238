"""What a drain takes: with a throttle the bytes divided by its rate, within 5 %; without, no more.

    python benchmarks/drain.py [--only throttled|free|kafka] [--bytes N] [--partitions N]
        [--rate 20M]

Four brokers; every partition lies on 1, 2 and 3, so that all that leaves broker 3 goes to 4. The
time is that of the verb, its start included. Beside it four of Kafka's brokers, on the same disk
and the same ZooKeeper, are asked for the same reassignments by `odradek partition reassign`; the
bar is 1.0 of their time. Without `--only` all three are measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))  # the clusters of the live tests

from confluent_kafka import Producer

from tests.external.kafka import RealKafka
from tests.external.tools import kafka_classpath
from tests.live.cluster import LiveCluster

ROOT = Path(__file__).parent.parent
RECORD_BYTES = 10_000
BAR = 0.05
SETTINGS = {"min.insync.replicas": "1"}
UNITS = {"K": 1 << 10, "M": 1 << 20}


def filled(cluster: LiveCluster, partitions: int, size: int) -> int:
    """A topic of so many bytes; how many bytes a broker of ours holds of it."""
    rotated = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    cluster.place("orders", *(rotated[number % 3] for number in range(partitions)))
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 20})
    for number in range(size // RECORD_BYTES):
        producer.produce("orders", os.urandom(RECORD_BYTES), partition=number % partitions)
        producer.poll(0)
        if not number % 1_000:
            producer.flush()
    producer.flush()
    cluster.await_isr("orders", 3)
    if not cluster.brokers:
        return size
    logs = cluster.brokers[3].directory.glob("disk-*/orders-*/*.log")
    return sum(log.stat().st_size for log in logs)


def call(cluster: LiveCluster, *words: str) -> float:
    """Seconds until a verb has ended."""
    variables = {"ODRADEK_BOOTSTRAP": cluster.bootstrap, "PYTHONPATH": str(ROOT / "src")}
    started = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "odradek", *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return perf_counter() - started


def ours(asked: argparse.Namespace) -> float | None:
    """With a throttle, and without: then the seconds."""
    rate = int(asked.rate[:-1]) * UNITS[asked.rate[-1]]
    with (
        tempfile.TemporaryDirectory() as folder,
        LiveCluster(Path(folder) / "cluster", 4, SETTINGS) as cluster,
    ):
        size = filled(cluster, asked.partitions, asked.bytes)
        if asked.only in {None, "throttled"}:
            took = call(cluster, "broker", "drain", "3", "--throttle", asked.rate)
            share = took / (size / rate)
            told = f"{took:.2f} s of {size / rate:.2f} s, {share:.3f} (bar {1 - BAR} to {1 + BAR})"
            print(f"throttled, {size} bytes at {asked.rate}: {told}")
            call(cluster, "broker", "undrain", "3")
            cluster.await_isr("orders", 3)
        if asked.only == "throttled":
            return None
        took = call(cluster, "broker", "drain", "3")
        print(f"free, {size} bytes: {took:.2f} s, {size / took / 1e6:.0f} MB/s")
        return took


def kafkas(asked: argparse.Namespace) -> float:
    """The seconds of the same reassignments among Kafka's brokers, in JVMs as its scripts start."""
    RealKafka.options = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
    with (
        tempfile.TemporaryDirectory() as folder,
        LiveCluster(Path(folder) / "cluster", 0, SETTINGS) as cluster,
    ):
        for number in (1, 2, 3, 4):
            cluster.add_kafka(number, kafka_classpath())
        size = filled(cluster, asked.partitions, asked.bytes)
        took = call(cluster, "partition", "reassign", "orders", "--without", "3")
        print(f"Kafka, {size} bytes: {took:.2f} s, {size / took / 1e6:.0f} MB/s")
        return took


def main() -> None:
    """One cluster after the other: each has the machine for itself."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["throttled", "free", "kafka"])
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--rate", default="20M")
    asked = parser.parse_args()
    mine = ours(asked) if asked.only != "kafka" else None
    theirs = kafkas(asked) if asked.only in {None, "kafka"} else None
    if mine is not None and theirs is not None:
        print(f"free is {mine / theirs:.2f} of Kafka's (bar 1.0)")


if __name__ == "__main__":
    main()
