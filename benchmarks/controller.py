"""10,000 partitions of RF 3 on three brokers: made, idle, and led again when a broker is killed.

One plain broker leads all of them (seed 000's own case). Then it dies; then the controller does.
What the controller says of its slow events is printed, so that ZooKeeper's reads, the decisions,
the writes and the sending are told apart. The longest turn of each broker's loop is measured within
its process, in CPU time (`turns`). The longest pause is seen from outside, by asking its admin
listener all the time; on a busy machine it has that of the scheduler in it.
`python benchmarks/controller.py [--partitions N] [--topics N] [--only-made]`.

Bars: made in 8 s; all led again 2 s after the death of the leader was detected, 2 s after that of
the controller; at most 250 MB and 5 % of a core for an idle broker; no turn of a loop above 50 ms.
"""

import argparse
import compileall
import re
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka.admin import NewTopic

from benchmarks.cluster import TICKS, Cluster
from benchmarks.leaders import Leaders
from benchmarks.turns import longest
from tests.compat.broker_process import OdradekBroker
from tests.external import tools
from tests.external.ports import free_port
from tests.external.zookeeper import RealZookeeper
from tests.live.cluster import LiveCluster

SETTLE_SECONDS: Final = 90
REST_SHARE: Final = 0.05
TOLD: Final = re.compile(
    r"controller\.(slow_event|begun|elected|brokers_changed).*|control\.slow.*"
)


class Pauses:
    """The longest time that each broker left a question unanswered, meanwhile."""

    def __init__(self, ports: dict[int, int]) -> None:
        self.longest = dict.fromkeys(ports, 0.0)
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=it) for it in ports.items()]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int, port: int) -> None:
        while not self._is_over.wait(0.005):
            began = perf_counter()
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as connection:
                    connection.sendall(b"GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n")
                    connection.recv(1_000)
            except OSError:
                continue
            self.longest[number] = max(self.longest[number], perf_counter() - began)

    def end(self) -> str:
        """In words."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        return ", ".join(f"broker {it} {ms * 1_000:.0f} ms" for it, ms in self.longest.items())


class Stage:
    """The cluster, and what is measured on it."""

    def __init__(self, live: LiveCluster, admin_ports: dict[int, int], leaders: Leaders) -> None:
        self.live = live
        self.cluster = Cluster("odradek", dict(live.brokers))
        self.admin = self.cluster.admin()
        self._ports = admin_ports
        self.leaders = leaders

    @contextmanager
    def measured(self, what: str) -> Iterator[None]:
        """Prints how long it took, the pauses meanwhile, and what controllers said."""
        said = {number: len(it.log()) for number, it in self.live.brokers.items()}
        print(f"\n{datetime.now(UTC).isoformat()[:23]} {what}", flush=True)
        before, pauses, began = self._cpu(), Pauses(self._ports), perf_counter()
        try:
            yield
        finally:
            print(f"  {perf_counter() - began:.2f} s", flush=True)
            print(f"  longest pauses: {pauses.end()}")
            news = {number: it.log()[said[number] :] for number, it in self.live.brokers.items()}
            turns = [f"broker {it} {longest(text):.0f} ms" for it, text in news.items()]
            print(f"  longest turns, CPU: {', '.join(turns)}")
        spent = {it: now - before[it] for it, now in self._cpu().items() if it in before}
        print(f"  CPU: {', '.join(f'{it} {seconds:.2f} s' for it, seconds in spent.items())}")
        for number, text in news.items():
            for line in text.splitlines():
                if found := TOLD.search(line):
                    print(f"  broker {number}: {line[:23]} {found[0][:200]}")

    def _cpu(self) -> dict[str, float]:
        """Seconds of each process that lives."""
        pids = {"ZooKeeper": self.live.zookeeper.pid}
        for number, broker in self.live.brokers.items():
            if broker._process is not None:  # noqa: SLF001
                pids[f"broker {number}"] = broker.pid
        return {name: seconds_of(pid) for name, pid in pids.items()}

    def await_served(self, *without: int) -> None:
        """Until the others lead all partitions; the connections are there before."""
        served, followed = self.leaders.await_served(it for it in self._ports if it not in without)
        print(f"  led and served after {served:.2f} s, followed after {followed:.2f} s")

    def check_served(self, *without: int) -> None:
        """Two partitions of each topic have stood for all; all are looked at once."""
        self.leaders.check_all(it for it in self._ports if it not in without)

    def await_rest(self) -> float:
        """Until the brokers do next to nothing; how long that took."""
        began = perf_counter()
        share = 1.0
        while share > REST_SHARE and perf_counter() - began < SETTLE_SECONDS:
            before = sum(self.cluster.cpu())
            sleep(2)
            share = (sum(self.cluster.cpu()) - before) / 2 / len(self.cluster.brokers)
        return perf_counter() - began


def seconds_of(pid: int) -> float:
    """That a process has computed, itself and the kernel for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def make(stage: Stage, partitions: int, topics: int) -> tuple[int, int]:
    """All of them are served and in sync; the controller, and the broker that leads all."""
    cluster, each = stage.cluster, partitions // topics
    controller = cluster.controller()
    plain, third = (it for it in cluster.brokers if it != controller)
    assigned = [[plain, *((controller, third), (third, controller))[it % 2]] for it in range(each)]
    wanted = [
        NewTopic(
            f"many-{it}", each, replica_assignment=assigned, config={"min.insync.replicas": "2"}
        )
        for it in range(topics)
    ]
    with stage.measured(f"{partitions} partitions of RF 3 made, {topics} topics"):
        for future in stage.admin.create_topics(wanted, request_timeout=120).values():
            future.result(120)
        stage.await_served()
    for it in range(topics):
        cluster.await_isr(f"many-{it}", 3)
    stage.check_served()
    return controller, plain


def run(stage: Stage, partitions: int, topics: int) -> None:
    """The whole story."""
    cluster = stage.cluster
    controller, plain = make(stage, partitions, topics)
    print(
        f"  at rest {stage.await_rest():.1f} s later: logs are made when they are needed or after"
    )
    before = sum(cluster.cpu())
    sleep(10)
    idle = (sum(cluster.cpu()) - before) / 10 / len(cluster.brokers)
    print(f"\nidle: {idle:.1%} of a core, RSS {[round(it) for it in cluster.rss()]} MB")
    with stage.measured(f"kill -9 of broker {plain}, which leads all"):
        cluster.brokers[plain].kill()
        stage.await_served(plain)
    stage.check_served(plain)
    with stage.measured(f"broker {plain} is back, all replicas in sync"):
        cluster.brokers[plain].start()
        for it in range(topics):
            cluster.await_isr(f"many-{it}", 3)
    with stage.measured(f"kill -9 of the controller, broker {controller}"):
        cluster.brokers[controller].kill()
        stage.await_served(controller)
    stage.check_served(controller)
    print(f"\nafterwards: RSS {[round(it) for it in cluster.rss()]} MB")


def with_meter(file: Path) -> list[str]:
    """A broker's command, with a meter of its loop."""
    return [sys.executable, str(Path(__file__).with_name("turns.py")), "serve", str(file)]


def address_of(broker: OdradekBroker) -> tuple[str, int]:
    """Where clients find it."""
    host, _, port = broker.bootstrap.rpartition(":")
    return host, int(port)


def main() -> None:
    """One run."""
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--real-zookeeper", action="store_true")
    parser.add_argument("--only-made", action="store_true", help="nobody is killed")
    chosen = parser.parse_args()
    ports = {number: free_port() for number in (1, 2, 3)}
    with tempfile.TemporaryDirectory() as directory:
        zookeeper = None
        if chosen.real_zookeeper:
            folder = Path(directory) / "zookeeper"
            zookeeper = RealZookeeper(tools.kafka_classpath(), folder, as_in_production=True)
        live = LiveCluster(Path(directory) / "odradek", zookeeper=zookeeper)
        with live:
            for number, broker in live.brokers.items():
                broker.stop()
                broker._settings["auto.leader.rebalance.enable"] = "false"  # noqa: SLF001
                broker._settings["admin.listener"] = f"127.0.0.1:{ports[number]}"  # noqa: SLF001
                broker._command = with_meter  # noqa: SLF001
                broker.start()
            addresses = {number: address_of(it) for number, it in live.brokers.items()}
            names = [f"many-{it}" for it in range(chosen.topics)]
            leaders = Leaders(addresses, names, chosen.partitions // chosen.topics)
            story = make if chosen.only_made else run
            story(Stage(live, ports, leaders), chosen.partitions, chosen.topics)


if __name__ == "__main__":
    main()
