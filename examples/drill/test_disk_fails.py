"""A disk fails, is replaced, and nothing that was acknowledged is lost."""

from confluent_kafka import Consumer, Producer, TopicPartition


def produce(bootstrap: str, *values: str) -> None:
    """Returns once all replicas in sync have each of them."""
    failed = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "log_level": 0})
    for value in values:
        producer.produce("orders", value, on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(60) == 0
    assert failed == [None] * len(values)


def consumed(bootstrap: str, count: int) -> list[str]:
    """The first records of the only partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "drill", "log_level": 0})
    consumer.assign([TopicPartition("orders", 0, 0)])
    values = [message.value().decode() for message in consumer.consume(count, timeout=60)]
    consumer.close()
    return values


def test_a_disk_fails_and_is_replaced(odradek_cluster) -> None:
    """The broker stays; its other disk serves; the new disk is filled by replication."""
    c = odradek_cluster
    c.topic("orders")
    produce(c.bootstrap, "before")
    leader = c.leader("orders")
    disk = next(it for it in (0, 1) if (c.directory(leader, it) / "orders-0").exists())

    c.fail_disk(leader, disk)
    produce(c.bootstrap, "while it is broken")
    assert leader in c.alive

    c.replace_disk(leader, disk)
    c.await_isr("orders")
    produce(c.bootstrap, "after")
    assert consumed(c.bootstrap, 3) == ["before", "while it is broken", "after"]
