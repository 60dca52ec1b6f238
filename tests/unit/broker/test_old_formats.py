"""Clients from before Kafka 0.11 write and read, and new ones read what they wrote."""

import struct

import pytest

from odradek.model.errors import ErrorCode
from odradek.records.legacy import read_message_set
from odradek.records.record import Record
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.stage import Client, Stage
from tests.unit.records.test_legacy import message

EARLIEST, LATEST = -2, -1


def produce(client: Client, version: int, records: bytes, acks: int = -1) -> tuple[ErrorCode, int]:
    """One message set."""
    data = [PartitionProduceData(0, records)]
    request = ProduceRequest(None, acks, 1_000, [TopicProduceData("orders", partition_data=data)])
    row = client.ask(request, version).responses[0].partition_responses[0]
    return ErrorCode(row.error_code), row.base_offset


def fetch(client: Client, version: int, offset: int) -> list[tuple[int, bytes | None]]:
    """Offsets and values from an offset on."""
    wanted = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic("orders", partitions=[wanted])])
    row = client.ask(request, version).responses[0].partitions[0]
    assert row.error_code == ErrorCode.NONE
    return [(record.offset, record.value) for record in read_message_set(row.records)]


def list_offsets(client: Client, timestamp: int, partition: int = 0) -> tuple[ErrorCode, list[int]]:
    """As version 0 has it."""
    wanted = [ListOffsetsPartition(partition, timestamp=timestamp)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic("orders", partitions=wanted)])
    row = client.ask(request, 0).topics[0].partitions[0]
    return ErrorCode(row.error_code), list(row.old_style_offsets)


@pytest.mark.parametrize("version", range(3))
def test_message_sets_are_taken(version: int) -> None:
    """They become a batch: old clients and new ones read the same."""
    magic = 1 if version == 2 else 0
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        records = [Record(0, 7_000, None, b"a"), Record(1, 7_000, b"k", b"b")]
        both = b"".join(message(record, magic) for record in records)
        assert produce(client, version, both) == (ErrorCode.NONE, 0)
        assert produce(client, version, both, acks=1) == (ErrorCode.NONE, 2)
        for reader in range(4):
            assert fetch(client, reader, 1) == [(1, b"b"), (2, b"a"), (3, b"b")]
        assert client.fetch("orders", 0).records


@pytest.mark.parametrize("version", range(4))
def test_batches_are_read_by_clients_that_know_none(version: int) -> None:
    """They read nothing before, and saw no error."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a", "b", "c")
        assert fetch(client, version, 0) == [(0, b"a"), (1, b"b"), (2, b"c")]
        assert fetch(client, version, 3) == []


def test_a_batch_is_no_message_set() -> None:
    """Nor is rubbish: neither reaches the log."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        code, _ = produce(client, 2, bytes(61) + struct.pack(">b", 2))
        assert code in {ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD}
        broken = bytearray(message(Record(0, 7_000, None, b"a"), 1))
        broken[-1] ^= 1
        assert produce(client, 2, bytes(broken))[0] == ErrorCode.CORRUPT_MESSAGE
        assert fetch(client, 3, 0) == []


def test_offsets_are_listed_in_the_old_style() -> None:
    """A list with the one offset that was found."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a", "b")
        assert list_offsets(client, EARLIEST) == (ErrorCode.NONE, [0])
        assert list_offsets(client, LATEST) == (ErrorCode.NONE, [2])
        assert list_offsets(client, 1) == (ErrorCode.NONE, [0])
        assert list_offsets(client, LATEST, partition=9)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
