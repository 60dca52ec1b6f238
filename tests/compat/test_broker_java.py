"""Kafka's own Java clients and command-line tools, in one JVM for all of them."""

from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.compat.java_clients import TOOLS, Java, fresh


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_consumed(java_clients: Java, codec: str) -> None:
    """With each codec, in order, once; the producer counts its batches by default."""
    name, values = java_clients.topic(), [f"value {number}" for number in range(500)]
    offsets = java_clients.produce(name, values, **{"compression.type": codec})
    assert offsets == list(range(500))
    with java_clients.consumer(name, fresh("readers")) as client:
        assert client.take(500) == values


def test_a_producer_that_does_not_count(java_clients: Java) -> None:
    """As it was before it did so by default: acknowledged by the leader, in order all the same."""
    name, values = java_clients.topic(), [f"value {number}" for number in range(500)]
    how = {"enable.idempotence": "false", "acks": "1", "linger.ms": "5"}
    assert java_clients.produce(name, values, **how) == list(range(500))
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


def test_members_that_change_hands_little_by_little(java_clients: Java) -> None:
    """The cooperative assignor rebalances twice, and keeps what need not move."""
    name, group = java_clients.topic(4), fresh("readers")
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    with java_clients.consumer(name, group, partition_assignment_strategy=assignor) as one:
        eventually(lambda: one.share() == {0, 1, 2, 3})
        with java_clients.consumer(name, group, partition_assignment_strategy=assignor) as other:
            eventually(lambda: len(one.share()) == len(other.share()) == 2)


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
