"""librdkafka, by way of confluent-kafka: what most of the world's clients are made of."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from tests.compat.broker_process import Broker, eventually
from tests.compat.mortal_member import member, mortal

SECONDS_MAX = 20
_NUMBERS = count()


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


def admin_of(broker: Broker) -> AdminClient:
    """An administrator."""
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    """What became of each."""
    return {about: future.result(SECONDS_MAX) for about, future in futures.items()}


def topic(broker: Broker, partitions: int = 1, config: dict[str, str] | None = None) -> str:
    """A new one."""
    admin, name = admin_of(broker), fresh("orders")
    done(admin.create_topics([NewTopic(name, partitions, 1, config=config or {})]))
    return name


def created(admin: AdminClient, name: str) -> bool:
    """Whether it could be made: the one before it may not be gone entirely."""
    try:
        done(admin.create_topics([NewTopic(name, 1, 1)]))
    except KafkaException as refused:
        if refused.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def produce(broker: Broker, name: str, values: list[bytes], **how: Any) -> list[Message]:
    """Sends, and waits for every acknowledgement."""
    partition = how.pop("partition", 0)
    told: list[tuple[KafkaError | None, Message]] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, **how})
    for value in values:
        producer.produce(
            name, value, partition=partition, on_delivery=lambda *result: told.append(result)
        )
    assert producer.flush(SECONDS_MAX) == 0
    assert [error for error, _ in told if error is not None] == []
    assert len(told) == len(values)
    return [message for _, message in told]


@contextmanager
def consumer(broker: Broker, group: str, **how: Any) -> Iterator[Consumer]:
    """A consumer that begins at the beginning, and leaves its group at the end."""
    settings = {
        "bootstrap.servers": broker.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 100,
        "topic.metadata.refresh.interval.ms": 500,
        "fetch.wait.max.ms": 50,
        **{name.replace("_", "."): value for name, value in how.items()},
    }
    client = Consumer(settings)
    try:
        yield client
    finally:
        client.close()


def take(client: Consumer, expected: int) -> list[Message]:
    """So many messages."""
    found: list[Message] = []

    def enough() -> bool:
        for message in client.consume(expected - len(found), timeout=0.1):
            assert message.error() is None, message.error()
            found.append(message)
        return len(found) >= expected

    eventually(enough, seconds=SECONDS_MAX)
    return found


def values_of(messages: list[Message]) -> list[bytes | None]:
    """What they say."""
    return [message.value() for message in messages]


def share(client: Consumer) -> set[int]:
    """The partitions that are its at the moment; it lives while it is asked."""
    message = client.poll(0)
    assert message is None or message.error() is None, message.error()
    return {one.partition for one in client.assignment()}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_produced_is_consumed(broker: Broker, codec: str) -> None:
    """With each codec, in order, once."""
    name, values = topic(broker), [b"value %d " % number * 20 for number in range(500)]
    messages = produce(broker, name, values, **{"compression.type": codec, "linger.ms": 5})
    assert [message.offset() for message in messages] == list(range(500))
    with consumer(broker, fresh("readers")) as client:
        client.subscribe([name])
        assert values_of(take(client, 500)) == values


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_kind_of_acknowledgement(broker: Broker, acks: str) -> None:
    """A record that nobody is told of is there all the same."""
    name = topic(broker)
    produce(broker, name, [b"a", b"b"], acks=acks)
    with consumer(broker, fresh("readers")) as client:
        client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        assert values_of(take(client, 2)) == [b"a", b"b"]


def test_an_idempotent_producer(broker: Broker) -> None:
    """It is given an id, and counts its batches."""
    name, values = topic(broker), [b"%d" % number for number in range(2_000)]
    produce(broker, name, values, **{"enable.idempotence": True, "batch.num.messages": 50})
    with consumer(broker, fresh("readers")) as client:
        client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        assert values_of(take(client, 2_000)) == values


def test_keys_headers_and_times_come_through(broker: Broker) -> None:
    """A record is more than its value; a tombstone has none."""
    name = topic(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(name, None, b"key", headers={"trace": b"7"}, timestamp=1_700_000_000_000)
    assert producer.flush(SECONDS_MAX) == 0
    with consumer(broker, fresh("readers")) as client:
        client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        (message,) = take(client, 1)
    assert (message.key(), message.value()) == (b"key", None)
    assert message.headers() == [("trace", b"7")]
    assert message.timestamp()[1] == 1_700_000_000_000


def test_a_topic_is_made_when_it_is_written_to(broker: Broker) -> None:
    """As the broker's settings have it."""
    name = fresh("unannounced")
    produce(broker, name, [b"first"], partition=-1)
    assert name in admin_of(broker).list_topics(timeout=SECONDS_MAX).topics


def test_what_is_too_large_is_refused(broker: Broker) -> None:
    """That message alone: the producer goes on."""
    name = topic(broker, config={"max.message.bytes": "1000"})
    told: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for size in (10, 5_000, 10):
        producer.produce(name, b"x" * size, on_delivery=lambda error, _: told.append(error))
        assert producer.flush(SECONDS_MAX) == 0
    assert [error and error.code() for error in told] == [None, KafkaError.MSG_SIZE_TOO_LARGE, None]


def test_members_share_and_inherit(broker: Broker) -> None:
    """Two members have all partitions between them; when one leaves, the other has all."""
    name, group = topic(broker, 4), fresh("readers")
    with consumer(broker, group) as stays:
        stays.subscribe([name])
        eventually(lambda: share(stays) == {0, 1, 2, 3})
        with consumer(broker, group) as leaves:
            leaves.subscribe([name])
            eventually(lambda: len(share(stays)) == len(share(leaves)) == 2)
            assert share(stays) | share(leaves) == {0, 1, 2, 3}
        eventually(lambda: share(stays) == {0, 1, 2, 3})


def test_members_that_change_hands_little_by_little(broker: Broker) -> None:
    """The cooperative assignor rebalances twice, and keeps what need not move."""
    name, group = topic(broker, 4), fresh("readers")
    how = {"partition_assignment_strategy": "cooperative-sticky"}
    with consumer(broker, group, **how) as one, consumer(broker, group, **how) as other:
        one.subscribe([name])
        eventually(lambda: share(one) == {0, 1, 2, 3})
        other.subscribe([name])
        eventually(lambda: len(share(one)) == len(share(other)) == 2)


MEMBER = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[3],
                     "session.timeout.ms": 1000, "heartbeat.interval.ms": 100})
consumer.subscribe([sys.argv[2]])
while True:
    consumer.poll(0.1)
    if consumer.assignment():
        print("assigned", flush=True)
"""


def test_a_member_that_dies_is_missed(broker: Broker) -> None:
    """It does not say that it goes: its session ends, and the others share what it had."""
    name, group = topic(broker, 2), fresh("readers")
    with mortal(member(MEMBER, broker, name, group)) as dies, consumer(broker, group) as stays:
        stays.subscribe([name])
        eventually(lambda: len(share(stays)) == 1)
        dies.kill()
        eventually(lambda: share(stays) == {0, 1})


def test_a_static_member_comes_back_unnoticed(broker: Broker) -> None:
    """It has a name, so that a restart is not a departure: nobody rebalances."""
    name, group = topic(broker, 2), fresh("readers")
    rebalances: list[int] = []
    with consumer(broker, group, group_instance_id="one") as stays:
        stays.subscribe([name], on_assign=lambda _, parts: rebalances.append(len(parts)))
        eventually(lambda: share(stays) == {0, 1})
        with consumer(broker, group, group_instance_id="two") as goes:
            goes.subscribe([name])
            eventually(lambda: len(share(stays)) == len(share(goes)) == 1)
            had, before = share(goes), len(rebalances)
        with consumer(broker, group, group_instance_id="two") as back:
            back.subscribe([name])
            eventually(lambda: share(back) == had)
        assert share(stays) == {0, 1} - had
        assert len(rebalances) == before


def test_a_committed_offset_is_where_the_next_one_begins(broker: Broker) -> None:
    """And the note beside it is kept."""
    name, group = topic(broker), fresh("readers")
    produce(broker, name, [b"%d" % number for number in range(10)])
    with consumer(broker, group) as first:
        first.subscribe([name])
        take(first, 10)
        first.commit(offsets=[TopicPartition(name, 0, 4, "half way")], asynchronous=False)
    with consumer(broker, group) as second:
        (found,) = second.committed([TopicPartition(name, 0)], SECONDS_MAX)
        assert (found.offset, found.metadata) == (4, "half way")
        second.subscribe([name])
        assert values_of(take(second, 6)) == [b"%d" % number for number in range(4, 10)]


def test_offsets_by_time_and_seeking(broker: Broker) -> None:
    """The first record of that time or later; behind the last there is none."""
    name, began = topic(broker), 1_700_000_000_000
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(10):
        producer.produce(name, b"%d" % number, timestamp=began + 1_000 * number)
        assert producer.flush(SECONDS_MAX) == 0  # a batch each, so that each has its time
    with consumer(broker, fresh("readers")) as client:
        for time, offset in ((began, 0), (began + 4_500, 5), (began + 60_000, -1)):
            (found,) = client.offsets_for_times([TopicPartition(name, 0, time)], SECONDS_MAX)
            assert found.offset == offset
        assert client.get_watermark_offsets(TopicPartition(name, 0), SECONDS_MAX) == (0, 10)
        client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        take(client, 10)
        client.seek(TopicPartition(name, 0, 7))
        assert values_of(take(client, 3)) == [b"7", b"8", b"9"]


def test_the_administrator_and_topics(broker: Broker) -> None:
    """Made, seen, grown, deleted, and made again: empty."""
    admin, name = admin_of(broker), topic(broker, 2)
    produce(broker, name, [b"old"])
    with pytest.raises(KafkaException) as refused:
        done(admin.create_topics([NewTopic(name, 2, 1)]))
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    done(admin.create_partitions([NewPartitions(name, 5)]))
    eventually(lambda: len(admin.list_topics(name, SECONDS_MAX).topics[name].partitions) == 5)
    done(admin.delete_topics([name]))
    eventually(lambda: name not in admin.list_topics(timeout=SECONDS_MAX).topics)
    eventually(lambda: created(admin, name))
    (ends,) = done(admin.list_offsets({TopicPartition(name, 0): OffsetSpec.latest()})).values()
    assert ends.offset == 0


def test_the_administrator_and_settings(broker: Broker) -> None:
    """Set, told apart from defaults, and taken back."""
    admin, name = admin_of(broker), topic(broker, config={"retention.ms": "60000"})

    def described() -> dict[str, ConfigEntry]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        (found,) = done(admin.describe_configs([resource])).values()
        return dict(found)

    assert described()["retention.ms"].value == "60000"
    assert not described()["retention.ms"].is_default
    assert described()["cleanup.policy"].is_default
    for operation, value in ((AlterConfigOpType.SET, "1000"), (AlterConfigOpType.DELETE, None)):
        entry = ConfigEntry("segment.bytes", value, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
        done(admin.incremental_alter_configs([resource]))
        expected = value or str(1 << 30)
        eventually(lambda expected=expected: described()["segment.bytes"].value == expected)  # type: ignore[misc]


def test_the_administrator_and_groups(broker: Broker) -> None:
    """Listed, described, moved, deleted; a group that is at work is not."""
    admin, name, group = admin_of(broker), topic(broker), fresh("readers")
    produce(broker, name, [b"a", b"b", b"c"])
    with consumer(broker, group) as client:
        client.subscribe([name])
        take(client, 3)
        client.commit(asynchronous=False)
        (described,) = done(admin.describe_consumer_groups([group])).values()
        assert described.state.name == "STABLE"
        (member,) = described.members
        assert [one.partition for one in member.assignment.topic_partitions] == [0]
        with pytest.raises(KafkaException) as refused:
            done(admin.delete_consumer_groups([group]))
        assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    listed = admin.list_consumer_groups().result(SECONDS_MAX)
    assert group in [one.group_id for one in listed.valid]
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(name, 0, 1)])
    done(admin.alter_consumer_group_offsets([moved]))
    asked = ConsumerGroupTopicPartitions(group)
    (found,) = done(admin.list_consumer_group_offsets([asked])).values()
    assert [one.offset for one in found.topic_partitions] == [1]
    done(admin.delete_consumer_groups([group]))
    listed = admin.list_consumer_groups().result(SECONDS_MAX)
    assert group not in [one.group_id for one in listed.valid]


def test_the_administrator_and_records(broker: Broker) -> None:
    """What is deleted is behind the start of the log."""
    admin, name = admin_of(broker), topic(broker)
    produce(broker, name, [b"%d" % number for number in range(10)])
    (deleted,) = done(admin.delete_records([TopicPartition(name, 0, 6)])).values()
    assert deleted.low_watermark == 6
    with consumer(broker, fresh("readers")) as client:
        assert client.get_watermark_offsets(TopicPartition(name, 0), SECONDS_MAX) == (6, 10)
        client.assign([TopicPartition(name, 0, 2)])
        assert values_of(take(client, 4))[0] == b"6"


def test_the_cluster_is_described(broker: Broker) -> None:
    """One broker, which is also the controller."""
    admin = admin_of(broker)
    described = admin.describe_cluster().result(SECONDS_MAX)
    assert [node.id for node in described.nodes] == [1]
    assert described.controller.id == 1
    assert described.cluster_id


def test_deleting_a_topic_forgets_where_groups_were(broker: Broker) -> None:
    """Whoever reads a new topic of the same name begins anew."""
    admin, name, group = admin_of(broker), topic(broker), fresh("readers")
    produce(broker, name, [b"a", b"b"])
    with consumer(broker, group) as client:
        client.commit(offsets=[TopicPartition(name, 0, 2)], asynchronous=False)
        done(admin.delete_topics([name]))
        eventually(lambda: client.committed([TopicPartition(name, 0)], SECONDS_MAX)[0].offset < 0)


def test_kcat_reads_what_it_wrote(broker: Broker, kcat: str) -> None:
    """An old librdkafka, which looks at exact versions: it compresses, groups, finds by time."""
    name = topic(broker)

    def run(*arguments: str, said: str = "") -> str:
        command = [kcat, "-b", broker.bootstrap, *arguments]
        ended = subprocess.run(
            command, input=said, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    lines = "".join(f"line {number}\n" for number in range(100))
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        run("-P", "-t", name, "-z", codec, said=lines)
    assert run("-C", "-t", name, "-o", "beginning", "-e", "-q") == lines * 5
    assert run("-Q", "-t", f"{name}:0:-1").split() == [name, "[0]", "offset", "500"]
    assert f'topic "{name}" with 1 partitions' in run("-L")
    how = ("-X", "auto.offset.reset=earliest", "-c", "500")
    assert run("-G", fresh("readers"), *how, "-q", name).count("line") == 500
