"""Disks fail, and replicas move between them, while three brokers are written to.

Two log dirs to a broker, RF 3, `min.insync.replicas` 2, acks=all. `error`: the file system of one
dir answers every call with EIO (ext4 on a loop device; needs root). `move`: a replica of 1 GB
moves to the other dir of its broker while it is written to; `cp` with a sync of the same bytes
beside it says what the disk can do. `python benchmarks/disks.py [--rounds N] [--mb N] [CASE ...]`.

Bars: partitions led on the dir that fails go on within 0.5 s, those on other dirs without a gap
above 100 ms, and the failed replicas are out of every ISR within 2 s. A move at 60 % of the speed
of the copy, with p99 of the producers at most twice that of before.
"""

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, median
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Any, Final, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Producer

from tests.live.cluster import LiveCluster
from tests.live.mounted_disks import MountedDisk
from tests.live.workload import SteadyProducer

PARTITIONS: Final = 12
VICTIM: Final = 1
PATIENCE_SECONDS: Final = 60
ASKED_EVERY: Final = 0.01
PACE: Final = 500
VALUE: Final = os.urandom(1_000)
NO_THROTTLE: Final = {"replica.alter.log.dirs.io.max.bytes.per.second": str(1 << 40)}


def odradek(live: LiveCluster, *words: str) -> Any:
    """What the command prints, as JSON."""
    command = [sys.executable, "-m", "odradek", "--bootstrap", live.bootstrap, "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def spread(values: list[float], unit: str) -> str:
    """In one line."""
    return f"{min(values):.4g} / {median(values):.4g} / {max(values):.4g} {unit}"


# A dir fails


def error(root: Path, rounds: int) -> None:
    """Each round breaks one dir of a broker, and replaces it."""
    found: dict[str, list[float]] = {}
    with ExitStack() as stack:
        folder = root / f"broker-{VICTIM}"
        disks = {
            str(disk.path): disk
            for disk in (MountedDisk(folder / name, megabytes=256) for name in ("disk-a", "disk-b"))
        }
        for disk in disks.values():
            stack.enter_context(disk)
        live = stack.enter_context(LiveCluster(root))
        live.make("orders", PARTITIONS)
        for number in range(rounds):
            name = sorted(disks)[number % 2]
            for what, value in one_error(live, disks[name]).items():
                found.setdefault(what, []).append(value)
            disks[name].pull()
            disks[name].insert()
            odradek(live, "logdirs", "replace", name, "--broker", str(VICTIM))
            live.await_isr("orders", 3)
            odradek(live, "partition", "elect", "orders")
    for what, values in found.items():
        print(f"  {what}: {spread(values, 'ms')}", flush=True)


def one_error(live: LiveCluster, disk: MountedDisk) -> dict[str, float]:
    """What producers and clients see of it, in milliseconds."""
    rows = odradek(live, "logdirs", "partitions", "orders", "--broker", str(VICTIM))
    on_it = {row["partition"] for row in rows if row["log_dir"] == str(disk.path)}
    led = {it for it, (leader, _) in live.partitions("orders").items() if leader == VICTIM}
    assert on_it & led, "nothing is led there"
    admin = live.admin()  # one for all questions: a new one connects to every broker

    def partitions() -> dict[int, tuple[int, list[int]]]:
        found = admin.list_topics("orders", timeout=PATIENCE_SECONDS).topics["orders"]
        return {number: (it.leader, list(it.isrs)) for number, it in found.partitions.items()}

    with SteadyProducer(live.bootstrap, "orders", PARTITIONS) as producer:
        partitions()
        sleep(3)
        producer.reset()
        sleep(2)
        quiet = max(producer.gaps.values())
        began = perf_counter()
        disk.break_down()
        out = elected = 0.0
        while not out and perf_counter() - began < PATIENCE_SECONDS:
            sleep(ASKED_EVERY)
            now = partitions()
            if not elected and all(now[it][0] not in {-1, VICTIM} for it in on_it):
                elected = perf_counter() - began
            if all(VICTIM not in now[it][1] for it in on_it):
                out = perf_counter() - began
        sleep(3)
        gaps = dict(producer.gaps)
    assert not producer.failed, producer.failed[:3]
    return {
        "led on the dir, gap": 1e3 * max(gaps[it] for it in on_it & led),
        "followed on the dir, gap": 1e3 * max([gaps[it] for it in on_it - led], default=0),
        "on other dirs, gap": 1e3 * max(gaps[it] for it in set(gaps) - on_it),
        "new leaders": 1e3 * elected,
        "out of the ISR": 1e3 * out,
        "gap before": 1e3 * quiet,
    }


# A replica moves


class Paced:
    """So many messages a second to one partition, and how long each was waited for."""

    def __init__(self, live: LiveCluster, topic: str) -> None:
        how = {"bootstrap.servers": live.bootstrap, "acks": "all", "linger.ms": 0}
        self._producer = Producer(how)
        self._topic = topic
        self._stopping = Event()
        self._thread = Thread(target=self._run)
        self._taken: list[float] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(30)

    def p99(self) -> float:
        """Of those that were acknowledged since the last call, in milliseconds."""
        taken, self._taken = sorted(self._taken), []
        return 1e3 * taken[len(taken) * 99 // 100]

    def _run(self) -> None:
        for due in _ticks():
            if self._stopping.is_set():
                return
            while perf_counter() < due:
                self._producer.poll(min(max(due - perf_counter(), 0), 0.01))
            self._send()

    def _send(self) -> None:
        sent = perf_counter()

        def told(error: object, message: object) -> None:
            del message
            assert error is None, error
            self._taken.append(perf_counter() - sent)

        self._producer.produce(self._topic, VALUE, partition=0, on_delivery=told)


def _ticks() -> Iterator[float]:
    due = perf_counter()
    while True:
        due += 1 / PACE
        yield due


def fill(live: LiveCluster, topic: str, megabytes: int) -> None:
    """In large records: how it was written is not what is measured."""
    how = {"bootstrap.servers": live.bootstrap, "acks": "all", "batch.size": 1_000_000}
    producer = Producer(how)
    value = os.urandom(900_000)
    for _ in range(megabytes * 1_000_000 // len(value)):
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(120) == 0


def move(root: Path, rounds: int, megabytes: int) -> None:
    """There and back, again and again."""
    found: dict[str, list[float]] = {}
    with LiveCluster(root, settings=NO_THROTTLE) as live:
        live.make("big", 1)
        fill(live, "big", megabytes)
        broker = live.partitions("big")[0][0]
        with Paced(live, "big") as producer:
            for _ in range(rounds):
                one = one_move(live, broker, producer)
                print("  " + ", ".join(f"{what} {it:.4g}" for what, it in one.items()), flush=True)
                for what, value in one.items():
                    found.setdefault(what, []).append(value)
    for what, values in found.items():
        print(f"  {what}: {spread(values, '')}")


def one_move(live: LiveCluster, broker: int, producer: Paced) -> dict[str, float]:
    """There, with a plain copy before and behind: a disk is not as fast at all times."""
    source, target = where(live, broker)
    sleep(5)
    producer.p99()
    sleep(5)
    before = producer.p99()
    copies = [copied(Path(source) / "big-0", Path(target) / "copy")]
    during_copy = producer.p99()
    sleep(1)
    speed = moved(live, broker, source, target, on_begun=producer.p99)
    during = producer.p99()
    sleep(1)
    copies.append(copied(Path(target) / "big-0", Path(source) / "copy"))
    return {
        "copy, MB/s": mean(copies),
        "move, MB/s": speed,
        "of the copy, %": 100 * speed / mean(copies),
        "p99 before, ms": before,
        "p99 during the copy, ms": during_copy,
        "p99 during the move, ms": during,
        "p99 ratio of the copy": during_copy / before,
        "p99 ratio of the move": during / before,
    }


def where(live: LiveCluster, broker: int) -> tuple[str, str]:
    """The dir in which the replica is, and the other."""
    rows = odradek(live, "logdirs", "partitions", "big", "--broker", str(broker))
    (source,) = {row["log_dir"] for row in rows}
    others = {row["log_dir"] for row in odradek(live, "logdirs", "list", "--broker", str(broker))}
    (target,) = others - {source}
    return source, target


def copied(source: Path, target: Path) -> float:
    """Megabytes a second of a plain copy to the other dir, synced."""
    os.sync()
    size = size_of(source)
    began = perf_counter()
    subprocess.run(["cp", "-r", str(source), str(target)], check=True, timeout=120)
    subprocess.run(["sync", "-d", *map(str, target.glob("*.log"))], check=True, timeout=120)
    took = perf_counter() - began
    shutil.rmtree(target)
    return size / took


def size_of(folder: Path) -> float:
    """Megabytes of records."""
    return sum(it.stat().st_size for it in folder.glob("*.log")) / 1e6


def moved(
    live: LiveCluster, broker: int, source: str, target: str, *, on_begun: Callable[[], object]
) -> float:
    """Megabytes a second, from the beginning of the move to its end; latencies count from there.

    Before is the start of the command, which takes a core for a while.
    """
    size = size_of(Path(source) / "big-0")
    begun, ended = (live.brokers[broker].log().count(f"move.{it}") for it in ("begun", "ended"))
    words = ("logdirs", "move", target, "big", "--broker", str(broker), "--no-wait")
    command = [sys.executable, "-m", "odradek", "--bootstrap", live.bootstrap, *words]
    asking = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    log = live.brokers[broker].log
    while log().count("move.begun") == begun:
        sleep(0.005)
    began = perf_counter()
    on_begun()
    while log().count("move.ended") == ended:
        sleep(0.02)
        assert perf_counter() - began < PATIENCE_SECONDS, "it does not end"
    took = perf_counter() - began
    assert asking.wait(10) == 0
    return size / took


def main() -> None:
    """One case after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=["error", "move"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=1_000)
    wanted = parser.parse_args()
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    with tempfile.TemporaryDirectory() as directory:
        for case in wanted.cases:
            print(f"{case}: min / median / max of {wanted.rounds} rounds", flush=True)
            if case == "error":
                error(Path(directory) / case, wanted.rounds)
            else:
                move(Path(directory) / case, wanted.rounds, wanted.mb)


if __name__ == "__main__":
    main()
