"""A real Kafka broker in ZooKeeper mode that has our server for its ZooKeeper."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)
from kazoo.client import KazooClient

from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.kafka import RealKafka

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def kafka(
    kafka_classpath: str, our_zookeeper: OurZookeeper, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealKafka]:
    """One broker, with a root of its own."""
    host, port = our_zookeeper.address
    directory = tmp_path_factory.mktemp("kafka")
    kafka = RealKafka(kafka_classpath, directory, f"{host}:{port}/kafka")
    kafka.start()
    yield kafka
    kafka.stop()


_NUMBERS = count()


@contextmanager
def looking(server: OurZookeeper, root: str) -> Iterator[KazooClient]:
    """At a cluster's tree, by another client."""
    host, port = server.address
    client = KazooClient(f"{host}:{port}{root}")
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def topic(kafka: RealKafka, partitions: int = 1) -> str:
    """A new one, by Kafka's own controller."""
    name = f"orders-{next(_NUMBERS)}"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for done in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        done.result(SECONDS_MAX)
    return name


def produce(kafka: RealKafka, name: str, values: list[bytes]) -> None:
    """With acks=all, so that each is committed."""
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all"})
    for value in values:
        producer.produce(name, value, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(SECONDS_MAX) == 0
    assert failed == [None] * len(values)


def consume(kafka: RealKafka, name: str, expected: int) -> list[bytes]:
    """By a group, from the start."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": f"readers-of-{name}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([name])
    values: list[bytes] = []
    while len(values) < expected:
        messages = consumer.consume(expected - len(values), timeout=SECONDS_MAX)
        assert messages, f"only {len(values)} of {expected} came"
        for message in messages:
            assert message.error() is None
            values.append(message.value() or b"")
    consumer.close()
    return values


def test_it_creates_topics_and_serves_a_produce_and_a_consume(kafka: RealKafka) -> None:
    """Registration, controller election, topics, partition states, a group: all on our server."""
    name = topic(kafka)
    values = [b"%d" % number for number in range(100)]
    produce(kafka, name, values)
    assert consume(kafka, name, len(values)) == values


def test_its_tree_is_where_tools_look_for_it(kafka: RealKafka, our_zookeeper: OurZookeeper) -> None:
    """The broker is registered, it is the controller, and a topic has its partitions."""
    name = topic(kafka, partitions=3)
    with looking(our_zookeeper, "/kafka") as client:
        assert client.get_children("/brokers/ids") == ["0"]
        assert b'"brokerid":0' in client.get("/controller")[0]
        assert client.exists("/controller").ephemeralOwner
        states = sorted(client.get_children(f"/brokers/topics/{name}/partitions"))
        assert states == ["0", "1", "2"]
        assert b'"leader":0' in client.get(f"/brokers/topics/{name}/partitions/0/state")[0]


def test_its_controller_acts_on_what_it_watches(kafka: RealKafka) -> None:
    """More partitions, another setting, a deletion: all go by way of watches."""
    name = topic(kafka)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for done in admin.create_partitions([NewPartitions(name, 4)]).values():
        done.result(SECONDS_MAX)
    entry = ConfigEntry("retention.ms", "12345", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result(SECONDS_MAX)
    (found,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name)]).values()
    assert found.result(SECONDS_MAX)["retention.ms"].value == "12345"
    assert len(admin.list_topics(name, SECONDS_MAX).topics[name].partitions) == 4
    for done in admin.delete_topics([name]).values():
        done.result(SECONDS_MAX)
    assert name not in admin.list_topics(timeout=SECONDS_MAX).topics


def test_it_lives_through_a_restart_of_the_zookeeper_server(
    kafka: RealKafka, our_zookeeper: OurZookeeper
) -> None:
    """Its session and its registration are still there, and it goes on as if nothing had been."""
    name = topic(kafka)
    produce(kafka, name, [b"before"])
    with looking(our_zookeeper, "/kafka") as before:
        registration = before.get("/brokers/ids/0")
    our_zookeeper.stop()
    our_zookeeper.start()
    other = topic(kafka)
    produce(kafka, name, [b"after"])
    produce(kafka, other, [b"new"])
    assert consume(kafka, name, 2) == [b"before", b"after"]
    with looking(our_zookeeper, "/kafka") as after:
        assert after.get("/brokers/ids/0") == registration


def test_the_death_of_one_is_noticed_by_the_other(
    kafka_classpath: str, our_zookeeper: OurZookeeper, tmp_path: Path
) -> None:
    """Its session expires, its nodes go, and who watches them becomes the controller."""
    host, port = our_zookeeper.address
    connect = f"{host}:{port}/failover"
    one, two = (RealKafka(kafka_classpath, tmp_path / str(n), connect, n) for n in range(2))
    one.start()
    two.start()
    try:
        with looking(our_zookeeper, "/failover") as client:
            assert b'"brokerid":0' in client.get("/controller")[0]
            one.kill()
            moved = Event()

            def look(*_: object) -> None:
                found = client.exists("/controller", watch=look)
                if found and b'"brokerid":1' in client.get("/controller")[0]:
                    moved.set()

            look()
            assert moved.wait(SECONDS_MAX)
            assert client.get_children("/brokers/ids") == ["1"]
            assert client.get("/controller_epoch")[0] == b"2"
    finally:
        one.kill()
        two.stop()
