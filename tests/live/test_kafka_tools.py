"""Kafka's own tools for several brokers, at three of ours, each in a rack of its own."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.compat.broker_process import eventually
from tests.compat.java_clients import TOOLS, Java, fresh
from tests.compat.odradek_shell import Shell
from tests.external.oracle import Oracle
from tests.live.cluster import LiveCluster
from tests.live.programs import JavaProgram, running

REASSIGN: Final = f"{TOOLS}.reassign.ReassignPartitionsCommand"
RACKS: Final = {
    "broker.rack": "rack-#",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}
ELECT: Final = f"{TOOLS}.LeaderElectionCommand"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """One for all tests of this file: use topics of your own in it."""
    with LiveCluster(tmp_path_factory.mktemp("cluster"), settings=RACKS) as cluster:
        yield cluster


@pytest.fixture
def java(kafka_in_java: Oracle, cluster: LiveCluster) -> Java:
    """Kafka's tools, at all three."""
    return Java(kafka_in_java, cluster)


def described(java: Java, *which: str) -> list[tuple[str, int]]:
    """The partitions that `kafka-topics --describe` names."""
    said = java.topics("--describe", *which)
    found = re.findall(r"Topic: (\S+)\s+Partition: (\d+)", said)
    return [(topic, int(number)) for topic, number in found]


def test_sick_partitions_are_named(java: Java, cluster: LiveCluster) -> None:
    """kafka-topics: without full ISR, at min ISR, below it, without a leader; and none in the end.

    Then kafka-leader-election brings the leaders back to where they are preferred.
    """
    name, alone = fresh("orders"), fresh("alone")
    cluster.place(name, [1, 2, 3], [2, 3, 1])
    cluster.place(alone, [1])
    mine = ("--topic", f"{name}|{alone}")
    cluster.brokers[1].stop()
    under = described(java, "--under-replicated-partitions", *mine)
    assert under == [(name, 0), (name, 1)]
    assert described(java, "--at-min-isr-partitions", "--topic", name) == [(name, 0), (name, 1)]
    assert described(java, "--unavailable-partitions", *mine) == [(alone, 0)]
    cluster.brokers[3].kill()
    cluster.await_gone(3, name)
    assert described(java, "--under-min-isr-partitions", "--topic", name) == [(name, 0), (name, 1)]
    cluster.brokers[1].start()
    cluster.brokers[3].start()
    cluster.await_isr(name, 3)
    for which in ("--under-replicated-partitions", "--unavailable-partitions"):
        assert described(java, which, *mine) == []
    said = java.tool(ELECT, "--election-type", "preferred", "--all-topic-partitions")
    assert "Error" not in said
    eventually(lambda: [it for it, _ in cluster.partitions(name).values()] == [1, 2])


def test_partitions_are_reassigned(java: Java, cluster: LiveCluster, tmp_path: Path) -> None:
    """kafka-reassign-partitions: a plan, its execution with a throttle, and its verification."""
    name = fresh("orders")
    cluster.place(name, [1, 2], [2, 1])
    java.produce(name, [str(number) for number in range(100)])
    topics, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    said = java.tool(
        REASSIGN, "--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,3"
    )
    plan.write_text(said.split("Proposed partition reassignment configuration\n")[1])
    how = ("--reassignment-json-file", str(plan))
    java.tool(REASSIGN, "--execute", *how, "--throttle", "10000000")
    eventually(lambda: "still in progress" not in java.tool(REASSIGN, "--verify", *how))
    eventually(lambda: "No partition reassignments found." in java.tool(REASSIGN, "--list"))
    cluster.await_isr(name, 2)
    assert {broker for _, isr in cluster.partitions(name).values() for broker in isr} == {1, 3}
    left = java.configs("--describe", "--entity-type", "topics", "--entity-name", name)
    assert "throttled" not in left
    cluster.check_replicas_equal(name)


def test_a_reassignment_names_log_dirs(java: Java, cluster: LiveCluster, tmp_path: Path) -> None:
    """kafka-reassign-partitions: one replica moves between the dirs of its broker, one comes."""
    name = fresh("orders")
    cluster.place(name, [1, 2])
    java.produce(name, [str(number) for number in range(100)])
    dirs = {it: cluster.brokers[it].directory for it in (1, 3)}
    (here,) = (it.parent for it in dirs[1].glob(f"disk-?/{name}-0"))
    (there,) = {dirs[1] / "disk-a", dirs[1] / "disk-b"} - {here}
    wanted = [str(there), str(dirs[3] / here.name)]
    row = {"topic": name, "partition": 0, "replicas": [1, 3], "log_dirs": wanted}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    how = ("--reassignment-json-file", str(plan))
    java.tool(REASSIGN, "--execute", *how, "--replica-alter-log-dirs-throttle", "10000000")
    eventually(lambda: "still in progress" not in java.tool(REASSIGN, "--verify", *how))
    cluster.await_isr(name, 2)
    for directory in wanted:
        eventually((Path(directory) / f"{name}-0").is_dir, what=f"it is in {directory}")
    cluster.check_replicas_equal(name)


def test_a_log_dir_is_offline(
    java: Java,
    cluster: LiveCluster,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kafka-topics and kafka-log-dirs tell of its replicas, until an empty dir is in its place."""
    name = fresh("orders")
    cluster.place(name, *([[2, 1, 3]] * 4))
    odradek = Shell(capfdbinary, monkeypatch)
    odradek.bootstrap = cluster.bootstrap
    disk = cluster.brokers[2].directory / "disk-a"

    def here() -> list[tuple[str, int]]:
        return sorted((name, int(it.name.rpartition("-")[2])) for it in disk.glob(f"{name}-?"))

    lost = here()
    assert 0 < len(lost) < 4
    mine = ("--topic", name)
    assert described(java, "--under-replicated-partitions", *mine) == []
    assert errors_of_dirs(java)[str(disk)] is None
    odradek("logdirs", "offline", str(disk), "--broker", "2", "--yes")
    eventually(lambda: described(java, "--under-replicated-partitions", *mine) == lost)
    said = java.topics("--describe", *mine)
    for number in range(4):
        (line,) = re.findall(rf"Partition: {number}\b(.*)", said)
        leader, isr = re.findall(r"(?:Leader|Isr): (\S+)", line)
        assert (leader != "2") == ("2" not in isr) == ((name, number) in lost), line
    assert "KafkaStorageException" in (errors_of_dirs(java)[str(disk)] or "")
    disk.rename(disk.with_name("away"))
    disk.mkdir()
    odradek("logdirs", "replace", str(disk), "--broker", "2")
    cluster.await_isr(name, 3)
    assert described(java, "--under-replicated-partitions", *mine) == []
    assert errors_of_dirs(java)[str(disk)] is None
    assert here() == lost


def errors_of_dirs(java: Java) -> dict[str, str | None]:
    """Of broker 2, as `kafka-log-dirs --describe` has them."""
    said = java.tool(f"{TOOLS}.LogDirsCommand", "--describe", "--broker-list", "2")
    (broker,) = json.loads(said.splitlines()[-1])["brokers"]
    return {it["logDir"]: it["error"] for it in broker["logDirs"]}


def test_replicas_and_offsets_are_compared(
    java: Java, cluster: LiveCluster, kafka_classpath: str, tmp_path: Path
) -> None:
    """kafka-replica-verification finds no difference; kafka-get-offsets says where logs end."""
    name = fresh("orders")
    cluster.make(name, 3)
    java.produce(name, [str(number) for number in range(300)])
    said = java.offsets("--topic", name).split()
    assert [line.rpartition(":")[0] for line in said] == [f"{name}:{number}" for number in range(3)]
    assert sum(int(line.rpartition(":")[2]) for line in said) == 300
    how = ("--broker-list", cluster.bootstrap, "--topics-include", name)
    interval = ("--report-interval-ms", "500", "--fetch-size", "10000")
    tool = JavaProgram(kafka_classpath, "ReplicaVerificationTool", tmp_path, *how, *interval)
    with running(tool):
        reports = "max lag is"
        eventually(lambda: sum(reports in line for line in tool.lines()) > 1, what="it reports")
        wrong = [line for line in tool.lines() if reports in line and "max lag is 0 " not in line]
        assert wrong == []


def test_groups_are_described_after_their_coordinator_has_gone(
    java: Java, cluster: LiveCluster
) -> None:
    """kafka-consumer-groups asks the new one, which knows what was committed."""
    name, group = fresh("orders"), fresh("readers")
    cluster.make(name, 1)
    java.produce(name, list("abcdef"))
    with java.consumer(name, group) as consumer:
        assert consumer.take(6) == list("abcdef")
        consumer.ask("commit", offset=6)

    def state() -> str:
        return java.groups("--describe", "--group", group, "--state")

    coordinator = int(re.findall(r"\((\d+)\)", state())[0])
    cluster.brokers[coordinator].stop()
    said = java.groups("--describe", "--group", group)
    assert re.search(rf"{group}\s+{name}\s+0\s+6\s+6\s+0", said)
    assert f"({coordinator})" not in state()
    cluster.brokers[coordinator].start()
    cluster.await_isr(name, 3)


def test_a_consumer_reads_from_the_replica_in_its_rack(java: Java, cluster: LiveCluster) -> None:
    """The leader sends it there (KIP-392), and takes it back when that replica is gone."""
    name = fresh("orders")
    cluster.place(name, [1, 2, 3])
    served_by: list[int] = []

    def look(statistics: str) -> None:
        found = json.loads(statistics)["topics"].get(name, {}).get("partitions", {}).get("0")
        if found is not None:
            served_by.append(found["broker"])

    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": fresh("readers"),
            "client.rack": "rack-3",
            "statistics.interval.ms": 50,
            "stats_cb": look,
        }
    )
    consumer.assign([TopicPartition(name, 0, 0)])

    def reads(values: list[str], broker: int) -> bool:
        taken: list[str] = []
        java.produce(name, values)
        while len(taken) < len(values):
            for message in consumer.consume(len(values) - len(taken), timeout=1):
                assert message.error() is None, message.error()
                taken.append((message.value() or b"").decode())
        eventually(lambda: consumer.poll(0.1) is None and served_by[-1:] == [broker])
        return taken == values

    assert reads(list("abc"), 3)
    assert reads(list("def"), 3)
    cluster.brokers[3].stop()
    assert reads(list("ghi"), 1)
    cluster.brokers[3].start()
    cluster.await_isr(name, 3)
    consumer.close()
