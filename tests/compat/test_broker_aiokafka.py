"""aiokafka, which speaks older versions of most APIs than the others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.structs import OffsetAndMetadata

from tests.compat.broker_process import Broker
from tests.compat.mortal_member import member, mortal

SECONDS_MAX = 20
POLL_SECONDS = 0.02
_NUMBERS = count()


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


def talk(conversation: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """All of it on one loop, within a bound."""

    async def bounded() -> None:
        async with asyncio.timeout(3 * SECONDS_MAX):
            await conversation()

    asyncio.run(bounded())


async def eventually(condition: Callable[[], bool | Coroutine[Any, Any, bool]]) -> None:
    """Looks again and again, up to a bound."""
    for _ in range(int(SECONDS_MAX / POLL_SECONDS)):
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(POLL_SECONDS)
    pytest.fail("it never came true")


@asynccontextmanager
async def administrator(broker: Broker) -> AsyncIterator[Any]:
    """From start to close."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def topic(broker: Broker, partitions: int = 1) -> str:
    """A new one."""
    name = fresh("orders")
    async with administrator(broker) as admin:
        await admin.create_topics([NewTopic(name, partitions, 1)])
    return name


@asynccontextmanager
async def consumer(
    broker: Broker, *topics: str, group: str | None = None, instance: str | None = None
) -> AsyncIterator[Any]:
    """From start to stop, from the beginning of the log."""
    client = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        group_instance_id=instance,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=100,
        fetch_max_wait_ms=50,
    )
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def produce(broker: Broker, name: str, values: list[bytes], **how: Any) -> None:
    """Sends, and waits for every acknowledgement."""
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, **how)
    await producer.start()
    try:
        sent = [await producer.send(name, value, partition=0) for value in values]
        await asyncio.gather(*sent)
    finally:
        await producer.stop()


async def take(client: Any, expected: int) -> list[bytes]:
    """So many values."""
    return [(await client.getone()).value for _ in range(expected)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotent", [False, True])
def test_what_is_produced_is_consumed(broker: Broker, codec: str, idempotent: bool) -> None:  # noqa: FBT001
    """With each codec, in order, once; counted or not."""

    async def conversation() -> None:
        name, values = await topic(broker), [b"value %d" % number for number in range(200)]
        how = {"compression_type": codec, "enable_idempotence": idempotent}
        await produce(broker, name, values, **how)
        async with consumer(broker, name, group=fresh("readers")) as client:
            assert await take(client, 200) == values

    talk(conversation)


def test_members_share_and_inherit(broker: Broker) -> None:
    """Two members have all partitions between them; when one leaves, the other has all."""

    async def conversation() -> None:
        name, group = await topic(broker, 4), fresh("readers")
        async with AsyncExitStack() as stack:
            stays = await stack.enter_async_context(consumer(broker, name, group=group))
            await eventually(lambda: len(stays.assignment()) == 4)
            async with consumer(broker, name, group=group) as leaves:
                await eventually(lambda: len(stays.assignment()) == len(leaves.assignment()) == 2)
            await eventually(lambda: len(stays.assignment()) == 4)

    talk(conversation)


MEMBER = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer
async def live():
    consumer = AIOKafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id=sys.argv[3],
                                session_timeout_ms=1000, heartbeat_interval_ms=100)
    await consumer.start()
    while True:
        await consumer.getmany(timeout_ms=100)
        if consumer.assignment():
            print("assigned", flush=True)
asyncio.run(live())
"""


def test_a_member_that_dies_is_missed(broker: Broker) -> None:
    """Its session ends, and who is left has what it had."""

    async def conversation() -> None:
        name, group = await topic(broker, 2), fresh("readers")
        with mortal(member(MEMBER, broker, name, group)) as dies:
            async with consumer(broker, name, group=group) as stays:
                await eventually(lambda: len(stays.assignment()) == 1)
                dies.kill()
                await eventually(lambda: len(stays.assignment()) == 2)

    talk(conversation)


def test_a_static_member_comes_back_unnoticed(broker: Broker) -> None:
    """It has a name, under which its partitions wait for it."""

    async def conversation() -> None:
        name, group = await topic(broker, 2), fresh("readers")
        async with consumer(broker, name, group=group, instance="one") as stays:
            async with consumer(broker, name, group=group, instance="two") as goes:
                await eventually(lambda: len(stays.assignment()) == len(goes.assignment()) == 1)
                had = goes.assignment()
            async with consumer(broker, name, group=group, instance="two") as back:
                await eventually(lambda: back.assignment() == had)
            assert len(stays.assignment()) == 1

    talk(conversation)


def test_positions(broker: Broker) -> None:
    """Committed, sought, and found by time."""

    async def conversation() -> None:
        name, group = await topic(broker), fresh("readers")
        await produce(broker, name, [b"%d" % number for number in range(10)])
        about = TopicPartition(name, 0)
        async with consumer(broker, name, group=group) as client:
            await take(client, 10)
            await client.commit({about: OffsetAndMetadata(4, "half way")})
            client.seek(about, 8)
            assert await take(client, 2) == [b"8", b"9"]
            assert await client.beginning_offsets([about]) == {about: 0}
            assert await client.end_offsets([about]) == {about: 10}
            found = await client.offsets_for_times({about: 0})
            assert found[about].offset == 0
        async with consumer(broker, name, group=group) as client:
            assert await client.committed(about) == 4
            assert await take(client, 6) == [b"%d" % number for number in range(4, 10)]

    talk(conversation)


def test_the_administrator(broker: Broker) -> None:
    """Topics are listed, grown, deleted; groups are listed, described, looked into."""

    async def conversation() -> None:
        name, group = await topic(broker), fresh("readers")
        async with administrator(broker) as admin:
            assert name in await admin.list_topics()
            await admin.create_partitions({name: NewPartitions(3)})
            (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 3
            async with consumer(broker, name, group=group) as client:
                about = TopicPartition(name, 0)
                await client.commit({about: 0})
                assert (group, "consumer") in await admin.list_consumer_groups()
                found = await admin.list_consumer_group_offsets(group)
                assert found[about].offset == 0
            await admin.delete_topics([name])

            async def is_gone() -> bool:
                return name not in await admin.list_topics()

            await eventually(is_gone)

    talk(conversation)
