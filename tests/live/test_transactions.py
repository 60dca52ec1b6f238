"""Transactions of real clients: all of it is seen or nothing, whoever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)

from odradek.coordinator.placement import partition_of
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.compat.broker_process import eventually
from tests.compat.hostile import Raw
from tests.compat.java_clients import fresh
from tests.live.cluster import PATIENCE_SECONDS, LiveCluster

PARTITIONS: Final = 3
DOWNGRADE: Final = 2
STATE_PARTITIONS: Final = 3
SETTINGS: Final = {
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
    "offsets.topic.num.partitions": "3",
    "zookeeper.session.timeout.ms": "3000",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """Three brokers, all of them coordinators."""
    with LiveCluster(tmp_path_factory.mktemp("cluster"), 3, SETTINGS) as found:
        yield found


def producer_of(at: str, name: str, **more: object) -> Producer:
    """One of librdkafka, with an identity."""
    settings = {"bootstrap.servers": at, "transactional.id": name, "linger.ms": 0}
    producer = Producer({**settings, **more})
    producer.init_transactions(PATIENCE_SECONDS)
    return producer


def committed(at: str, topic: str) -> list[bytes]:
    """Every record that a reader of committed records is shown, up to where it may read."""
    consumer = Consumer(
        {
            "bootstrap.servers": at,
            "group.id": fresh("readers"),
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    at_end: set[int] = set()
    found: list[bytes] = []
    try:
        consumer.assign([TopicPartition(topic, it, OFFSET_BEGINNING) for it in range(PARTITIONS)])

        def is_read() -> bool:
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    found.append(message.value())
                    at_end.discard(message.partition())
                else:
                    at_end.add(message.partition())
            return len(at_end) == PARTITIONS

        eventually(is_read, seconds=PATIENCE_SECONDS, what="the end is not reached")
    finally:
        consumer.close()
    return sorted(found)


def until_all_is_decided(at: str, topic: str, count: int) -> list[bytes]:
    """What is committed, once it is as much as shall be."""
    found: list[list[bytes]] = [[]]

    def is_decided() -> bool:
        found[0] = committed(at, topic)
        return len(found[0]) >= count

    eventually(is_decided, seconds=PATIENCE_SECONDS, what=f"{count} records are not committed")
    return found[0]


def coordinator_of(cluster: LiveCluster, name: str) -> int:
    """Which broker decides for this transactional id."""
    state = cluster.partitions(TRANSACTION_STATE_TOPIC)
    return state[partition_of(name, STATE_PARTITIONS)][0]


def test_what_is_committed_is_seen_and_what_is_aborted_is_not(cluster: LiveCluster) -> None:
    """In three partitions, by librdkafka."""
    topic = fresh("orders")
    cluster.make(topic, PARTITIONS)
    producer = producer_of(cluster.bootstrap, fresh("mover"))
    for turn in range(6):
        producer.begin_transaction()
        for number in range(9):
            producer.produce(topic, f"{turn}-{number}", partition=number % PARTITIONS)
        if turn % 2:
            producer.abort_transaction(PATIENCE_SECONDS)
        else:
            producer.commit_transaction(PATIENCE_SECONDS)
    expected = sorted(f"{turn}-{number}".encode() for turn in (0, 2, 4) for number in range(9))
    assert until_all_is_decided(cluster.bootstrap, topic, len(expected)) == expected


def test_aiokafka_commits(cluster: LiveCluster) -> None:
    """Records of two partitions and positions of a group, in one transaction."""
    topic, name, group = fresh("orders"), fresh("mover"), fresh("readers")
    cluster.make(topic, PARTITIONS)

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, transactional_id=name)
        await producer.start()
        try:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"a", partition=0)
                await producer.send_and_wait(topic, b"b", partition=1)
                await producer.send_offsets_to_transaction(_position(topic, 7), group)
            with suppress(ValueError):
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"never", partition=0)
                    await producer.send_offsets_to_transaction(_position(topic, 8), group)
                    raise ValueError
        finally:
            await producer.stop()

    asyncio.run(run())
    assert until_all_is_decided(cluster.bootstrap, topic, 2) == [b"a", b"b"]
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    try:
        (found,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_SECONDS)
    finally:
        consumer.close()
    assert found.offset == 7


def _position(topic: str, offset: int) -> dict[object, int]:
    from aiokafka import TopicPartition as Partition

    return {Partition(topic, 0): offset}


def test_a_second_process_fences_the_first(cluster: LiveCluster) -> None:
    """What the first had open is aborted, and it commits nothing more."""
    topic, name = fresh("orders"), fresh("mover")
    cluster.make(topic, PARTITIONS)
    first = producer_of(cluster.bootstrap, name)
    first.begin_transaction()
    first.produce(topic, "ghost", partition=0)
    first.flush(PATIENCE_SECONDS)
    second = producer_of(cluster.bootstrap, name)
    with pytest.raises(KafkaException) as refusal:
        first.commit_transaction(PATIENCE_SECONDS)
    assert refusal.value.args[0].fatal()
    second.begin_transaction()
    second.produce(topic, "alive", partition=0)
    second.commit_transaction(PATIENCE_SECONDS)
    assert until_all_is_decided(cluster.bootstrap, topic, 1) == [b"alive"]


def test_a_copier_copies_once_while_coordinators_die(cluster: LiveCluster) -> None:
    """Consume, transform, produce: each record is there once, whichever coordinator is killed."""
    source, target = fresh("source"), fresh("target")
    name, group = fresh("copier"), fresh("copiers")
    cluster.make(source, PARTITIONS)
    cluster.make(target, PARTITIONS)
    count, batches = 300, 0
    feeder = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        feeder.produce(source, str(number), partition=number % PARTITIONS)
    assert not feeder.flush(PATIENCE_SECONDS)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([source])
    producer = producer_of(cluster.bootstrap, name)
    copied, killed = 0, 0
    try:
        while copied < count:
            messages = [it for it in consumer.consume(20, 1.0) if it.error() is None]
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                value = message.value()
                assert value is not None
                producer.produce(target, value + b"!", partition=message.partition())
            producer.flush(PATIENCE_SECONDS)
            if batches in {2, 6}:  # with a transaction open
                killed = coordinator_of(cluster, name)
                cluster.brokers[killed].kill()
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()),
                consumer.consumer_group_metadata(),
                PATIENCE_SECONDS,
            )
            _commit(producer)
            copied += len(messages)
            batches += 1
            if killed and batches in {5, 9}:
                cluster.brokers[killed].start()
    finally:
        consumer.close()
        if killed and not cluster.brokers[killed].has_process:
            cluster.brokers[killed].start()
    expected = sorted(f"{number}!".encode() for number in range(count))
    assert until_all_is_decided(cluster.bootstrap, target, count) == expected


def _commit(producer: Producer) -> None:
    """Asks again as long as the client says that it may."""
    while True:
        try:
            producer.commit_transaction(PATIENCE_SECONDS)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


def test_a_transaction_that_nobody_ends_is_aborted_in_time(cluster: LiveCluster) -> None:
    """Its producer is fenced, and readers go on."""
    topic = fresh("orders")
    cluster.make(topic, PARTITIONS)
    first = producer_of(cluster.bootstrap, fresh("mover"), **{"transaction.timeout.ms": 2_000})
    first.begin_transaction()
    first.produce(topic, "never", partition=0)
    first.flush(PATIENCE_SECONDS)
    second = producer_of(cluster.bootstrap, fresh("mover"))
    second.begin_transaction()
    second.produce(topic, "seen", partition=0)
    second.commit_transaction(PATIENCE_SECONDS)
    assert until_all_is_decided(cluster.bootstrap, topic, 1) == [b"seen"]
    with pytest.raises(KafkaException):
        first.commit_transaction(PATIENCE_SECONDS)


def test_a_client_of_version_1_where_version_2_is_offered(cluster: LiveCluster) -> None:
    """It goes on in its own; the level is raised and lowered with a transaction open."""
    topic = fresh("orders")
    cluster.make(topic, PARTITIONS)
    producer = producer_of(cluster.bootstrap, fresh("mover"))
    for turn, level in enumerate((2, 2, 0, 0)):
        producer.begin_transaction()
        for number in range(PARTITIONS):
            producer.produce(topic, f"{turn}-{number}", partition=number)
        producer.flush(PATIENCE_SECONDS)
        with Raw(cluster.brokers[1]) as raw:
            update = FeatureUpdateKey("transaction.version", level, upgrade_type=DOWNGRADE)
            answer = raw.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
            assert not answer.results[0].error_code
        producer.commit_transaction(PATIENCE_SECONDS)
    expected = sorted(f"{turn}-{it}".encode() for turn in range(4) for it in range(PARTITIONS))
    assert until_all_is_decided(cluster.bootstrap, topic, len(expected)) == expected
