"""The controller is moved: how long the cluster is without one, and what producers notice.

`moves`: three brokers with 10,000 partitions of RF 3 and a steady producer; the controller goes
from broker to broker. `kills`: the target of a move is killed at each point of the hand-over.
`restart`: five brokers, one of them preferred, are restarted one after the other. `storm`: five
brokers under load, a move every few seconds, and now and then a kill of the controller or of the
broker that shall be it; afterwards every acknowledged record is read.

The gap is from `controller.hands_over` in the log of the old controller to `controller.begun` in
that of the new one; after a kill, from the kill until a broker is the controller, or goes on as it.
`python benchmarks/placed_controller.py moves|kills|restart|storm [--partitions N] [--count N]`.

Bars: a gap of at most 100 ms; no partition changes its leader; produce p99 at most 1.5 times the
quiet one; a controller within 0.5 s of a kill; in a rolling restart one move away from the
preferred broker, and one back.
"""

import argparse
import compileall
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, sleep, time
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer, check_kept, read_all

PATIENCE_SECONDS: Final = 60
TOPICS: Final = 10
PAUSE_SECONDS: Final = 3
POINTS: Final = ("is_wished_elsewhere", "ready_to_serve", "hands_over", "elected", "begun")
"""What is said in a move, in this order; the broker that shall be the controller dies then."""
LOOK_SECONDS: Final = 0.01
SETTLED_SECONDS: Final = 0.1
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
        sleep(LOOK_SECONDS)
    raise AssertionError(f"in vain: {why}")


def moves(live: LiveCluster, count: int) -> None:
    """From broker to broker."""
    before = leaders(live)
    without, took = [], []
    with SteadyProducer(live.bootstrap, "steady", 3) as producer:
        until(lambda: 0 < worst_now(producer) < SETTLED_SECONDS, "followers follow all")
        producer.reset()
        sleep(count * PAUSE_SECONDS / 2)
        quiet, quiet_gaps = producer.latencies, dict(producer.gaps)
        producer.reset()
        for _ in range(count):
            controller, target = asked(live)
            began = perf_counter()
            odradek(live, "controller", "move", str(target))
            took.append(perf_counter() - began)
            handed = list(said(live, "hands_over"))[-1]
            begun = list(said(live, "begun"))[-1]
            assert (handed[1], begun[1]) == (controller, target), (handed, begun)
            without.append(begun[0] - handed[0])
            sleep(PAUSE_SECONDS)
        noticed, noticed_gaps = producer.latencies, dict(producer.gaps)
        producer.stop()
    assert leaders(live) == before, "a partition has changed its leader"
    assert not producer.failed, producer.failed
    print(f"gap: {spread(without)}; command: {spread(took)}; no leader has changed")
    ratio = p99(noticed) / p99(quiet)
    print(f"produce p99: {p99(noticed):.1f} ms, quiet {p99(quiet):.1f} ms: {ratio:.2f} times")
    print(f"longest between two acknowledgements: {worst(noticed_gaps)}, quiet {worst(quiet_gaps)}")


def worst_now(producer: SteadyProducer) -> float:
    """Of the latencies of one second; 0 where nothing was acknowledged."""
    producer.reset()
    sleep(1)
    return max(producer.latencies, default=0)


def asked(live: LiveCluster) -> tuple[int, int]:
    """Who is the controller, and who shall be it next."""
    controller = odradek(live, "controller", "describe")["controller"]
    return controller, controller % len(live.brokers) + 1


def p99(seconds: list[float]) -> float:
    """In milliseconds."""
    return quantiles(seconds, n=100)[98] * 1e3


def spread(seconds: list[float]) -> str:
    """In words."""
    found = (min(seconds), median(seconds), max(seconds))
    return "min {:.0f}, median {:.0f}, max {:.0f} ms".format(*(it * 1e3 for it in found))


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


def kills(live: LiveCluster, count: int) -> None:
    """The target of a move is killed, at each point of it."""
    found = []
    for point in POINTS * count:
        _, target = asked(live)
        heard = len(list(said(live, point)))
        moving = moved(live, target)
        until(lambda: len(list(said(live, point))) > heard, f"{point} is said")  # noqa: B023
        gap, who, what = killed(live, target)
        found.append(gap)
        print(f"  {target} killed at {point}: {what} by {who} after {gap * 1e3:.0f} ms", flush=True)
        moving.communicate(timeout=90)
        live.brokers[target].start()
        for topic in live.admin().list_topics(timeout=30).topics:
            live.await_isr(topic, 3)
    print(f"after a kill: {spread(found)}")


def moved(live: LiveCluster, target: int) -> "subprocess.Popen[str]":
    """Somebody wants it."""
    command = [sys.executable, "-m", "odradek", "--bootstrap", live.bootstrap]
    return subprocess.Popen(
        [*command, "controller", "move", str(target)], stderr=subprocess.PIPE, text=True
    )


def killed(live: LiveCluster, number: int) -> tuple[float, int, str]:
    """After how many seconds which broker is the controller or goes on to be it, and how."""
    at = time()
    live.brokers[number].kill()

    def acts() -> list[tuple[float, int, str]]:
        lines = said(live, "begun", "wish_refused")
        return [it for it in lines if it[0] > at and it[1] != number]

    found = until(acts, "there is a controller")[0]
    return found[0] - at, found[1], found[2]


def storm(directory: Path, count: int) -> None:
    """Moves and kills, and what is left of what was acknowledged."""
    chance = random.Random(count)
    kills: list[tuple[float, int, str]] = []
    with LiveCluster(directory, 5, {"zookeeper.session.timeout.ms": "6000"}) as live:
        live.make("steady", 10)
        with SteadyProducer(live.bootstrap, "steady", 10) as producer:
            for turn in range(count):
                controller, target = asked(live)
                moving = moved(live, target)
                if turn % 3:
                    sleep(0.3 + chance.random() / 2)
                    dying = target if turn % 3 == 1 else controller
                    kills.append((time(), dying, "killed"))
                    live.brokers[dying].kill()
                    moving.communicate(timeout=90)
                    live.brokers[dying].start()
                    live.await_isr("steady", 3)
                else:
                    moving.communicate(timeout=90)
                sleep(1)
            producer.stop()
        check_kept(producer, read_all(live.bootstrap, "steady", 10))
        assert not producer.failed, producer.failed
        told = [*said(live, "begun", "hands_over", "wish_refused"), *kills]
        print(f"{count} moves, {len(kills)} kills; without a controller: {spread(gaps(told))}")
        print(f"{producer.count()} records acknowledged, all kept")


def gaps(told: list[tuple[float, int, str]]) -> list[float]:
    """How long nobody acted, each time; a broker that hands over does not act."""
    found, since = [], 0.0
    acts: int | None = None
    for at, who, what in sorted(told):
        if what in {"hands_over", "killed"} and who == acts:
            acts, since = None, at
        elif what in {"begun", "wish_refused"} and acts is None:
            if since:
                found.append(at - since)
            acts = who
    assert acts is not None, "in the end there is a controller"
    return found


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
    """One of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("moves", "kills", "restart", "storm"))
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--count", type=int, default=0, help="moves, or rounds of kills")
    wanted = parser.parse_args()
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "live"
        if wanted.what == "restart":
            rolling_restart(folder)
        elif wanted.what == "storm":
            storm(folder, wanted.count or 12)
        else:
            with LiveCluster(folder) as live:
                for topic in range(TOPICS):
                    live.make(f"many-{topic}", wanted.partitions // TOPICS)
                live.make("steady", 3)
                print(f"{wanted.partitions} partitions of RF 3 on three brokers", flush=True)
                if wanted.what == "moves":
                    moves(live, wanted.count or 9)
                else:
                    kills(live, wanted.count or 1)


if __name__ == "__main__":
    main()
