"""kafka-python, which guesses from the versions on offer what kind of broker it talks to."""

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any

import pytest

from tests.compat.broker_process import Broker, eventually
from tests.compat.mortal_member import member, mortal

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of how it reads its own files
    from kafka import (
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        OffsetAndMetadata,
        TopicPartition,
    )
    from kafka.admin import NewTopic

SECONDS_MAX = 20
_NUMBERS = count()


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


@contextmanager
def administrator(broker: Broker) -> Iterator[Any]:
    """From start to close."""
    with closing(KafkaAdminClient(bootstrap_servers=broker.bootstrap)) as admin:
        yield admin


def topic(broker: Broker, partitions: int = 1) -> str:
    """A new one."""
    name = fresh("orders")
    with administrator(broker) as admin:
        admin.create_topics([NewTopic(name, partitions, 1)])
    return name


@contextmanager
def consumer(broker: Broker, *topics: str, group: str | None = None, **how: Any) -> Iterator[Any]:
    """From start to close, from the beginning of the log."""
    client = KafkaConsumer(
        *topics,
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=100,
        fetch_max_wait_ms=50,
        **how,
    )
    with closing(client):
        yield client


def produce(broker: Broker, name: str, values: list[bytes], **how: Any) -> None:
    """Sends, and waits for every acknowledgement."""
    with closing(KafkaProducer(bootstrap_servers=broker.bootstrap, **how)) as producer:
        sent = [producer.send(name, value, partition=0) for value in values]
        offsets = [one.get(SECONDS_MAX).offset for one in sent]
    assert offsets == list(range(len(values)))


def take(client: Any, expected: int) -> list[bytes]:
    """So many values."""
    values: list[bytes] = []

    def enough() -> bool:
        for records in client.poll(timeout_ms=1_000).values():
            values.extend(record.value for record in records)
        return len(values) >= expected

    eventually(enough)
    return values


def share(client: Any) -> int:
    """How many partitions are its; it lives while it is asked.

    A poll that is cut short may make it join from the beginning again and again.
    """
    client.poll(timeout_ms=500)
    return len(client.assignment())


@pytest.mark.parametrize("codec", [None, "gzip", "lz4", "zstd"])  # its snappy is not installed
@pytest.mark.parametrize("idempotent", [False, True])
def test_what_is_produced_is_consumed(broker: Broker, codec: str, idempotent: bool) -> None:  # noqa: FBT001
    """In order, once; counted or not."""
    name, values = topic(broker), [b"value %d" % number for number in range(200)]
    produce(broker, name, values, compression_type=codec, enable_idempotence=idempotent)
    with consumer(broker, name, group=fresh("readers")) as client:
        assert take(client, 200) == values


def test_members_share_and_inherit(broker: Broker) -> None:
    """Two members have all partitions between them; when one leaves, the other has all."""
    name, group = topic(broker, 4), fresh("readers")
    with consumer(broker, name, group=group) as stays:
        eventually(lambda: share(stays) == 4)
        with consumer(broker, name, group=group) as leaves:
            eventually(lambda: share(stays) == share(leaves) == 2)
        eventually(lambda: share(stays) == 4)


MEMBER = """
import sys
from kafka import KafkaConsumer
consumer = KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], group_id=sys.argv[3],
                         session_timeout_ms=1000, heartbeat_interval_ms=100)
while True:
    consumer.poll(timeout_ms=500)
    if consumer.assignment():
        print("assigned", flush=True)
"""


def test_a_member_that_dies_is_missed(broker: Broker) -> None:
    """Its session ends, and who is left has what it had."""
    name, group = topic(broker, 2), fresh("readers")
    with (
        mortal(member(MEMBER, broker, name, group)) as dies,
        consumer(broker, name, group=group) as stays,
    ):
        eventually(lambda: share(stays) == 1)
        dies.kill()
        eventually(lambda: share(stays) == 2)


def test_a_static_member_comes_back_unnoticed(broker: Broker) -> None:
    """It has a name, under which its partitions wait for it."""
    name, group = topic(broker, 2), fresh("readers")
    with consumer(broker, name, group=group, group_instance_id="one") as stays:
        eventually(lambda: share(stays) == 2)
        with consumer(broker, name, group=group, group_instance_id="two") as goes:
            eventually(lambda: share(stays) == share(goes) == 1)
            had = goes.assignment()
        with consumer(broker, name, group=group, group_instance_id="two") as back:
            eventually(lambda: share(back) == 1)
            assert back.assignment() == had
        assert share(stays) == 1


def test_positions(broker: Broker) -> None:
    """Committed, sought, and found by time."""
    name, group = topic(broker), fresh("readers")
    produce(broker, name, [b"%d" % number for number in range(10)])
    about = TopicPartition(name, 0)
    with consumer(broker, name, group=group) as client:
        take(client, 10)
        client.commit({about: OffsetAndMetadata(4, "half way", -1)})
        assert client.beginning_offsets([about]) == {about: 0}
        assert client.end_offsets([about]) == {about: 10}
        assert client.offsets_for_times({about: 0})[about].offset == 0
        client.seek(about, 8)
        assert take(client, 2) == [b"8", b"9"]
    with consumer(broker, group=group) as client:
        client.assign([about])
        assert client.committed(about) == 4
        assert take(client, 6) == [b"%d" % number for number in range(4, 10)]


def test_the_administrator(broker: Broker) -> None:
    """Topics and groups come and go."""
    name, group = topic(broker, 2), fresh("readers")
    produce(broker, name, [b"a"])
    with administrator(broker) as admin:
        with consumer(broker, name, group=group) as client:
            take(client, 1)
            client.commit()
        listed = [one["group_id"] for one in admin.list_groups()]
        assert group in listed
        described = admin.describe_groups([group])
        assert described[group]["group_state"] == "Empty"
        admin.delete_groups([group])
        assert group not in [one["group_id"] for one in admin.list_groups()]
        admin.delete_topics([name])
        eventually(lambda: name not in admin.list_topics())


def test_what_is_committed_is_seen_and_what_is_aborted_is_not(broker: Broker) -> None:
    """Records and positions of a group, in one transaction after the other."""
    name, group = topic(broker), fresh("readers")
    at = TopicPartition(name, 0)
    with closing(
        KafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=fresh("mover"))
    ) as producer:
        producer.init_transactions()
        for turn, offset in enumerate((3, 4, 5)):
            producer.begin_transaction()
            producer.send(name, b"%d" % turn, partition=0)
            position = {at: OffsetAndMetadata(offset, "", -1)}
            producer.send_offsets_to_transaction(position, group)
            if turn % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    with consumer(broker, group=group, isolation_level="read_committed") as client:
        client.assign([at])
        eventually(lambda: client.committed(at) == 5)
        client.seek(at, 0)
        assert take(client, 2) == [b"0", b"2"]
