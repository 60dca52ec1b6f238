"""What a verb that waits asks of brokers meanwhile, in a cluster of 10,000 partitions.

    python benchmarks/progress.py [--only drain|reassign|logdirs|roll] [--topics N]

The share of a core that each broker spends more while the verb runs than while it is stopped: it is
stopped and goes on in turns, so that what the cluster does by itself counts on both sides. The
busiest broker's median of the pairs is held against the bar, 0.01. What is waited for stands still:
a throttle of 1 KiB/s, or a broker that does not restart. Each verb has a terminal, so that it shows
its bar.
"""

import argparse
import os
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the clusters of the live tests

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.live.cluster import LiveCluster

ROOT = Path(__file__).parent.parent
PARTITIONS = 100
PAIRS, SECONDS = 8, 10.0  # as long as a verb waits at most between two looks
BAR = 0.01


def made(cluster: LiveCluster, topics: int) -> None:
    """Each partition has more bytes than the throttle lets pass in a second."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    wanted = [NewTopic(f"t-{number}", PARTITIONS, 1) for number in range(topics)]
    for asked in admin.create_topics(wanted, operation_timeout=120).values():
        asked.result(300)
    for topic in wanted:
        cluster.await_isr(topic.topic, 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 50})
    for topic in wanted:
        for number in range(PARTITIONS):
            producer.produce(topic.topic, os.urandom(3_000), partition=number)
        producer.flush()


def environment(cluster: LiveCluster) -> dict[str, str]:
    """Of a call."""
    return {**os.environ, "ODRADEK_BOOTSTRAP": cluster.bootstrap, "PYTHONPATH": str(ROOT / "src")}


def call(cluster: LiveCluster, *words: str) -> str:
    """To its end; what it printed."""
    command = [sys.executable, "-m", "odradek", *words]
    done = subprocess.run(
        command, env=environment(cluster), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def watching(cluster: LiveCluster, words: Sequence[str], says: bytes) -> Iterator[int]:
    """The process of a verb that waits, from where it says this, on a terminal; it ends here."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "odradek", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environment(cluster),
    )
    os.close(theirs)
    said = bytearray()
    waits = threading.Event()

    def read() -> None:
        try:
            while data := os.read(ours, 65_536):
                said.extend(data)
                if says in said:
                    waits.set()
        except OSError:  # the terminal's end
            pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert waits.wait(120), said.decode()[-500:]
        yield process.pid
        assert process.poll() is None, said.decode()[-500:]
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        reader.join()
        os.close(ours)


def spent(pid: int) -> float:
    """Seconds of a processor that this process has had."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(it.read_text().split()[0]) for it in tasks) / 1e9


def shares(pids: Sequence[int]) -> list[float]:
    """Of a core, of each of these, in the next seconds."""
    before = [spent(pid) for pid in pids]
    threading.Event().wait(SECONDS)
    return [(spent(pid) - it) / SECONDS for pid, it in zip(pids, before, strict=True)]


def measure(
    cluster: LiveCluster,
    name: str,
    words: Sequence[str],
    *,
    says: bytes = b"copying",
) -> None:
    """With the verb and without it, in turns."""
    pids = [it.pid for it in cluster.brokers.values() if it.has_process]
    more: list[list[float]] = []
    alone: list[list[float]] = []
    with watching(cluster, words, says) as verb:
        shares(pids)  # what it looked at before it waits
        for _ in range(PAIRS):
            os.kill(verb, signal.SIGSTOP)
            alone.append(shares(pids))
            os.kill(verb, signal.SIGCONT)
            with_it = shares(pids)
            more.append([a - b for a, b in zip(with_it, alone[-1], strict=True)])
    by_broker = list(zip(*more, strict=True))
    found = max(by_broker, key=statistics.median)
    median = statistics.median(found)
    idle = statistics.median(map(max, alone))
    print(
        f"{name}: median {median:.4f} of a core, min {min(found):.4f}, max {max(found):.4f},"
        f" the busiest broker without it {idle:.3f} (bar {BAR})"
        f"  {'ok' if median <= BAR else 'MISSED'}",
        flush=True,
    )


def drain(cluster: LiveCluster) -> None:
    """A third of all partitions, and none comes to its end."""
    slow = ("broker", "drain", "3", "--throttle", "1K")
    call(cluster, *slow, "--no-wait")
    measure(cluster, "drain", slow)
    call(cluster, "partition", "reassign", "--cancel")
    call(cluster, "partition", "throttle", "none")
    call(cluster, "broker", "undrain", "3")


def reassign(cluster: LiveCluster) -> None:
    """A hundred partitions."""
    slow = ("partition", "reassign", "t-0", "--replicas", "1,2", "--throttle", "1K")
    measure(cluster, "reassign", slow)
    call(cluster, "partition", "reassign", "--cancel")
    call(cluster, "partition", "throttle", "none")


def logdirs(cluster: LiveCluster) -> None:
    """Replicas of a broker, to one of its log dirs."""
    other = str(cluster.brokers[3].directory / "disk-b")
    slow = ("logdirs", "move", other, "t-1*", "--broker", "3", "--throttle", "1K")
    measure(cluster, "logdirs move", slow)
    call(cluster, "partition", "throttle", "none")


def roll(cluster: LiveCluster) -> None:
    """A broker that does not register anew; then one that is away."""
    words = ("cluster", "roll", "--command", "true")
    measure(cluster, "roll, a registration is awaited", words, says=b"restarting")


CASES: dict[str, Callable[[LiveCluster], None]] = {
    "drain": drain,
    "reassign": reassign,
    "logdirs": logdirs,
    "roll": roll,
}


def main() -> None:
    """One cluster for all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--topics", type=int, default=100)
    asked = parser.parse_args()
    settings = {"min.insync.replicas": "1"}
    with (
        tempfile.TemporaryDirectory() as folder,
        LiveCluster(Path(folder) / "cluster", 3, settings) as cluster,
    ):
        made(cluster, asked.topics)
        for name, case in CASES.items():
            if asked.only in {None, name}:
                case(cluster)


if __name__ == "__main__":
    main()
