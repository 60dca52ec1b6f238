"""The blocking producer with a transactional id against a live broker, in both versions."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from odradek.client.blocking.client import BlockingClient
from odradek.client.errors import Refused
from odradek.client.records.sequencing import IN_FLIGHT_MAX
from odradek.client.records.transaction_requests import V1, V2, Versions
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.records.build import build_batch
from odradek.records.record import Record
from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.librdkafka import create_topic
from tests.compat.odradek_shell import fresh

TIME = 1_700_000_000_000
BOTH = pytest.mark.parametrize("versions", [V1, V2], ids=["v1", "v2"])


@pytest.fixture
def client(broker: OdradekBroker) -> Iterator[BlockingClient]:
    """One that gives up soon."""
    with BlockingClient(broker.bootstrap, patience_ms=Millis(10_000)) as client:
        yield client


@pytest.fixture
def topic(broker: OdradekBroker) -> str:
    """Two empty partitions."""
    return create_topic(broker, fresh("blocking"), 2, retention_ms="-1")


def batch(*values: str) -> bytearray:
    """As somebody builds it who knows nothing of producers."""
    rows = enumerate(values)
    return build_batch([Record(at, TIME + at, None, value.encode()) for at, value in rows])


def seen(broker: OdradekBroker, topic: str, count: int) -> list[str]:
    """So many values that a reader of committed records is shown, and what follows soon."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": fresh("readers"),
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: list[str] = []
    try:
        while (message := consumer.poll(10 if len(found) < count else 1)) is not None:
            value = message.value()
            assert isinstance(value, bytes), message.error()
            found.append(value.decode())
    finally:
        consumer.close()
    return sorted(found)


@BOTH
def test_what_is_committed_is_seen_and_what_is_aborted_is_not(
    client: BlockingClient, broker: OdradekBroker, topic: str, versions: Versions
) -> None:
    """With the position of a group; batches may be on their way when the end is asked for."""
    group = fresh("movers")
    producer = client.transactional_producer(fresh("mover"), versions)
    producer.begin()
    for number in range(4):
        for partition in range(2):
            for part in "ab":
                at = TopicPartition(topic, partition)
                producer.send(at, batch(f"{number}.{partition}{part}"))
        producer.commit_offsets(group, {TopicPartition(topic, 0): 10 + number})
        if number % 2:
            producer.abort()
        else:
            producer.commit()
    expected = [f"{it}.{at}{part}" for it in (0, 2) for at in range(2) for part in "ab"]
    assert seen(broker, topic, len(expected)) == expected
    eventually(lambda: [it.offset for it in client.committed(group).values()] == [12])


@BOTH
def test_others_write_in_one_transaction(
    client: BlockingClient, broker: OdradekBroker, topic: str, versions: Versions
) -> None:
    """Each is handed the identity, and a partition of its own; who began it ends it."""
    driver = client.transactional_producer(fresh("mover"), versions)
    driver.begin()
    for outcome in ("kept", "lost", "kept"):
        identity = driver.hand_on()
        for partition in range(2):
            name = identity.transactional_id
            with BlockingClient(broker.bootstrap) as other:
                task = other.transactional_producer(name, versions)
                task.go_on_as(identity)
                task.send(TopicPartition(topic, partition), batch(f"{outcome}{partition}"))
                task.flush()
        if outcome == "kept":
            driver.commit()
        else:
            driver.abort()
    assert seen(broker, topic, 4) == ["kept0", "kept0", "kept1", "kept1"]


@BOTH
def test_what_was_not_delivered_is_in_no_other_transaction(
    client: BlockingClient, broker: OdradekBroker, topic: str, versions: Versions
) -> None:
    """An abort lets go of batches that wait for the answers to those before them."""
    producer = client.transactional_producer(fresh("mover"), versions)
    producer.begin()
    at = TopicPartition(topic, 0)
    for number in range(2 * IN_FLIGHT_MAX + 1):
        producer.send(at, batch(f"lost{number}"))
    producer.abort()
    assert producer.flush() == []
    producer.send(at, batch("kept"))
    producer.commit()
    assert seen(broker, topic, 1) == ["kept"]


@BOTH
def test_who_was_fenced_is_refused(
    client: BlockingClient, broker: OdradekBroker, topic: str, versions: Versions
) -> None:
    """Its batch, and then any end but by somebody new."""
    name = fresh("mover")
    former = client.transactional_producer(name, versions)
    former.begin()
    former.send(TopicPartition(topic, 0), batch("lost"))
    former.flush()
    latter = client.transactional_producer(name, versions)
    latter.begin()
    fenced = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED}
    former.send(TopicPartition(topic, 0), batch("late"))
    with pytest.raises(Refused) as refusal:
        former.flush()
    assert refusal.value.code in fenced
    for end in (former.commit, former.abort):
        with pytest.raises(Refused):
            end()
    latter.send(TopicPartition(topic, 0), batch("kept"))
    latter.commit()
    assert seen(broker, topic, 1) == ["kept"]
