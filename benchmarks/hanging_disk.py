"""What others notice of a disk that hangs, with default settings.

Three brokers, RF 3, `min.insync.replicas` 2, acks=all. Broker 1 has two ext4 file systems on loop
devices (needs root), of which one hangs: `fs` is frozen itself, `device` lies in a file system
that is. Producers, each a client of its own, write to what broker 1 leads on its other disk, and
to what brokers 2 and 3 lead; a probe asks for /health/live.

Bar: no gap above 0.1 s, and p99 at most twice that of before, until the dir is given up and while
its partitions are led elsewhere.
"""

import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Final, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.cluster import LiveCluster
from tests.live.mounted_disks import DiskOnFrozenDevice, MountedDisk
from tests.live.workload import SteadyProducer

VICTIM: Final = 1
PARTITIONS: Final = 8
QUIET_SECONDS: Final = 20
HANG_SECONDS: Final = 120  # with the default time-out of 60
ASKED_EVERY: Final = 0.05
CASES: Final = {"fs": MountedDisk, "device": DiskOnFrozenDevice}


class Probe:
    """Asks a broker whether it lives, and remembers the longest answer."""

    def __init__(self, pages: str) -> None:
        self._url = f"http://{pages}/health/live"
        self._stopping = Event()
        self._thread = Thread(target=self._run)
        self.longest = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(ASKED_EVERY):
            began = perf_counter()
            with urllib.request.urlopen(self._url, timeout=30) as answer:
                answer.read()
            self.longest = max(self.longest, perf_counter() - began)


def on_disk(path: Path, topic: str) -> list[int]:
    """The partitions of which this dir has a replica."""
    return sorted(int(it.name.rpartition("-")[2]) for it in path.glob(f"{topic}-?"))


def led_by(live: LiveCluster) -> dict[int, int]:
    """The leader of each partition."""
    return {number: leader for number, (leader, _) in live.partitions("ours").items()}


def told(title: str, producers: dict[str, SteadyProducer], probe: Probe) -> None:
    """One line for each; from now on they count anew."""
    for name, producer in producers.items():
        millis = [1_000 * it for it in producer.latencies]
        p99, gap = quantiles(millis, n=100)[98], 1_000 * max(producer.gaps.values())
        print(f"{title:>8} {name:<14} p99 {p99:7.1f} ms   longest gap {gap:7.0f} ms", flush=True)
        producer.reset()
    print(f"{title:>8} {'/health/live':<14} at most {1_000 * probe.longest:7.0f} ms", flush=True)
    probe.longest = 0.0


def run(kind: Callable[[Path], MountedDisk], folder: Path) -> None:
    """One disk hangs."""
    home = folder / f"broker-{VICTIM}"
    settings = {"admin.listener": "127.0.0.1:@"}
    with (
        kind(home / "disk-a") as hanging,
        MountedDisk(home / "disk-b") as other,
        LiveCluster(folder, settings=settings) as live,
    ):
        live.place("ours", *([[1, 2, 3]] * PARTITIONS))
        live.place("theirs", *([[2, 3, 1], [3, 2, 1]] * 2))
        live.place("apart", [2, 3], [3, 2])
        good, bad = on_disk(other.path, "ours"), on_disk(hanging.path, "ours")
        bootstrap = live.bootstrap
        with (
            SteadyProducer(bootstrap, "ours", 1, first=good[0], log_level=0) as ours,
            SteadyProducer(bootstrap, "apart", 2, log_level=0) as apart,
            SteadyProducer(bootstrap, "ours", 1, first=bad[0], log_level=0),
            Probe(live.brokers[VICTIM].pages) as probe,
        ):
            producers = {"its other disk": ours, "other brokers": apart}
            sleep(2)
            told("warm", producers, probe)
            sleep(QUIET_SECONDS)
            told("before", producers, probe)
            hanging.freeze()
            try:
                began = perf_counter()
                while any(led_by(live)[it] == VICTIM for it in bad):
                    assert perf_counter() - began < HANG_SECONDS, "it is led on the hanging disk"
                    sleep(ASKED_EVERY)
                seconds = perf_counter() - began
                print(f"   hangs: others lead what is on it after {seconds:.1f} s", flush=True)
                told("hangs", producers, probe)
                sleep(QUIET_SECONDS)
                told("given up", producers, probe)
                kept = all(led_by(live)[it] == VICTIM for it in good)
                print(f"broker {VICTIM} leads on its other disk as before: {kept}", flush=True)
            finally:
                hanging.thaw()


def main() -> None:
    """All cases, or those that are named."""
    for case in sys.argv[1:] or CASES:
        print(case)
        with tempfile.TemporaryDirectory() as folder:
            run(CASES[case], Path(folder))


if __name__ == "__main__":
    main()
