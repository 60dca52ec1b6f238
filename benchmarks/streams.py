"""Words counted by Kafka's newest Streams, `exactly_once_v2`: a case of `transactions`.

Each record of the source makes one of its word and the count, by way of a topic of its own and a
state that is kept in another one. The time is from the first count that a reader of committed
records has to the last one, so that the JVM's start does not matter; CPU is that of the brokers
meanwhile. On a broker at level 0 it speaks version 1 of transactions, and so it does on both.
"""

import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.cluster import PARTITIONS, Cluster
from benchmarks.in_turns import Figures
from tests.external import tools

WORDS: Final = 60_000
DIFFERENT: Final = 10  # last letters
STREAMS_SECONDS_MAX: Final = 90
SETTINGS: Final = (
    "replication.factor=3",
    "consumer.max.poll.records=500",
    "num.stream.threads=2",
)


def counted(cluster: Cluster, topic: str) -> Figures:
    """All words of a topic."""
    target = f"{topic}-counts"
    for name in (topic, target):
        cluster.make(name)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 5})
    for number in range(WORDS):
        producer.produce(topic, f"word{number % DIFFERENT}")
        producer.poll(0)
    assert producer.flush(60) == 0, "not all was delivered"
    with _streams(cluster, topic, target):
        found = 0
        began = end = before = 0.0
        for count in _committed(cluster, target):
            found += count
            end = perf_counter()
            if not began:
                began, before, first = end, sum(cluster.cpu()), found
            if found >= WORDS:
                break
        assert found == WORDS, f"{found} counts of {WORDS} words"
        rest = WORDS - first
        busy = sum(cluster.cpu()) - before
    return {"word/s": rest / (end - began), "us/word": busy / rest * 1e6}


def _committed(cluster: Cluster, target: str) -> Iterator[int]:
    """How many more there are, until it has taken too long."""
    how = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": target,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    }
    consumer = Consumer(how)
    consumer.assign([TopicPartition(target, it, 0) for it in range(PARTITIONS)])
    end = perf_counter() + STREAMS_SECONDS_MAX
    while perf_counter() < end:
        messages = consumer.consume(1_000, 0.05)
        assert not any(it.error() for it in messages), messages
        if messages:
            yield len(messages)
    consumer.close()


@contextmanager
def _streams(cluster: Cluster, source: str, target: str) -> Iterator[None]:
    """The program, while it is needed."""
    with tempfile.TemporaryDirectory() as state:
        options = ("-Xmx512m", f"-Dstate={state}", "-cp", tools.newest_clients())
        about = (cluster.bootstrap, source, target, f"{source}-counter")
        program = str(tools.COPIERS / "Counter.java")
        command = [tools.java(), *options, program, *about, *SETTINGS]
        with (Path(state) / "said").open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            yield
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
