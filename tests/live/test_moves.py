"""A reassignment that is under way: what is told of it, what plans make of it, how it is undone."""

import inspect
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from odradek.cli.brokers import cluster_health
from odradek.cli.nouns import SCRIPTS
from tests.compat.broker_process import eventually
from tests.compat.java_clients import Java
from tests.compat.odradek_shell import Shell
from tests.compat.test_kafka_scripts import Both, by_dir
from tests.external.oracle import Oracle
from tests.live.cluster import LiveCluster

SLOW: Final = "20000"
"""Bytes in a second: what is moved stays under way for as long as a test looks."""
RECORDS: Final = 10_000
"""Of a kilobyte: enough for eight minutes at that rate, on a machine that is busy, too."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """Four brokers, one more than a partition has replicas.

    A throttled replica rests behind each fetch for as long as its bytes are worth, and does not
    hear of deletions meanwhile: with Kafka's megabyte, or that of one batch, for longer than a
    script waits.
    """
    settings = {"admin.listener": "127.0.0.1:@", "replica.fetch.max.bytes": "65536"}
    with LiveCluster(tmp_path_factory.mktemp("cluster"), brokers=4, settings=settings) as cluster:
        yield cluster


def throttle(odradek: Shell, topic: str) -> None:
    """Nothing comes fast, whoever moves it."""
    for setting in ("leader", "follower"):
        name = f"{setting}.replication.throttled"
        odradek("config", "alter", "topic", topic, "-s", f"{name}.replicas=*")
        for broker in ("1", "2", "3", "4"):
            odradek("config", "alter", "broker", broker, "-s", f"{name}.rate={SLOW}")


def let_go(odradek: Shell, topic: str) -> None:
    """As it was."""
    for setting in ("leader", "follower"):
        name = f"{setting}.replication.throttled"
        odradek("config", "alter", "topic", topic, "-d", f"{name}.replicas")
        for broker in ("1", "2", "3", "4"):
            odradek("config", "alter", "broker", broker, "-d", f"{name}.rate")


@pytest.fixture
def moved(cluster: LiveCluster, odradek: Shell, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of which the only partition moves slowly from 1,2,3 to 1,3,4."""
    topic = re.sub(r"\W", "-", request.node.name)[:40]
    cluster.place(topic, [1, 2, 3])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "batch.size": 65_536})
    for _ in range(RECORDS):
        producer.produce(topic, b"x" * 1_000, partition=0)
    producer.flush(10)
    throttle(odradek, topic)
    begun = odradek("partition", "reassign", topic, "--replicas", "1,3,4", "--no-wait")
    assert begun.rows[0][-1] == "begun"
    yield topic
    let_go(odradek, topic)
    odradek.run("topic", "delete", topic, "--yes")


@pytest.fixture
def both(kafka_in_java: Oracle, cluster: LiveCluster, odradek: Shell) -> Both:
    """Kafka's scripts and ours, at all brokers."""
    return Both(Java(kafka_in_java, cluster), odradek)


def samples(cluster: LiveCluster, family: str) -> list[float]:
    """The values of a family, of all brokers."""
    found = []
    for broker in cluster.brokers.values():
        with urllib.request.urlopen(f"http://{broker.pages}/metrics") as page:
            text = page.read().decode()
        found += [
            float(it) for it in re.findall(rf"^{family}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        ]
    return found


def test_added_replicas_are_not_missing(moved: str, odradek: Shell, cluster: LiveCluster) -> None:
    """They are named as what they are, and the replication factor is the one that was there."""
    ((_, *told),) = odradek("partition", "reassignments").rows
    assert told[:3] == ["1,3,4", "4", "2"]
    (found,) = odradek("topic", "describe", moved, "--json").json
    assert found["replication_factor"] == 3
    (row,) = found["partitions"]
    assert (row["adding"], row["removing"], row["offline"]) == ([4], [2], [])
    assert odradek("topic", "list", moved).rows == [[moved, "1", "3"]]
    assert {row[-1] for row in odradek("broker", "list").rows} == {"0"}
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is healthy")
    for name in (
        "kafka_server_replicamanager_underreplicatedpartitions",
        "kafka_topic_partition_under_replicated_partition",
    ):
        assert set(samples(cluster, name)) == {0.0}, name
    said = odradek("kafka-topics", "--describe", "--topic", moved).out
    assert "ReplicationFactor: 3\t" in said
    assert "Adding Replicas: 4\tRemoving Replicas: 2" in said
    for which in ("--under-replicated-partitions", "--at-min-isr-partitions"):
        assert odradek("kafka-topics", "--describe", "--topic", moved, which).out == ""


def test_plans_are_made_from_what_is_wanted(moved: str, odradek: Shell) -> None:
    """Replicas that are being added are no part of the replication factor."""
    plan = ("partition", "reassign", moved, "--dry-run", "--json")
    assert odradek(*plan, "--brokers", "1,3,4").json == []
    assert odradek(*plan, "-r", "3").json == []
    (row,) = odradek(*plan, "--without", "4").json
    assert (row["from"], sorted(row["to"])) == ([1, 3, 4], [1, 2, 3])


def test_a_cancel_restores_the_order(moved: str, odradek: Shell) -> None:
    """And with it the preferred leader, which Kafka's protocol does not remember."""
    odradek("partition", "reassign", moved, "--replicas", "4,3,1", "--no-wait")
    (row,) = odradek("partition", "reassign", moved, "--cancel", "--json").json
    assert (row["to"], row["state"]) == ([1, 2, 3], "cancelled")

    def replicas() -> Any:
        return odradek("topic", "describe", moved, "--json").json[0]["partitions"][0]["replicas"]

    eventually(lambda: replicas() == [1, 2, 3])
    assert odradek("partition", "reassignments").rows == []


def test_a_second_command_is_told_of_the_first(
    moved: str, odradek: Shell, cluster: LiveCluster
) -> None:
    """It replaces the target, and whoever waits for the first is told that it did not happen."""
    ended = odradek("partition", "reassign", moved, "--replicas", "1,2,4", "--no-wait")
    assert f"{moved}-0 for instance, are being moved already: their target is replaced" in ended.err
    let_go(odradek, moved)
    cluster.await_isr(moved, 3)


SAY_NOTHING_OF_REPLICAS: Final = {
    "kafka-acls": "rules know no replicas",
    "kafka-consumer-perf-test": "times of its own",
    "kafka-console-producer": "writes",
    "kafka-producer-perf-test": "times of its own",
    "zookeeper-security-migration": "asks no broker",
}
"""Scripts that have nothing to compare while replicas are copied, and why."""


def test_every_script_is_compared_during_a_move() -> None:
    """A new one is in the test below, or among those that tell nothing of replicas."""
    compared = inspect.getsource(test_kafkas_own_scripts_say_the_same)
    assert {it for it in SCRIPTS if f'"{it}"' not in compared} == SAY_NOTHING_OF_REPLICAS.keys()


def without_sizes(text: str) -> str:
    """Of logs, which grow while they are copied."""
    return re.sub(r'"size":\d+', '"size":0', text)


def test_kafkas_own_scripts_say_the_same(
    moved: str, both: Both, cluster: LiveCluster, tmp_path: Path
) -> None:
    """Every script that tells something, while replicas are copied."""
    both.odradek("consume", moved, "-e", "-g", "readers", "-f", "")
    head, line = both.kafka("kafka-topics", "--describe", "--topic", moved)
    our_head, our_line = both.ours("kafka-topics", "--describe", "--topic", moved)
    assert our_line == line
    assert sorted(re.split(r"[\s,]+", our_head)) == sorted(re.split(r"[\s,]+", head))
    for which in ("under-replicated", "under-min-isr", "at-min-isr", "unavailable"):
        call = ("kafka-topics", "--describe", "--topic", moved, f"--{which}-partitions")
        assert both.same(*call) == []
    both.same("kafka-topics", "--list")
    assert any(moved in it for it in both.same("kafka-reassign-partitions", "--list"))
    row = {"topic": moved, "partition": 0, "replicas": [1, 3, 4]}
    plan = tmp_path / "moves.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    verify = ("--verify", "--reassignment-json-file", str(plan))
    assert "still in progress" in "\n".join(both.same("kafka-reassign-partitions", *verify))
    both.same("kafka-consumer-groups", "--list")
    for more in ((), ("--state",), ("--members",), ("--offsets",)):
        both.same("kafka-consumer-groups", "--describe", "--group", "readers", *more)
    topic = ("--entity-type", "topics", "--entity-name", moved)
    assert any("throttled" in it for it in both.same("kafka-configs", "--describe", *topic))
    both.same("kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", "4")
    both.same("kafka-get-offsets", "--topic", moved)
    both.same("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
    both.same("kafka-console-consumer", "--topic", moved, "--from-beginning", "--max-messages", "3")
    both.same("kafka-features", "describe")
    both.same("kafka-transactions", "list")
    at = ("--topic", moved, "--partition", "0")
    for broker in ((), ("--broker-id", "2"), ("--broker-id", "3")):
        both.same("kafka-transactions", "describe-producers", *at, *broker)
    both.same("kafka-transactions", "find-hanging", "--topic", moved)
    asked = ("kafka-log-dirs", "--describe", "--topic-list", moved)
    *lines, kafka = both.kafka(*asked)
    *our_lines, ours = both.ours(*asked)
    assert our_lines == lines
    assert by_dir(without_sizes(ours)) == by_dir(without_sizes(kafka))
    rows = {"version": 1, "partitions": [{"topic": moved, "partition": 0, "offset": 3}]}
    plan.write_text(json.dumps(rows))
    both.same("kafka-delete-records", "--offset-json-file", str(plan))
    files = sorted(cluster.brokers[1].directory.glob(f"disk-?/{moved}-0/*.log"))
    both.same("kafka-dump-log", "--files", str(files[0]))


def test_what_kafkas_script_cancels_is_what_ours_cancels(
    moved: str, both: Both, cluster: LiveCluster, tmp_path: Path
) -> None:
    """Each for a move of the same kind; the set is as it was, and nothing is left under way."""
    row = {"topic": moved, "partition": 0, "replicas": [1, 3, 4]}
    plan = tmp_path / "moves.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    file = ("--reassignment-json-file", str(plan))
    said = []
    for say in both.either:
        said.append(say("kafka-reassign-partitions", "--cancel", *file))
        assert both.same("kafka-reassign-partitions", "--list") == [
            "No partition reassignments found."
        ]
        eventually(lambda: cluster.partitions(moved)[0][1] == [1, 2, 3])
        both.odradek("partition", "reassign", moved, "--replicas", "1,3,4", "--no-wait")
    kafka, ours = ("".join("".join(it).split()) for it in said)  # Kafka's breaks lines elsewhere
    assert ours == kafka


def test_a_move_that_stands_is_named(
    moved: str, odradek: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the leader, which knows when something last came; here a moment is long enough."""
    assert "reassignment stands" not in odradek.run("cluster", "health").out
    monkeypatch.setattr(cluster_health, "STANDS", 1)

    def is_named() -> bool:
        found = odradek.run("cluster", "health", "--json").json["problems"]
        return any(
            it["problem"] == "reassignment stands"
            and it["cause"].startswith("broker 4 has copied nothing from broker ")
            and it["partitions"] == {moved: [0]}
            for it in found
        )

    eventually(is_named, what="it is named")
