"""DeleteRecords: a log begins where it is told to, if there is nothing against it."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.unit.broker.stage import Client, Stage


def delete(client: Client, offset: int, topic: str = "orders") -> DeleteRecordsPartitionResult:
    """Of partition 0, below this offset."""
    topics = [DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])]
    answer = client.ask(DeleteRecordsRequest(topics, 1_000))
    (row,) = answer.topics[0].partitions
    assert isinstance(row, DeleteRecordsPartitionResult)
    return row


def test_what_lies_below_cannot_be_read_any_more() -> None:
    """Nor in the broker's next life, once it has stopped in good order."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        for value in "abcdef":
            client.produce("orders", value)
        assert delete(client, 4).low_watermark == 4
        assert delete(client, 2).low_watermark == 4
        assert client.fetch("orders", 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        stage.stop()
        stage.start()
        client = stage.client()
        assert client.fetch("orders", 4).log_start_offset == 4
        assert delete(client, -1).low_watermark == 6


@pytest.mark.parametrize(
    ("topic", "offset", "code"),
    [
        ("orders", 7, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("orders", -2, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("keyed", 1, ErrorCode.POLICY_VIOLATION),
        ("nix", 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__consumer_offsets", 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_what_may_not_be_deleted(topic: str, offset: int, code: ErrorCode) -> None:
    """Beyond what is committed, or where deletion is not the topic's way."""
    with Stage() as stage:
        stage.make("orders")
        stage.make("keyed", cleanup_policy="compact")
        client = stage.client()
        client.produce("orders", "a")
        row = delete(client, offset, topic)
        assert (row.error_code, row.low_watermark) == (code, -1)
