"""How long a test waits for its brokers: `odradek.testing`, with confluent-kafka as the client.

The first case has the imports in it, and is a process of its own. The bars, on a quiet machine: to
the first acknowledged record 300 ms, later 100 ms; a cluster of three with a topic in sync 600 ms;
from a kill to the next acknowledged record 300 ms; the end 50 ms.
"""

import itertools
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import confluent_kafka

ROUNDS = 10
FIRST = "import benchmarks.testing as it; print(it.first_record(1)[0])"

Client = confluent_kafka.Producer


def main() -> None:
    """Prints a line for each case: the median and the worst, in milliseconds."""
    fresh = [float(_said([sys.executable, "-c", FIRST])) for _ in range(ROUNDS)]
    show("first record, with imports", fresh)
    later = [first_record(1) for _ in range(ROUNDS)]
    show("first record, later", [it[0] for it in later])
    show("end of one broker", [it[1] for it in later])
    show("three brokers, a topic in sync", [cluster() for _ in range(ROUNDS)])
    show("kill to the next record", [killed() for _ in range(ROUNDS)])
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


def show(case: str, millis: list[float]) -> None:
    """One line."""
    print(f"{case:32} median {statistics.median(millis):6.0f} ms, worst {max(millis):6.0f} ms")


def first_record(brokers: int) -> tuple[float, float]:
    """Until it is acknowledged, and then until nothing is left."""
    begun = time.perf_counter()
    from odradek.testing import cluster as running

    with running(brokers) as c:
        topic = c.topic("orders")
        producer = Client({"bootstrap.servers": c.bootstrap, "acks": "all", "linger.ms": 0})
        acknowledged = _acknowledged(producer, topic)
        took = acknowledged - begun
        del producer
        ending = time.perf_counter()
    return took * 1_000, (time.perf_counter() - ending) * 1_000


def cluster() -> float:
    """Until every replica of a topic is in sync."""
    from odradek.testing import cluster as running

    begun = time.perf_counter()
    with running(3) as c:
        c.topic("orders")
        return (time.perf_counter() - begun) * 1_000


def killed() -> float:
    """The longest gap between acknowledgements while a producer goes on and its leader dies."""
    from odradek.testing import cluster as running

    with running(3) as c:
        topic = c.topic("orders")
        settings = {"bootstrap.servers": c.bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0}
        producer = Client(settings)
        moments = [_acknowledged(producer, topic)]
        note: Callable[..., None] = lambda *_: moments.append(time.perf_counter())  # noqa: E731
        end = time.perf_counter() + 1.5
        leader = c.leader(topic)
        while time.perf_counter() < end:
            producer.produce(topic, b"b", on_delivery=note)
            producer.poll(0.002)
            if leader in c.alive and time.perf_counter() > end - 1:
                c.kill(leader)
        producer.flush(10)
        return max(b - a for a, b in itertools.pairwise(moments)) * 1_000


def _acknowledged(producer: Client, topic: str) -> float:
    moments: list[float] = []
    producer.produce(topic, b"a", on_delivery=lambda *_: moments.append(time.perf_counter()))
    producer.flush(10)
    return moments[0]


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
