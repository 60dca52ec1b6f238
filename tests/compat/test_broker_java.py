"""Kafka's own Java clients and command-line tools, in one JVM for all of them."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.compat.broker_process import Broker, eventually
from tests.external.oracle import Oracle
from tests.external.tools import LOG4J

_NUMBERS = count()
TOOLS = "org.apache.kafka.tools"


class Java:
    """The JVM, and the broker that everything in it is pointed at."""

    def __init__(self, oracle: Oracle, broker: Broker) -> None:
        self.oracle = oracle
        self.bootstrap = broker.bootstrap

    def tool(self, main: str, *arguments: str) -> str:
        """What a tool says on its standard output; it must end well."""
        where = ("--bootstrap-server", self.bootstrap)
        answer = self.oracle.ask("tool", main=main, arguments=[*where, *arguments])
        assert answer["status"] == 0, answer["said"]
        said = answer["said"]
        assert isinstance(said, str)
        return said

    def topic(self, partitions: int = 1, *more: str) -> str:
        """A new one, by `kafka-topics`."""
        name = fresh("orders")
        how = ("--create", "--topic", name, "--partitions", str(partitions))
        said = self.topics(*how, "--replication-factor", "1", *more)
        assert said == f"Created topic {name}.\n"
        return name

    def topics(self, *arguments: str) -> str:
        """`kafka-topics`."""
        return self.tool(f"{TOOLS}.TopicCommand", *arguments)

    def groups(self, *arguments: str) -> str:
        """`kafka-consumer-groups`."""
        return self.tool(f"{TOOLS}.consumer.group.ConsumerGroupCommand", *arguments)

    def configs(self, *arguments: str) -> str:
        """`kafka-configs`."""
        return self.tool("kafka.admin.ConfigCommand", *arguments)

    def offsets(self, *arguments: str) -> str:
        """`kafka-get-offsets`."""
        return self.tool(f"{TOOLS}.GetOffsetShell", *arguments)

    def produce(self, topic: str, values: list[str], **how: Any) -> list[int]:
        """The producer, with its own defaults: acks=all and idempotent. The offsets."""
        time = {"time": how.pop("time")} if "time" in how else {}
        settings = {"bootstrap.servers": self.bootstrap, **how}
        about = {"topic": topic, "values": values, "settings": settings, **time}
        offsets = self.oracle.ask("produce", **about)["offsets"]
        assert isinstance(offsets, list)
        return offsets

    @contextmanager
    def consumer(
        self, topic: str, group: str, *, assign: bool = False, **how: str
    ) -> Iterator["JavaConsumer"]:
        """One that begins at the beginning."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "100",
            **{name.replace("_", "."): value for name, value in how.items()},
        }
        name = fresh("consumer")
        about = {"topic": topic, "assign": assign, "settings": settings}
        self.oracle.ask("consumer", name=name, **about)
        try:
            yield JavaConsumer(self.oracle, name, topic)
        finally:
            self.oracle.ask("close", name=name)


class JavaConsumer:
    """One of several in the JVM."""

    def __init__(self, oracle: Oracle, name: str, topic: str) -> None:
        self._oracle = oracle
        self._name = name
        self._topic = topic
        self.values: list[str] = []
        self.generation = -1

    def share(self) -> set[int]:
        """Polls; the partitions that are its at the moment."""
        answer = self.ask("poll")
        self.values += answer["values"]
        self.generation = answer["generation"]
        return set(answer["assignment"])

    def take(self, expected: int) -> list[str]:
        """So many values."""
        eventually(lambda: self.share() and len(self.values) >= expected)
        taken, self.values = self.values, []
        return taken

    def ask(self, what: str, **about: Any) -> dict[str, Any]:
        """Something else."""
        return self._oracle.ask(what, name=self._name, topic=self._topic, **about)


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


@pytest.fixture
def java_clients(kafka_in_java: Oracle, broker: Broker) -> Java:
    """At our broker."""
    return Java(kafka_in_java, broker)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_consumed(java_clients: Java, codec: str) -> None:
    """With each codec, in order, once; the producer counts its batches by default."""
    name, values = java_clients.topic(), [f"value {number}" for number in range(500)]
    offsets = java_clients.produce(name, values, **{"compression.type": codec})
    assert offsets == list(range(500))
    with java_clients.consumer(name, fresh("readers")) as client:
        assert client.take(500) == values


def test_members_share_and_inherit(java_clients: Java) -> None:
    """Two members have all partitions between them; when one leaves, the other has all."""
    name, group = java_clients.topic(4), fresh("readers")
    with java_clients.consumer(name, group) as stays:
        eventually(lambda: stays.share() == {0, 1, 2, 3})
        with java_clients.consumer(name, group) as leaves:
            eventually(lambda: len(stays.share()) == len(leaves.share()) == 2)
        eventually(lambda: stays.share() == {0, 1, 2, 3})


def test_a_static_member_comes_back_unnoticed(java_clients: Java) -> None:
    """Also the leader of the group, which is then told to assign nothing (KIP-814)."""
    name, group = java_clients.topic(2), fresh("readers")
    with java_clients.consumer(name, group, group_instance_id="one") as leader:
        eventually(lambda: leader.share() == {0, 1})
        with java_clients.consumer(name, group, group_instance_id="two") as other:
            eventually(lambda: len(leader.share()) == len(other.share()) == 1)
            had, generation = leader.share(), other.generation
            with java_clients.consumer(name, group, group_instance_id="one") as back:
                eventually(lambda: back.share() == had)
                assert len(other.share()) == 1
                assert back.generation == other.generation == generation


def test_positions(java_clients: Java) -> None:
    """Committed, sought, and found by time."""
    name, began = java_clients.topic(), 1_700_000_000_000
    java_clients.produce(name, list("abcdefgh"), time=began)
    with java_clients.consumer(name, fresh("readers"), assign=True) as client:
        client.take(8)
        assert client.ask("commit", offset=5) == {"offset": 5, "metadata": "a note"}
        assert client.ask("seek", offset=6) == {"position": 6}
        assert client.take(2) == ["g", "h"]
        times = [0, began + 3, began + 60_000]
        found = client.ask("offsets", times=times)
        assert found == {"beginning": 0, "end": 8, "found": [0, 3, -1]}


def test_kafka_topics(java_clients: Java) -> None:
    """Create, list, describe, alter, delete."""
    name = java_clients.topic(2, "--config", "retention.ms=60000")
    assert name in java_clients.topics("--list").split()
    described = java_clients.topics("--describe", "--topic", name)
    assert "PartitionCount: 2\tReplicationFactor: 1\tConfigs: " in described
    assert "retention.ms=60000" in described
    assert f"Topic: {name}\tPartition: 1\tLeader: 1\tReplicas: 1\tIsr: 1" in described
    java_clients.topics("--alter", "--topic", name, "--partitions", "3")
    eventually(lambda: "PartitionCount: 3" in java_clients.topics("--describe", "--topic", name))
    java_clients.topics("--delete", "--topic", name)
    eventually(lambda: name not in java_clients.topics("--list").split())


def test_kafka_configs(java_clients: Java) -> None:
    """Of a topic, and of the broker at run time."""
    name = java_clients.topic()
    about = ("--entity-type", "topics", "--entity-name", name)
    java_clients.configs("--alter", *about, "--add-config", "segment.bytes=1000000")
    eventually(lambda: "segment.bytes=1000000" in java_clients.configs("--describe", *about))
    java_clients.configs("--alter", *about, "--delete-config", "segment.bytes")
    eventually(lambda: "segment.bytes" not in java_clients.configs("--describe", *about))
    about = ("--entity-type", "brokers", "--entity-name", "1")
    java_clients.configs("--alter", *about, "--add-config", "log.cleaner.threads=2")
    eventually(lambda: "log.cleaner.threads=2" in java_clients.configs("--describe", *about))
    java_clients.configs("--alter", *about, "--delete-config", "log.cleaner.threads")


def test_kafka_consumer_groups(java_clients: Java) -> None:
    """Lag, members, state; offsets set anew and forgotten; the group deleted."""
    name, group = java_clients.topic(2), fresh("readers")
    java_clients.produce(name, list("abcdefgh"))
    about = ("--group", group)
    with java_clients.consumer(name, group) as client:
        client.take(8)
        client.ask("commit", offset=6)
        assert group in java_clients.groups("--list").split()
        (line,) = [
            line.split()
            for line in java_clients.groups("--describe", *about).splitlines()
            if line.split()[:3] == [group, name, "0"]
        ]
        assert line[:6] == [group, name, "0", "6", "8", "2"]
        assert "Stable" in java_clients.groups("--describe", *about, "--state")
        members = java_clients.groups("--describe", *about, "--members", "--verbose")
        assert members.split()[-2:] == ["2", "(0,1)"], members
    reset = ("--reset-offsets", "--topic", name, "--to-earliest", "--execute")
    said = " ".join(java_clients.groups(*reset, *about).split())
    assert f"{group} {name} 0 0" in said
    assert f"{group} {name} 1 0" in said
    assert "Successful" in java_clients.groups("--delete-offsets", "--topic", f"{name}:0", *about)
    assert "successful" in java_clients.groups("--delete", *about)
    assert group not in java_clients.groups("--list").split()


def test_kafka_get_offsets_and_delete_records(java_clients: Java, tmp_path: Path) -> None:
    """Earliest and latest, and the start of the log once records are gone."""
    name = java_clients.topic()
    java_clients.produce(name, list("abcdefgh"))
    assert java_clients.offsets("--topic", name) == f"{name}:0:8\n"
    file = tmp_path / "delete.json"
    file.write_text(
        f'{{"partitions": [{{"topic": "{name}", "partition": 0, "offset": 3}}], "version": 1}}'
    )
    said = java_clients.tool(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", str(file))
    assert "low_watermark: 3" in said
    assert java_clients.offsets("--topic", name, "--time", "-2") == f"{name}:0:3\n"


def test_the_verifiable_clients(java: str, kafka_classpath: str, broker: Broker) -> None:
    """Every record is acknowledged, and read; each in a process of its own, as they are meant."""

    def verifiable(main: str, *arguments: str) -> str:
        options = ("-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{LOG4J}")
        command = [java, *options, "-cp", kafka_classpath, f"{TOOLS}.Verifiable{main}"]
        command += ["--bootstrap-server", broker.bootstrap, "--max-messages", "200", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return ended.stdout

    name = fresh("orders")
    said = verifiable("Producer", "--topic", name)
    assert said.count('"producer_send_success"') == 200
    how = ("--reset-policy", "earliest")
    said = verifiable("Consumer", "--topic", name, "--group-id", fresh("readers"), *how)
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    consumed = [event["count"] for event in events if event["name"] == "records_consumed"]
    assert sum(consumed) == 200
    assert any(event["name"] == "offsets_committed" and event["success"] for event in events)
