"""How long a seed takes, by the kind of world, and how long it takes until the first event.

Processor time of one process, so that other work on the machine matters less; each seed is run
several times, and the best counts. A seed of the broker world (ZooKeeper, one broker, ten
partitions, six clients, 60 simulated seconds) should take no more than 0.6 s, one of the cluster
world (three brokers, ten partitions, ten clients) no more than 1.5 s, and the first event should
come within one. `--kind cluster` runs one kind, `--rounds 1` each seed once.
"""

import argparse
import statistics
import subprocess
import sys
import time

from odradek.sim.simulation import run
from odradek.sim.worlds import ALL, kind

FIRST_EVENT = """
import os, sys
from odradek.sim import __main__, history
history.History.note = lambda *_: os._exit(0)
__main__.main(["--scenario", sys.argv[1], "--seed", "1"])
"""


def seconds_of(name: str, seed: int, rounds: int) -> tuple[float, int]:
    """The best of some, and how much happened."""
    times, events = [], 0
    for _ in range(rounds):
        began = time.process_time()
        events = run(kind(name), seed).events
        times.append(time.process_time() - began)
    return min(times), events


def first_event(name: str, rounds: int) -> float:
    """Seconds from the start of a process to the first event of its world; the best of some."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST_EVENT, name], check=True)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """A line for each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="of each seed; the best counts")
    parser.add_argument("--kind", choices=ALL, action="append", help="instead of all")
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    print(f"{'':12} {'min':>6} {'median':>6} {'max':>6} s   {'events/s':>9}   first event")
    for name in options.kind or ALL:
        run(kind(name), 0)  # what is compiled when it is first needed
        found = [seconds_of(name, seed, options.rounds) for seed in seeds]
        times = [seconds for seconds, _ in found]
        speed = sum(events for _, events in found) / sum(times)
        print(
            f"{name:12} {min(times):6.2f} {statistics.median(times):6.2f} {max(times):6.2f} s   "
            f"{speed:9,.0f}   {first_event(name, options.rounds):.2f} s"
        )


if __name__ == "__main__":
    main()
