"""The controller is moved: how long the cluster is without one, and what producers notice.

Three brokers with 10,000 partitions of RF 3 and a steady producer: moves from broker to broker,
then moves whose target is killed on the way. Then five brokers, one of them preferred, are
restarted one after the other. The gap is from `controller.hands_over` in the log of the old
controller to `controller.begun` in that of the new one; after a kill, from the kill until a broker
begins, or goes on, as the controller.
`python benchmarks/placed_controller.py [--partitions N] [--moves N]`.

Bars: a gap of at most 100 ms; no partition changes its leader; a controller within 0.5 s of the
kill; in a rolling restart one move away from the preferred broker, and one back.
"""

import argparse
import compileall
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from time import perf_counter, sleep, time
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer

PATIENCE_SECONDS: Final = 60
TOPICS: Final = 10
KILL_AFTER: Final = (0.0, 0.2, 0.4, 0.6)
"""Seconds after the command was given; it takes some of them to start."""
LINE: Final = re.compile(r"^(?P<at>[0-9T:.+Z-]+) .*\bcontroller\.(?P<what>[a-z_]+)", re.MULTILINE)


def said(live: LiveCluster, *events: str) -> Iterator[tuple[float, int, str]]:
    """When which broker said one of these about controllers, in the order of time."""
    found = [
        (datetime.fromisoformat(line["at"]).timestamp(), number, line["what"])
        for number, broker in live.brokers.items()
        for line in LINE.finditer(broker.log())
        if line["what"] in events
    ]
    yield from sorted(found)


def odradek(live: LiveCluster, *words: str) -> Any:
    """What the command prints, as JSON."""
    command = [sys.executable, "-m", "odradek", "--bootstrap", live.bootstrap, "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def until(what: Callable[[], Any], why: str) -> Any:
    """What it says, once it says something."""
    end = perf_counter() + PATIENCE_SECONDS
    while perf_counter() < end:
        if found := what():
            return found
        sleep(0.05)
    raise AssertionError(f"in vain: {why}")


def moves(live: LiveCluster, count: int) -> None:
    """From broker to broker."""
    before = leaders(live)
    gaps = []
    with SteadyProducer(live.bootstrap, "steady", 3) as producer:
        sleep(2)
        quiet = dict(producer.gaps)
        producer.reset_gaps()
        for _ in range(count):
            controller = odradek(live, "controller", "describe")["controller"]
            target = controller % len(live.brokers) + 1
            began = perf_counter()
            odradek(live, "controller", "move", str(target))
            took = perf_counter() - began
            handed = list(said(live, "hands_over"))[-1]
            begun = list(said(live, "begun"))[-1]
            assert (handed[1], begun[1]) == (controller, target), (handed, begun)
            gaps.append(begun[0] - handed[0])
            print(f"  {controller} -> {target}: gap {gaps[-1] * 1e3:.0f} ms, command {took:.2f} s")
            sleep(3)
        noticed = dict(producer.gaps)
        producer.stop()
    assert leaders(live) == before, "a partition has changed its leader"
    print(f"gap: worst {max(gaps) * 1e3:.0f} ms; no leader has changed; failed {producer.failed}")
    print(f"longest time between two acknowledgements: {worst(noticed)}, quiet {worst(quiet)}")


def worst(gaps: dict[int, float]) -> str:
    """In words."""
    return f"{max(gaps.values(), default=0) * 1e3:.0f} ms"


def leaders(live: LiveCluster) -> dict[tuple[str, int], int]:
    """Of all partitions."""
    topics = live.admin().list_topics(timeout=30).topics
    return {
        (name, number): row.leader
        for name, topic in topics.items()
        for number, row in topic.partitions.items()
    }


def kills(live: LiveCluster) -> None:
    """The target of a move is killed, at several points."""
    for after in KILL_AFTER:
        controller = odradek(live, "controller", "describe")["controller"]
        target = controller % len(live.brokers) + 1
        command = [sys.executable, "-m", "odradek", "--bootstrap", live.bootstrap]
        moving = subprocess.Popen(
            [*command, "controller", "move", str(target)], stderr=subprocess.PIPE, text=True
        )
        handed = len(list(said(live, "is_wished_elsewhere")))
        until(lambda: len(list(said(live, "is_wished_elsewhere"))) > handed, "it is wished")  # noqa: B023
        sleep(after)
        live.brokers[target].kill()
        killed = time()

        def acts() -> list[tuple[float, int, str]]:
            lines = said(live, "begun", "wish_refused")
            return [it for it in lines if it[0] > killed - 1 and it[1] != target]  # noqa: B023

        found = until(acts, "there is a controller")[-1]
        gap = max(found[0] - killed, 0) * 1e3
        print(f"  killed {after:.1f} s after the wish: {found[2]} by {found[1]} after {gap:.0f} ms")
        moving.communicate(timeout=90)
        live.brokers[target].start()
        for topic in ("steady", *(f"many-{it}" for it in range(TOPICS))):
            live.await_isr(topic, 3)


def rolling_restart(directory: Path) -> None:
    """Five brokers, of which the first is preferred."""
    settings = {"preferred.controller.settle.ms": "3000"}
    with LiveCluster(directory, 5, settings) as live:
        live.make("orders", 5)
        odradek(live, "controller", "prefer", "1")
        until(lambda: odradek(live, "controller", "describe")["controller"] == 1, "1 is preferred")
        before = len(odradek(live, "controller", "history"))
        for number in odradek(live, "cluster", "restart-order"):
            live.brokers[number].stop()
            live.brokers[number].start()
            live.await_isr("orders", 3)
        until(lambda: odradek(live, "controller", "describe")["controller"] == 1, "1 is back")
        moved = odradek(live, "controller", "history")[before:]
        print(f"rolling restart of five: {len(moved)} moves, to {[it['broker'] for it in moved]}")


def main() -> None:
    """One size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--moves", type=int, default=6)
    wanted = parser.parse_args()
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        with LiveCluster(folder / "three") as live:
            for topic in range(TOPICS):
                live.make(f"many-{topic}", wanted.partitions // TOPICS)
            live.make("steady", 3)
            print(f"{wanted.partitions} partitions of RF 3 on three brokers", flush=True)
            moves(live, wanted.moves)
            kills(live)
        rolling_restart(folder / "five")


if __name__ == "__main__":
    main()
