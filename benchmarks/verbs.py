"""What verbs take in a cluster of 10,000 partitions, to their first line.

Bars: `topic list`, `topic describe`, `group describe`, `broker list` 0.4 s, `cluster health` 0.6 s,
verbs that read log dirs 1 s.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # the clusters of the live tests

from confluent_kafka.admin import AdminClient, NewTopic

from tests.live.cluster import LiveCluster

ROOT = Path(__file__).parent.parent
TOPICS, PARTITIONS, REPLICAS = 100, 100, 1
ROUNDS = 5
COMPILED = Path(tempfile.gettempdir()) / f"odradek-compiled-{os.getuid()}"
VERBS = {
    "topic list": 0.4,
    "topic describe t-7": 0.4,
    "group describe readers": 0.4,
    "broker list": 0.4,
    "cluster health": 0.6,
    "logdirs list": 1.0,
    "logdirs partitions t-7": 1.0,
    "broker drain 3 --status": 1.0,
}


def made(cluster: LiveCluster) -> None:
    """All of them, and a group that has read some."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    topics = [NewTopic(f"t-{number}", PARTITIONS, REPLICAS) for number in range(TOPICS)]
    for asked in admin.create_topics(topics, operation_timeout=120).values():
        asked.result(300)
    for topic in topics:
        cluster.await_isr(topic.topic, REPLICAS)
    call(cluster, "produce", "t-7", said=b"a\n" * 1_000)
    call(cluster, "consume", "t-7", "-e", "-g", "readers")


class Taken(NamedTuple):
    """By one call."""

    seconds: float  # to the first line
    processor: float  # of the command alone, to its end: what it takes on a machine that is idle


def call(cluster: LiveCluster, *words: str, said: bytes = b"") -> Taken:
    """With compiled modules, as after an installation."""
    variables = {"ODRADEK_BOOTSTRAP": cluster.bootstrap, "PYTHONPATH": str(ROOT / "src")}
    variables |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(COMPILED)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "odradek", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **variables},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(said)
        process.stdin.close()
        process.stdout.readline()
        taken = perf_counter() - started
        process.stdout.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(taken, used)


def main() -> None:
    """One cluster for all."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LiveCluster(Path(folder) / "cluster", 3, {"min.insync.replicas": "1"}) as cluster,
    ):
        made(cluster)
        for verb, bar in VERBS.items():
            call(cluster, *verb.split())  # compiles what it imports
            calls = [call(cluster, *verb.split()) for _ in range(ROUNDS)]
            times, used = zip(*calls, strict=True)
            ends = f"min {min(times):.2f}, max {max(times):.2f}, processor {min(used):.2f}"
            print(f"{verb}: median {statistics.median(times):.2f} s, {ends} (bar {bar} s)")


if __name__ == "__main__":
    main()
