"""The blocking client against a live broker, ours or Kafka: what Spark's workers do with it."""

from collections.abc import Iterator
from itertools import count

import pytest
from confluent_kafka import KafkaException

from odradek.client.blocking.client import BlockingClient
from odradek.client.blocking.fetch import EndNotReached
from odradek.client.errors import LogTruncated, OffsetExpired, Refused, TopicRecreated
from odradek.client.records.fetching import FetchSettings
from odradek.client.records.offsets import EARLIEST, LATEST, Position
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Millis
from odradek.records.batch import headers
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.compat.broker_process import Broker, eventually
from tests.compat.hostile import Raw
from tests.compat.librdkafka import create_topic

TIME = 1_700_000_000_000
SMALL = FetchSettings(bytes_max=Bytes(300))  # many answers for a few records
_NUMBERS = count()


@pytest.fixture
def client(broker: Broker) -> Iterator[BlockingClient]:
    """One that gives up soon."""
    with BlockingClient(broker.bootstrap, patience_ms=Millis(10_000)) as client:
        yield client


@pytest.fixture
def topic(broker: Broker) -> str:
    """Two empty partitions, whose records may be as old as they like."""
    return create_topic(broker, f"blocking-{next(_NUMBERS)}", 2, retention_ms="-1")


def batch(*values: bytes) -> bytearray:
    """As somebody builds it who knows nothing of producers."""
    return build_batch([Record(at, TIME + at, None, value) for at, value in enumerate(values)])


def is_created(broker: Broker, topic: str) -> bool:
    """False while a topic of that name is being deleted."""
    try:
        create_topic(broker, topic, 2)
    except KafkaException:
        return False
    return True


def values_of(
    client: BlockingClient, partition: TopicPartition, start: int, end: int
) -> list[bytes | None]:
    """The records of a range, by decoding what came."""
    found = []
    for fetched in client.fetch(partition, Position(Offset(start)), end, SMALL):
        for position, header in headers(fetched.data):
            records = read_records(fetched.data, header, position)
            found += [it.value for it in records if start <= it.offset < end]
    return found


def test_what_is_produced_is_fetched(client: BlockingClient, topic: str) -> None:
    """Batch by batch, over many answers with one request ahead, from and up to any offset."""
    partitions = [TopicPartition(topic, number) for number in range(2)]
    producer = client.producer()
    values = [b"%05d" % number for number in range(500)]
    for at in range(0, 500, 10):
        for partition in partitions:
            producer.send(partition, batch(*values[at : at + 10]))
    produced = producer.flush()
    for partition in partitions:
        offsets = [it.base_offset for it in produced if it.partition == partition]
        assert offsets == list(range(0, 500, 10))
        assert values_of(client, partition, 0, 500) == values
        assert values_of(client, partition, 13, 477) == values[13:477]
    ends = client.offsets(dict.fromkeys(partitions, LATEST))
    assert {it: row.offset for it, row in ends.items()} == dict.fromkeys(partitions, 500)
    by_time = client.offsets({partitions[0]: TIME + 5, partitions[1]: TIME * 2})
    assert by_time[partitions[0]][::2] == (5, TIME + 5)
    assert by_time[partitions[1]].offset == -1


def test_a_cluster_is_described(client: BlockingClient, topic: str) -> None:
    """Its id, its brokers, and the topics with ids, leaders and leader epochs."""
    cluster = client.cluster([topic, "nobody-made-it"])
    assert cluster.cluster_id
    found = cluster.topics[topic]
    assert found.topic_id != NO_TOPIC_ID
    assert {it.leader for it in found.partitions.values()} <= set(cluster.brokers)
    assert all(it.leader_epoch >= 0 for it in found.partitions.values())
    assert cluster.topics["nobody-made-it"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic in client.cluster().topics
    with pytest.raises(Refused, match="nobody-made-it"):
        client.topic("nobody-made-it")


def test_a_group_moves_without_members(client: BlockingClient, topic: str) -> None:
    """Positions with their leader epochs, as a checkpoint would keep them."""
    positions = {TopicPartition(topic, 0): Position(Offset(7), LeaderEpoch(0))}
    client.commit(f"{topic}-readers", positions)
    assert client.committed(f"{topic}-readers") == positions
    wanted = [TopicPartition(topic, number) for number in range(2)]
    assert client.committed(f"{topic}-readers", wanted) == positions


def test_a_range_whose_end_never_comes_is_not_waited_for_for_ever(
    broker: Broker, topic: str
) -> None:
    """What has come was given before."""
    partition = TopicPartition(topic, 0)
    with BlockingClient(broker.bootstrap, patience_ms=Millis(600)) as client:
        producer = client.producer()
        producer.send(partition, batch(b"a"))
        producer.flush()
        with pytest.raises(EndNotReached, match="offset 1"):
            values_of(client, partition, 0, 2)


def test_records_that_are_no_more_are_told_apart(
    broker: Broker, client: BlockingClient, topic: str
) -> None:
    """Expired, truncated and recreated: each has its own remedy."""
    partition = TopicPartition(topic, 0)
    producer = client.producer()
    producer.send(partition, batch(b"a", b"b", b"c"))
    producer.flush()
    before = client.topic(topic).topic_id
    with Raw(broker) as raw:
        rows = [DeleteRecordsPartition(0, 2)]
        raw.ask(DeleteRecordsRequest([DeleteRecordsTopic(topic, rows)], 10_000))
    with pytest.raises(OffsetExpired) as expired:
        values_of(client, partition, 1, 3)
    assert expired.value.log_start_offset == 2
    with pytest.raises(LogTruncated) as truncated:
        values_of(client, partition, 8, 9)
    assert truncated.value.diverges_at == 3
    positions = {partition: Position(Offset(1)), TopicPartition(topic, 1): Position(Offset(0))}
    assert [*map(type, client.lost(positions).values())] == [OffsetExpired]
    with Raw(broker) as raw:
        deleted = raw.ask(DeleteTopicsRequest([DeleteTopicState(topic)], timeout_ms=10_000))
        assert deleted.responses[0].error_code == ErrorCode.NONE
    eventually(lambda: is_created(broker, topic))
    settings = FetchSettings(topic_id=before)
    with pytest.raises(TopicRecreated) as recreated:
        list(client.fetch(partition, Position(Offset(0)), 1, settings))
    assert recreated.value.expected == before
    lost = client.lost({partition: Position(Offset(0))}, {topic: TopicId(before)})
    assert isinstance(lost[partition], TopicRecreated)


def test_a_reader_that_stops_in_the_middle_disturbs_nobody(
    client: BlockingClient, topic: str
) -> None:
    """The answer that was asked for ahead comes later, and is dropped."""
    partition = TopicPartition(topic, 0)
    producer = client.producer()
    for number in range(20):
        producer.send(partition, batch(b"%d" % number))
    producer.flush()
    for fetched in client.fetch(partition, Position(Offset(0)), 20, SMALL):
        assert fetched.start == 0
        break
    assert client.offsets({partition: EARLIEST})[partition].offset == 0
    assert values_of(client, partition, 18, 20) == [b"18", b"19"]
