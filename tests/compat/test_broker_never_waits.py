"""Whatever clients do, the loop that serves them all waits for no disk."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tests.compat.broker_process import OdradekBroker, eventually

TOPICS = ("orders", "payments", "parcels")
SECONDS_MAX = 20
SMALL = {
    "log.segment.bytes": "80000",
    "log.retention.bytes": "160000",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "0",
    "log.flush.interval.messages": "500",
    "log.cleaner.backoff.ms": "200",
    "file.delete.delay.ms": "200",
}


class WatchedBroker(OdradekBroker):
    """Under the eyes of blockbuster."""

    def _command(self, file: Path) -> list[str]:
        return [sys.executable, "-m", "tests.compat.watched_broker", str(file)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OdradekBroker]:
    """With small segments, so that much becomes of them."""
    running = WatchedBroker(tmp_path / "broker", **SMALL)
    running.start()
    yield running
    running.stop()


def test_the_loop_waits_for_nobody(broker: OdradekBroker) -> None:
    """Topics come, change and go, segments roll, are synced, compacted and deleted."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    made = [NewTopic(name, 2, 1) for name in TOPICS]
    made.append(NewTopic("names", 1, 1, config=compacted))
    for future in admin.create_topics(made).values():
        future.result(SECONDS_MAX)

    refused: list[object] = []

    def told(error: object, message: object) -> None:
        del message
        refused.extend([error] if error is not None else [])

    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for number in range(6_000):
        topic = (*TOPICS, "names")[number % 4]
        producer.produce(topic, bytes(500), key=b"%d" % (number % 10), on_delivery=told)
        if not number % 500:
            assert producer.flush(SECONDS_MAX) == 0
    assert producer.flush(SECONDS_MAX) == 0
    assert refused == []

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([*TOPICS, "names"])
    eventually(lambda: consumer.consume(500, 0.2))
    consumer.commit(asynchronous=False)
    oldest = TopicPartition("parcels", 0)
    eventually(lambda: consumer.get_watermark_offsets(oldest, SECONDS_MAX)[0] > 0)
    eventually(lambda: "log.compacted" in broker.log())
    consumer.close()

    admin.create_partitions([NewPartitions("payments", 4)])["payments"].result(SECONDS_MAX)
    change = ConfigEntry("retention.ms", "60000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(SECONDS_MAX)
    admin.delete_topics(["orders"])["orders"].result(SECONDS_MAX)
    broker.stop()
    assert "BlockingError" not in broker.log(), broker.log()
