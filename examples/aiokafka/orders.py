"""Produces three orders, each stored once, and reads them as a member of a group, with asyncio."""

import asyncio
import os

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

BOOTSTRAP = os.environ.get("ODRADEK_BOOTSTRAP", "127.0.0.1:9092")
TOPIC = "orders-aiokafka"
ORDERS = [b"a", b"b", b"c"]


async def produce() -> None:
    """The topic is made at its first use, with the broker's settings."""
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, enable_idempotence=True) as producer:
        for order in ORDERS:
            stored = await producer.send_and_wait(TOPIC, order, key=b"customer 7")
            print(f"stored at {stored.topic}-{stored.partition}, offset {stored.offset}")


async def consume() -> None:
    """Commits what it has printed."""
    consumer = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=BOOTSTRAP,
        group_id="accounts-aiokafka",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with consumer:
        for _ in ORDERS:
            message = await asyncio.wait_for(consumer.getone(), 30)
            print(f"read {message.value.decode()}")
            await consumer.commit()


async def main() -> None:
    """Both sides, one after the other."""
    await produce()
    await consume()


if __name__ == "__main__":
    asyncio.run(main())
