"""Produces three orders, each stored once, and reads them as a member of a group."""

import os

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "127.0.0.1:9092")
TOPIC = "orders-confluent"
ORDERS = [b"a", b"b", b"c"]


def acknowledged(error: KafkaError | None, message: Message) -> None:
    """Of each record: whether all replicas in sync have it."""
    if error is not None:
        raise SystemExit(f"not stored: {error}")
    print(f"stored at {message.topic()}-{message.partition()}, offset {message.offset()}")


def main() -> None:
    """Both sides, one after the other."""
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    if TOPIC not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(TOPIC, num_partitions=1)])[TOPIC].result(30)

    producer = Producer({"bootstrap.servers": BOOTSTRAP, "enable.idempotence": True})
    for order in ORDERS:
        producer.produce(TOPIC, value=order, key=b"customer 7", on_delivery=acknowledged)
    if producer.flush(30):
        raise SystemExit("not acknowledged within 30 s")

    consumer = Consumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": "accounts",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    for _ in ORDERS:
        message = consumer.poll(30)
        if message is None or message.error():
            raise SystemExit(f"nothing to read: {message and message.error()}")
        print(f"read {message.value().decode()}")
        consumer.commit(message, asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main()
