"""How long brokers take to end, under load: one of three, and all three with their ZooKeeper.

100 partitions of three replicas, a producer with acks=all on each of them, a group that reads, and
members that wait in a rebalance. `python benchmarks/stop.py [--rounds N]`. The bars: one of three
2 s; all at once, or brokers whose ZooKeeper has gone before them, 10 s. Nothing that was
acknowledged is lost, the log dirs are marked as closed cleanly, and the logs tell of no error.
"""

import argparse
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer, SteadyReader

TOPIC: Final = "orders"
PARTITIONS: Final = 100
LOAD_SECONDS: Final = 3
SECONDS_MAX: Final = 150
BARS: Final = {"one of three": 2.0, "all and their ZooKeeper": 10.0, "after their ZooKeeper": 10.0}
NOT_CLEAN: Final = ("[error", "Traceback", "loop.mistake", "request.failed")
MARK: Final = ".kafka_cleanshutdown"


def load(cluster: LiveCluster, stack: ExitStack) -> SteadyProducer:
    """Somebody writes to all partitions, and somebody reads."""
    producer = SteadyProducer(cluster.bootstrap, TOPIC, PARTITIONS, pause=0.1)
    stack.enter_context(producer)
    stack.enter_context(SteadyReader(cluster.bootstrap, TOPIC, "readers"))
    sleep(LOAD_SECONDS)
    return producer


def ended(cluster: LiveCluster, numbers: list[int], begun: float) -> float:
    """Seconds until the last of these processes has ended."""
    for number in numbers:
        process = cluster.brokers[number]._process  # noqa: SLF001 - it is asked by nobody else
        assert process is not None
        process.wait(max(SECONDS_MAX - (perf_counter() - begun), 0.1))
    return perf_counter() - begun


def ask(cluster: LiveCluster, numbers: list[int]) -> None:
    """Each is told to end, in good order."""
    for number in numbers:
        process = cluster.brokers[number]._process  # noqa: SLF001
        assert process is not None
        process.send_signal(signal.SIGTERM)


def measure(case: str, folder: Path) -> tuple[float, int, int]:
    """Seconds, dirs that were not closed cleanly, lines of their logs that tell of errors."""
    with LiveCluster(folder) as cluster, ExitStack() as stack:
        cluster.make(TOPIC, PARTITIONS)
        producer = load(cluster, stack)
        numbers = [2] if case == "one of three" else [*cluster.brokers]
        before = {number: len(cluster.brokers[number].log()) for number in numbers}
        begun = perf_counter()
        if case == "after their ZooKeeper":
            cluster.zookeeper.stop()
        ask(cluster, numbers)
        if case == "all and their ZooKeeper":
            cluster.zookeeper.stop()
        took = ended(cluster, numbers, begun)
        told = [cluster.brokers[it].log()[before[it] :].splitlines() for it in numbers]
        spoilt = sum(any(word in line for word in NOT_CLEAN) for lines in told for line in lines)
        dirs = [folder / f"broker-{it}" / disk for it in numbers for disk in ("disk-a", "disk-b")]
        unclean = sum(not (it / MARK).exists() for it in dirs)
        for number in numbers:
            cluster.brokers[number]._process = None  # noqa: SLF001
        for number, lines in zip(numbers, told, strict=True):
            if case in SHOWN:
                print(f"-- broker {number}", *lines, sep="\n")
        if case != "one of three":
            cluster.zookeeper.start()
            for number in numbers:
                cluster.brokers[number].launch()
            for number in numbers:
                cluster.brokers[number].await_start()
        producer.stop()
        assert not producer.failed, producer.failed[:3]
    return took, unclean, spoilt


SHOWN: set[str] = set()


def main() -> None:
    """Each case so many times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print what the brokers said")
    parser.add_argument("case", nargs="*", choices=[*BARS, []])
    chosen = parser.parse_args()
    cases = chosen.case or [*BARS]
    if chosen.show:
        SHOWN.update(cases)
    for case in cases:
        for turn in range(chosen.rounds):
            with tempfile.TemporaryDirectory() as name:
                took, unclean, spoilt = measure(case, Path(name) / "cluster")
            verdict = "ok" if took <= BARS[case] and not unclean and not spoilt else "MISSED"
            print(
                f"{case:26} round {turn + 1}: {took:6.2f} s (bar {BARS[case]:.0f}),"
                f" unclean dirs {unclean}, errors in logs {spoilt}  {verdict}",
                flush=True,
            )


if __name__ == "__main__":
    main()
