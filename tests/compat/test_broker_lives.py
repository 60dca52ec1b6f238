"""What a broker promised in one life, it keeps in the next: after a stop, and after a crash."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.broker_process import Broker, broker_in, eventually

SECONDS_MAX = 20
TOPIC, GROUP = "orders", "readers"
RECORDS = 2_000
READING = {"group.id": "auditors", "enable.partition.eof": True, "fetch.wait.max.ms": 10}


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Broker]:
    """A broker of the test's own, with a topic."""
    broker = broker_in(tmp_path)
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, 3, 1)]).values():
        created.result(SECONDS_MAX)
    yield broker
    broker.stop()


def quiet(broker: Broker, **how: Any) -> dict[str, Any]:
    """Settings of a client that says nothing when its broker is away."""
    calm = {"log_level": 0, "reconnect.backoff.max.ms": 100}
    return {"bootstrap.servers": broker.bootstrap, **calm, **how}


def client(broker: Broker) -> Consumer:
    """Of the group, without a subscription."""
    how = {"group.id": GROUP, "enable.auto.commit": False}
    return Consumer(quiet(broker, **how))


def commit(broker: Broker, offset: int) -> None:
    """Answered."""
    consumer = client(broker)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
    consumer.close()


def committed(broker: Broker) -> int:
    """The group's position."""
    consumer = client(broker)
    (found,) = consumer.committed([TopicPartition(TOPIC, 0)], SECONDS_MAX)
    consumer.close()
    assert isinstance(found.offset, int)
    return found.offset


def read_all(broker: Broker, partition: int, expected: int) -> list[bytes | None]:
    """Up to the end."""
    consumer = Consumer(quiet(broker, **READING))
    consumer.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING)])
    values: list[bytes | None] = []

    def at_end() -> bool:
        for message in consumer.consume(expected + 10, timeout=0.1):
            if message.error():
                return True
            values.append(message.value())
        return False

    eventually(at_end, seconds=SECONDS_MAX)
    consumer.close()
    return values


def test_a_restart_is_hardly_noticed(mortal: Broker) -> None:
    """Records, positions and the cluster's id are where they were; clients go on by themselves."""
    producer = Producer(quiet(mortal, acks="all"))
    failed: list[object] = []
    for number in range(100):
        producer.produce(TOPIC, b"%d" % number, partition=0)
    assert producer.flush(SECONDS_MAX) == 0
    commit(mortal, 42)
    mortal.stop()
    mortal.start()
    producer.produce(
        TOPIC, b"after", partition=0, on_delivery=lambda error, _: failed.append(error)
    )
    assert producer.flush(SECONDS_MAX) == 0
    assert failed == [None]
    assert committed(mortal) == 42
    values = [b"%d" % number for number in range(100)]
    assert read_all(mortal, 0, 101) == [*values, b"after"]


def test_a_commit_that_was_answered_survives_a_crash(mortal: Broker) -> None:
    """The process is killed behind the answer: the next one finds the position in its log."""
    for offset in (7, 8, 9):
        commit(mortal, offset)
        mortal.kill()
        mortal.start()
        assert committed(mortal) == offset


@pytest.mark.parametrize("idempotent", [False, True])
def test_what_was_acknowledged_survives_a_crash_once(mortal: Broker, idempotent: bool) -> None:  # noqa: FBT001
    """Killed in the middle of writing. A producer that counts leaves no record twice, either."""
    acknowledged: dict[int, set[bytes]] = {0: set(), 1: set(), 2: set()}

    def told(error: object, message: Any) -> None:
        if error is None:
            acknowledged[message.partition()].add(message.value())

    producer = Producer(
        quiet(mortal, acks="all", **{"enable.idempotence": idempotent, "linger.ms": 1})
    )
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%d" % number, partition=number % 3, on_delivery=told)
        producer.poll(0)
        if number == RECORDS // 2:
            eventually(lambda: producer.poll(0.01) or any(acknowledged.values()))
            mortal.kill()
            mortal.start()
    assert producer.flush(SECONDS_MAX) == 0
    assert sum(map(len, acknowledged.values())) == RECORDS
    for partition, values in acknowledged.items():
        found = read_all(mortal, partition, RECORDS)
        assert set(found) == values
        if idempotent:
            assert len(found) == len(values)
