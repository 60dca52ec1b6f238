"""Kafka's ZooKeeper tree and its log dir are taken over by our broker, and given back.

One cluster, one directory, one port: Kafka 3.9 and Odradek take turns at being broker 1. Clients
that live through all of it see restarts, as of any broker.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions
from kazoo.client import KazooClient

from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat.broker_process import Broker, OdradekBroker, eventually
from tests.compat.hostile import Raw
from tests.compat.librdkafka import create_topic, quiet, read_all
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.kafka import RealKafka

SECONDS_MAX = 60
TOPIC, BROKER = 2, 4
SET = 0
SMALL_BATCHES = {"batch.num.messages": 20}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COMPLAINTS = ("orrupt", "Rebuilding", "Recovering", "not cleanly", "ERROR", "invalid", "FATAL")
ENDINGS: dict[str, Callable[[Broker], None]] = {
    "stopped": lambda broker: broker.stop(),
    "killed": lambda broker: broker.kill(),
}


class Turns:
    """Kafka and Odradek, of which at most one runs."""

    def __init__(self, classpath: str, directory: Path, zookeeper: str) -> None:
        self._zookeeper = zookeeper
        self.kafka = RealKafka(classpath, directory / "kafka", zookeeper, 1)
        self.ours = OdradekBroker(
            directory / "ours",
            zookeeper_connect=zookeeper,
            zookeeper_session_timeout_ms="3000",
            log_dirs=str(directory / "kafka" / "data"),
        )

    def begin(self) -> None:
        """Kafka was there first."""
        self.kafka.start()
        self.ours.port = self.kafka.port

    def kafka_again(self) -> None:
        """Kafka does not start where a registration is left, and a killed broker leaves its own."""
        client = KazooClient(self._zookeeper)
        client.start()
        try:
            eventually(lambda: not client.exists("/brokers/ids/1"), seconds=SECONDS_MAX)
        finally:
            client.stop()
            client.close()
        self.kafka.start()
        eventually(lambda: has_all(self.kafka, 4), seconds=SECONDS_MAX)

    def end(self) -> None:
        """Nobody is left."""
        self.kafka.kill()
        self.ours.kill()


@pytest.fixture
def turns(kafka_classpath: str, our_zookeeper: OurZookeeper, tmp_path: Path) -> Iterator[Turns]:
    """Kafka's has begun."""
    host, port = our_zookeeper.address
    turns = Turns(kafka_classpath, tmp_path, f"{host}:{port}/{tmp_path.name}")
    turns.begin()
    yield turns
    turns.end()


class Customer:
    """A producer that counts and the member of a group, which live as long as the test."""

    def __init__(self, broker: Broker) -> None:
        self.sent: list[bytes] = []
        self.seen: list[bytes | None] = []
        self._producer = Producer(quiet(broker, **SMALL_BATCHES, **{"enable.idempotence": True}))
        how = {"group.id": "readers", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self._consumer = Consumer(quiet(broker, **how))
        self._consumer.subscribe(["orders"])

    def produce(self, who: str, count: int) -> None:
        """Acknowledged, all of them."""
        told: list[str] = []
        for number in range(count):
            value = f"{who} {number} ".encode() * 10
            self.sent.append(value)
            self._producer.produce(
                "orders", value, partition=0, on_delivery=lambda error, _: told.append(str(error))
            )
        assert self._producer.flush(SECONDS_MAX) == 0
        assert set(told) == {"None"}

    def catch_up(self) -> None:
        """Reads what it has not, once and in order, and commits."""

        def has_all() -> bool:
            for message in self._consumer.consume(1_000, timeout=0.2):
                if not message.error():
                    self.seen.append(message.value())
            return len(self.seen) >= len(self.sent)

        eventually(has_all, seconds=SECONDS_MAX, what=f"{len(self.seen)} of {len(self.sent)}")
        assert self.seen == self.sent
        self._consumer.commit(asynchronous=False)

    def leave(self) -> None:
        """At the end."""
        self._consumer.close()


def furnish(broker: Broker) -> None:
    """What a cluster has after a while: topics of some kinds, settings, positions, deletions."""
    create_topic(broker, "orders", 2, segment_bytes="20000", index_interval_bytes="500")
    create_topic(broker, "codes", 1, cleanup_policy="compact", segment_bytes="20000")
    create_topic(broker, "gone")
    admin = administrator(broker)
    done(admin.delete_topics(["gone"]))
    done(admin.create_partitions([NewPartitions("orders", 3)]))
    change(broker, (TOPIC, "orders"), "retention.ms", "86400000")
    change(broker, (BROKER, "1"), "log.cleaner.threads", "2")
    change(broker, (BROKER, ""), "log.retention.bytes", "123456789")
    for codec in CODECS:
        producer = Producer(quiet(broker, **SMALL_BATCHES, **{"compression.type": codec}))
        for number in range(50):
            producer.produce("codes", f"{codec} {number} ".encode() * 5, b"%d" % number)
        assert producer.flush(SECONDS_MAX) == 0
    at = ConsumerGroupTopicPartitions("bookkeepers", [TopicPartition("codes", 0, 77, "a note")])
    eventually(lambda: done(admin.alter_consumer_group_offsets([at])), seconds=SECONDS_MAX)


def administrator(broker: Broker) -> AdminClient:
    """A patient one: what has just started may not know all of its partitions."""
    return AdminClient(quiet(broker))


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    """What became of each."""
    return {about: future.result(SECONDS_MAX) for about, future in futures.items()}


def change(broker: Broker, about: tuple[int, str], setting: str, value: str) -> None:
    """A setting of a topic, of a broker, or, where that has no name, of all brokers."""
    resource = AlterConfigsResource(*about, [AlterableConfig(setting, SET, value)])
    with Raw(broker) as client:
        (row,) = client.ask(IncrementalAlterConfigsRequest([resource])).responses
    assert row.error_code == 0, row


def has_all(broker: Broker, topics: int) -> bool:
    """Whether it leads every partition of so many: Kafka answers before it knows what it has."""
    found = administrator(broker).list_topics(timeout=SECONDS_MAX).topics.values()
    leaders = [it.leader for topic in found for it in topic.partitions.values()]
    return len(found) == topics and set(leaders) == {1}


def inventory(broker: Broker) -> dict[str, object]:
    """What a client finds."""
    admin = administrator(broker)
    found: dict[str, object] = {"cluster": admin.list_topics(timeout=SECONDS_MAX).cluster_id}
    names = sorted(admin.list_topics(timeout=SECONDS_MAX).topics)
    for name, topic in done(admin.describe_topics(TopicCollection(names))).items():
        found[f"topic {name}"] = (str(topic.topic_id), len(topic.partitions))
    kinds = [(ConfigResource.Type.TOPIC, name) for name in names]
    for kind, name in [*kinds, (ConfigResource.Type.BROKER, "1")]:
        (entries,) = done(admin.describe_configs([ConfigResource(kind, name)])).values()
        for entry in entries.values():
            if entry.source in {1, 2, 3}:  # of the topic, the broker, all brokers
                found[f"setting {name} {entry.name}"] = (entry.value, entry.source)
    for group in ("readers", "bookkeepers"):
        asked = ConsumerGroupTopicPartitions(group)
        (positions,) = done(admin.list_consumer_group_offsets([asked])).values()
        found[f"group {group}"] = sorted(
            (it.topic, it.partition, it.offset, it.metadata) for it in positions.topic_partitions
        )
    listed = admin.list_consumer_groups().result(SECONDS_MAX).valid
    found["groups"] = sorted(it.group_id for it in listed)
    found["codes"] = read_all(broker, "codes", 0)
    found["orders"] = [read_all(broker, "orders", number) for number in range(3)]
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_goes_on_where_the_other_ended(turns: Turns, ending: str) -> None:
    """Topics with their ids, settings, records, positions and producers; after a kill as well."""
    end = ENDINGS[ending]
    furnish(turns.kafka)
    customer = Customer(turns.kafka)
    customer.produce("first theirs", 300)
    customer.catch_up()
    before = inventory(turns.kafka)
    end(turns.kafka)

    turns.ours.start()
    assert inventory(turns.ours) == before
    customer.produce("then ours", 300)
    customer.catch_up()
    create_topic(turns.ours, "invoices", 2, retention_ms="1000000")
    change(turns.ours, (TOPIC, "codes"), "delete.retention.ms", "1000")
    before = inventory(turns.ours)
    end(turns.ours)

    said_before = len(turns.kafka.log())
    turns.kafka_again()
    assert inventory(turns.kafka) == before
    customer.produce("and theirs", 300)
    customer.catch_up()
    customer.leave()
    said = turns.kafka.log()[said_before:]
    if ending == "stopped":
        assert not [line for line in said.splitlines() if any(it in line for it in COMPLAINTS)]
