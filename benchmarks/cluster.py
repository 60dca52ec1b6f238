"""Three of our brokers beside three of Apache Kafka 3.9 in ZooKeeper mode: one machine, one run.

Replication factor 3, `min.insync.replicas` 2, acks=all, the same clients. Both clusters run all the
time; each case is done by one and then by the other, in pairs (`in_turns`), which also say what the
machine was like. The JVMs are warmed up by the first pair, which is shown apart. CPU seconds are
those of all three brokers, from the kernel's books.
`python benchmarks/cluster.py [--pairs N] [CASE ...]`; a case alone takes less than four minutes.
`--before DIR` takes, in Kafka's place, our brokers as they are in another working tree.

Bars: 1 KB at least 2 times the throughput at 0.4 of the CPU; lz4 and idempotent 1.5 and 0.5; 1,000
messages a second p50 at most 0.8, p99 at most 0.15, CPU at most 0.6; RF 1 at least 1.5 at 0.6. A
broker or the controller killed, and each of three brokers restarted: the longest gap in
acknowledgements on all partitions at most 0.5 s, no record lost, doubled or failed. A leader that
hangs: the session time-out. 10,000 partitions of RF 3: created in 8 s; all led again 2 s after the
controller was killed; a broker with 10,000 replicas at most 250 MB and less than 5 % of a core when
idle.
"""

import argparse
import compileall
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from types import MappingProxyType
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.broker import TICKS, produce, quantiles, used
from benchmarks.in_turns import Figures, in_turns, told
from tests.crash.zookeeper_process import ZookeeperProcess
from tests.external import tools
from tests.external.kafka import RealKafka
from tests.external.ports import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.workload import SteadyProducer, check_kept, check_once, read_all

PARTITIONS: Final = 6
GAP_PARTITIONS: Final = 30
MESSAGES: Final = 200_000
PACE: Final = 1_000
PACED_SECONDS: Final = 5
SETTLE_SECONDS: Final = 60
SESSION: Final = "zookeeper.session.timeout.ms"
SESSION_MS: Final = "6000"  # of both; that of ours counts only where a process hangs
MANY: Final = 10_000


class KafkaBroker(RealKafka):
    """One of three."""

    options = ("-Xms512m", "-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


class Cluster:
    """Three brokers of one make."""

    def __init__(self, name: str, brokers: dict[int, Any]) -> None:
        self.name = name
        self.brokers = brokers
        self.broker = self  # where a benchmark of one broker looks for the bootstrap

    @property
    def bootstrap(self) -> str:
        """Of all three."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    @property
    def pids(self) -> list[int]:
        """Of their processes."""
        return [broker._process.pid for broker in self.brokers.values() if broker._process]  # noqa: SLF001

    def cpu(self) -> tuple[float, float]:
        """User and system seconds so far, of all."""
        user = system = 0.0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            user, system = user + int(fields[11]) / TICKS, system + int(fields[12]) / TICKS
        return user, system

    def rss(self) -> list[float]:
        """Megabytes of each."""
        return [
            int(line.split()[1]) / 1_024
            for pid in self.pids
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ]

    def admin(self) -> AdminClient:
        """A client of all."""
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def make(self, topic: str, partitions: int = PARTITIONS, replicas: int = 3) -> None:
        """A topic; returns once all replicas are in sync."""
        config = {"min.insync.replicas": str(min(2, replicas))}
        new = NewTopic(topic, partitions, replicas, config=config)
        admin = self.admin()
        admin.create_topics([new], request_timeout=120)[topic].result(120)
        self.await_isr(topic, replicas)

    def await_isr(self, topic: str, count: int) -> None:
        """Until every partition is led, and has so many replicas in sync."""
        end = perf_counter() + SETTLE_SECONDS
        admin = self.admin()
        while perf_counter() < end:
            rows = admin.list_topics(topic, timeout=30).topics[topic].partitions.values()
            if all(it.leader >= 0 and len(it.isrs) >= count for it in rows):
                return
            sleep(0.1)
        raise AssertionError(f"{self.name}: {topic} has not {count} replicas in sync")

    def controller(self) -> int:
        """Which broker it is."""
        return int(self.admin().list_topics(timeout=30).controller_id)


Case = Callable[[Cluster, str], Figures]


def case_produce(size: int, count: int, replicas: int = 3, **settings: Any) -> Case:
    """One producer, six partitions."""

    def case(cluster: Cluster, topic: str) -> Figures:
        cluster.make(topic, replicas=replicas)
        how = {"acks": "all", **settings}
        return used(cluster, lambda: produce(cluster, topic, size, count, **how), "message")  # type: ignore[arg-type]

    return case


def case_paced(cluster: Cluster, topic: str) -> Figures:
    """1,000 messages a second of 1 KB, linger 0, acks=all: until acknowledged."""
    cluster.make(topic)
    acked: list[float] = []
    how = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0}
    producer = Producer(how)
    before = sum(cluster.cpu())
    began = perf_counter()
    for number in range(PACE * PACED_SECONDS):
        while perf_counter() < began + number / PACE:
            producer.poll(0.0002)
        sent = perf_counter()

        def on_delivery(error: object, message: object, sent: float = sent) -> None:
            del message
            if error is None:
                acked.append(perf_counter() - sent)

        producer.produce(topic, os.urandom(500) + bytes(500), on_delivery=on_delivery)
        producer.poll(0)
    producer.flush(10)
    busy = (sum(cluster.cpu()) - before) / PACED_SECONDS
    return quantiles(acked, "ms acked") | {"core share": busy}


def gap_of(
    cluster: Cluster, topic: str, hit: Callable[[], int], *, is_elected_told: bool = False
) -> Figures:
    """The longest time without an acknowledgement, over all partitions, when something is done.

    `hit` returns the broker that it ended, which is started again at the end. Where the client
    holds on to a broker that says nothing, the time until others lead is told apart.
    """
    cluster.make(topic, GAP_PARTITIONS)
    with counting_producer(cluster, topic) as producer:
        sleep(2)
        producer.reset()
        sleep(1)
        quiet = max(producer.gaps.values())
        ended = hit()
        elected = {"others lead s": led_by_others(cluster, topic, ended)} if is_elected_told else {}
        wait_for_all(producer)
        gap = max(producer.gaps.values())
    revive(cluster, ended)
    cluster.await_isr(topic, 3)
    check(cluster, topic, producer)
    return {"gap s": gap, "gap s before": quiet, **elected}


def led_by_others(cluster: Cluster, topic: str, ended: int) -> float:
    """Seconds until every partition is led by another broker, as those others say."""
    began = perf_counter()
    others = [it.bootstrap for number, it in cluster.brokers.items() if number != ended]
    admins = [AdminClient({"bootstrap.servers": it}) for it in others]
    while True:
        for admin in admins:
            with suppress(KafkaException):
                rows = admin.list_topics(topic, timeout=1).topics[topic].partitions.values()
                if all(row.leader not in (ended, -1) for row in rows):
                    return perf_counter() - began
        sleep(0.05)


def counting_producer(cluster: Cluster, topic: str) -> SteadyProducer:
    """An idempotent one: 100 records a second to each partition."""
    how = {"enable.idempotence": True}
    return SteadyProducer(cluster.bootstrap, topic, GAP_PARTITIONS, pause=0.01, **how)


def check(cluster: Cluster, topic: str, producer: SteadyProducer) -> None:
    """Nothing failed, was lost, or is there twice."""
    assert not producer.failed, producer.failed[:3]
    found = read_all(cluster.bootstrap, topic, GAP_PARTITIONS)
    check_kept(producer, found)
    check_once(found)


def revive(cluster: Cluster, number: int) -> None:
    """Starts a broker again, or lets it go on."""
    broker = cluster.brokers[number]
    if broker._process is None:  # noqa: SLF001
        broker.start()
    else:
        os.kill(broker._process.pid, signal.SIGCONT)  # noqa: SLF001


def wait_for_all(producer: SteadyProducer) -> None:
    """Until every partition has acknowledged something new."""
    sleep(1)
    counts = {number: len(acks) for number, acks in producer.acknowledged.items()}
    end = perf_counter() + SETTLE_SECONDS
    while perf_counter() < end:
        if all(len(producer.acknowledged[it]) > count for it, count in counts.items()):
            sleep(0.5)
            return
        sleep(0.05)
    raise AssertionError("some partition acknowledges nothing any more")


def case_kill_leader(cluster: Cluster, topic: str) -> Figures:
    """`kill -9` of a broker that is not the controller, and leads a third of 30 partitions."""

    def hit() -> int:
        number = next(it for it in cluster.brokers if it != cluster.controller())
        cluster.brokers[number].kill()
        return number

    return gap_of(cluster, topic, hit)


def case_kill_controller(cluster: Cluster, topic: str) -> Figures:
    """`kill -9` of the controller, which also leads a third of 30 partitions."""

    def hit() -> int:
        number = cluster.controller()
        cluster.brokers[number].kill()
        return number

    return gap_of(cluster, topic, hit)


def case_pause_leader(cluster: Cluster, topic: str) -> Figures:
    """SIGSTOP of a broker that is not the controller, and leads a third of 30 partitions."""

    def hit() -> int:
        number = next(it for it in cluster.brokers if it != cluster.controller())
        os.kill(cluster.brokers[number]._process.pid, signal.SIGSTOP)  # noqa: SLF001
        return number

    return gap_of(cluster, topic, hit, is_elected_told=True)


def case_rolling(cluster: Cluster, topic: str) -> Figures:
    """Each broker is stopped and started, one after the other, under load."""
    cluster.make(topic, GAP_PARTITIONS)
    gaps = []
    with counting_producer(cluster, topic) as producer:
        sleep(2)
        for broker in cluster.brokers.values():
            producer.reset()
            broker.stop()
            broker.start()
            cluster.await_isr(topic, 3)
            gaps.append(max(producer.gaps.values()))
    check(cluster, topic, producer)
    return {f"gap s of broker {number}": gap for number, gap in enumerate(gaps, 1)}


def case_many(cluster: Cluster, topic: str) -> Figures:
    """10,000 partitions of RF 3: made, idle, and led again after `kill -9` of the controller."""
    began = perf_counter()
    new = NewTopic(topic, MANY, 3, config={"min.insync.replicas": "2"})
    admin = cluster.admin()
    with suppress(Exception):  # a request may time out; what counts is when all are led
        admin.create_topics([new], request_timeout=120)[topic].result(120)
    cluster.await_isr(topic, 3)
    created = perf_counter() - began
    sleep(5)
    before = sum(cluster.cpu())
    sleep(10)
    idle = (sum(cluster.cpu()) - before) / 10 / len(cluster.brokers)
    rss = max(cluster.rss())
    number = cluster.controller()
    cluster.brokers[number].kill()
    began = perf_counter()
    while perf_counter() - began < SETTLE_SECONDS:
        rows = admin.list_topics(topic, timeout=30).topics[topic].partitions.values()
        if all(it.leader not in {-1, number} for it in rows):
            break
        sleep(0.05)
    led = perf_counter() - began
    cluster.brokers[number].start()
    cluster.await_isr(topic, 3)
    return {"created s": created, "idle core share": idle, "RSS MB": rss, "led again s": led}


CASES: Final[dict[str, Case]] = {
    "1kb": case_produce(1_000, MESSAGES),
    "100b": case_produce(100, MESSAGES),
    "lz4": case_produce(1_000, MESSAGES, **{"compression.type": "lz4", "enable.idempotence": True}),
    "rf1": case_produce(1_000, MESSAGES, replicas=1),
    "paced": case_paced,
    "kill-leader": case_kill_leader,
    "kill-controller": case_kill_controller,
    "pause-leader": case_pause_leader,
    "rolling": case_rolling,
    "many": case_many,
}


def run(cases: Mapping[str, Case], settings: Mapping[str, str] = MappingProxyType({})) -> None:
    """In turns, those that the command names; settings of both, besides what each has."""
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(cases))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="only our own brokers")
    parser.add_argument("--before", type=Path, metavar="DIR", help="a working tree, not Kafka")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        root, how = Path(directory), {SESSION: SESSION_MS, **settings}
        live = stack.enter_context(LiveCluster(root / "odradek", settings=how))
        clusters = [Cluster("odradek", dict(live.brokers))]
        if chosen.before is not None:
            before = stack.enter_context(Earlier(root / "before", chosen.before, how))
            clusters.append(Cluster("before", dict(before.brokers)))
        elif not chosen.alone:
            clusters.append(start_kafka(root, how, stack))
        for name in chosen.cases or cases:
            compare(name, cases[name], clusters, chosen.pairs)


class Earlier(LiveCluster):
    """Three of our brokers, as they are in another working tree."""

    def __init__(self, directory: Path, tree: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory, settings=settings)
        compileall.compile_dir(str(tree / "src"), quiet=1)
        self._source = tree / "src"

    def kind(self, folder: Path, number: int, **settings: str) -> ClusterBroker:
        """One of them."""
        broker = ClusterBroker(folder, number, **settings)
        broker.source = self._source
        return broker


def start_kafka(root: Path, how: Mapping[str, str], stack: ExitStack) -> Cluster:
    """Side by side: they start slowly."""
    keeper = ZookeeperProcess(root / "kafka-zookeeper", "--port", str(free_port()))
    keeper.directory.mkdir()
    keeper.start()
    stack.callback(keeper.stop)
    where = f"{keeper.address[0]}:{keeper.address[1]}"
    jars = tools.kafka_classpath()
    brokers = {
        number: KafkaBroker(jars, root / f"kafka-{number}", where, number, settings=how)
        for number in (1, 2, 3)
    }
    for broker in brokers.values():
        broker.begin()
        stack.callback(broker.kill)
    for broker in brokers.values():
        broker.await_started()
    return Cluster("kafka", dict(brokers))


def compare(name: str, case: Case, clusters: list[Cluster], pairs: int) -> None:
    """One case: the figures of both, and the ratios of ours to Kafka's."""

    def turn(cluster: Cluster, number: int) -> Figures:
        return case(cluster, f"{name}-{number}")

    ours, *others = (partial(turn, cluster) for cluster in clusters)
    found = in_turns(ours, others[0] if others else None, pairs)
    print("\n" + told(name, found, ("ours", clusters[-1].name)), flush=True)


if __name__ == "__main__":
    run(CASES)
