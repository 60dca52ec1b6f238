"""How long it takes to delete the records of 100 partitions at once, as Kafka Streams does.

`python benchmarks/purge.py [--rounds N]`. Three brokers, three replicas of each partition, a log of
some records; one DeleteRecords for all of them, up to their ends. The answer comes when the starts
are durable at all replicas. The bar is 0.2 s for the median.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.live.cluster import LiveCluster

TOPIC: Final = "repartitioned"
PARTITIONS: Final = 100
RECORDS: Final = 20
BAR: Final = 0.2


def fill(producer: Producer) -> None:
    """So many records more in each partition, acknowledged by all replicas."""
    for partition in range(PARTITIONS):
        for _ in range(RECORDS):
            producer.produce(TOPIC, b"x" * 100, partition=partition)
    assert producer.flush(30) == 0


def purge(admin: AdminClient, end: int) -> float:
    """Seconds until each partition begins there."""
    asked = [TopicPartition(TOPIC, number, end) for number in range(PARTITIONS)]
    begun = perf_counter()
    starts = [it.result(30).low_watermark for it in admin.delete_records(asked).values()]
    took = perf_counter() - begun
    assert starts == [end] * PARTITIONS, starts
    return took


def main() -> None:
    """The first round, which opens connections, is told apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder, LiveCluster(Path(folder) / "cluster") as cluster:
        cluster.make(TOPIC, PARTITIONS)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        took = []
        for number in range(rounds + 1):
            fill(producer)
            took.append(purge(admin, (number + 1) * RECORDS))
    first, *others = took
    median = statistics.median(others)
    print(
        f"{PARTITIONS} partitions purged: min {min(others):.3f}, median {median:.3f},"
        f" max {max(others):.3f} s, the first {first:.3f} (bar {BAR})"
        f"  {'ok' if median <= BAR else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
