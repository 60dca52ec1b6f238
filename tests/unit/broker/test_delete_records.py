"""DeleteRecords: a log begins where it is told to, if there is nothing against it."""

from collections.abc import Callable

import pytest

from odradek.broker.handlers.delete_records import _everywhere
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import Millis
from odradek.replication.errors import NotLeaderOrFollower
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.unit.broker.ground import ORDERS, Ground, word
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


def test_segments_below_the_new_start_are_deleted_with_their_records() -> None:
    """Not the active one alone: what was deleted takes no room, in the next life neither."""
    with Stage() as stage:
        stage.make("orders", segment_bytes="200")
        client = stage.client()
        for value in "abcdef":
            client.produce("orders", value * 100)
        (log,) = [
            it
            for it in stage.running.services_of_this_life.replicas.dirs
            if it.partition.topic == "orders"
        ]
        assert len(log.segments) == 6
        assert delete(client, 3).low_watermark == 3
        stage.run(1)
        assert [segment.base_offset for segment in log.segments] == [3, 4, 5]
        disk = log.folder.disk
        assert [it for it in disk.names("orders-0") if it.endswith(".log")] == [
            f"{offset:020}.log" for offset in (3, 4, 5)
        ]
        assert client.fetch("orders", 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert client.fetch("orders", 3).log_start_offset == 3


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


def test_the_followers_of_an_ended_leadership_are_not_waited_for() -> None:
    """It ended while its records were deleted: no follower is heard of any more.

    A broker that stops has no timers then, so it would wait for its own answer for ever.
    """

    async def talk(replicas: ReplicaManager) -> None:
        await replicas.apply_leader_and_isr([word()])
        led = replicas.led(ORDERS)
        led.resign()
        stopped = None  # no timer may be asked for
        with pytest.raises(NotLeaderOrFollower):
            await _everywhere(stopped, led, Offset(1), Millis(0))  # type: ignore[arg-type]

    with Ground() as g:
        g.live(talk)


def test_what_was_answered_stays_deleted_after_a_kill_and_a_hundred_cost_few_syncs() -> None:
    """The starts of all logs of a dir are in one file, which is written before the answer."""
    with Stage() as stage:
        stage.make("orders", partitions=100)
        client = stage.client()
        for number in range(100):
            client.produce("orders", "a", "b", partition=number)
        notes: list[str] = []
        for log_dir in stage.running.services_of_this_life.replicas.dirs.dirs:
            note = log_dir.note_log_starts
            log_dir.note_log_starts = _counted(note, notes)  # type: ignore[assignment,method-assign]
        rows = [DeleteRecordsPartition(number, 1) for number in range(100)]
        answer = client.ask(DeleteRecordsRequest([DeleteRecordsTopic("orders", rows)], 1_000))
        assert {it.low_watermark for it in answer.topics[0].partitions} == {1}
        assert len(notes) <= 4
        stage.kill()
        stage.start()
        client = stage.client()
        starts = {client.fetch("orders", 1, partition=it).log_start_offset for it in range(100)}
        assert starts == {1}


def _counted(
    note: Callable[[dict[TopicPartition, Offset]], None], notes: list[str]
) -> Callable[[dict[TopicPartition, Offset]], None]:
    def counted(starts: dict[TopicPartition, Offset]) -> None:
        notes.append("note")
        note(starts)

    return counted
