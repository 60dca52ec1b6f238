"""Produces three orders and reads them as a member of a group, in Python alone."""

import os

from kafka import KafkaConsumer, KafkaProducer

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "127.0.0.1:9092").split(",")
TOPIC = "orders-kafka-python"
ORDERS = [b"a", b"b", b"c"]


def main() -> None:
    """Both sides, one after the other. The topic is made at its first use."""
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, acks="all")
    for order in ORDERS:
        stored = producer.send(TOPIC, value=order, key=b"customer 7").get(30)
        print(f"stored at {stored.topic}-{stored.partition}, offset {stored.offset}")
    producer.close()

    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=BOOTSTRAP,
        group_id="accounts-kafka-python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=30_000,
    )
    for _, message in zip(ORDERS, consumer, strict=False):
        print(f"read {message.value.decode()}")
        consumer.commit()
    consumer.close()


if __name__ == "__main__":
    main()
