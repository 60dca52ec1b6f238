"""What a reassignment that does not end is waiting for."""

from odradek.cli.replicas.reassigning import waits_for, waits_for_disk
from odradek.model.ids import TopicPartition
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ONE, TWO = TopicPartition("orders", 1), TopicPartition("orders", 2)


def test_brokers_that_are_gone_hold_it_up() -> None:
    """Only those of partitions that are still moved; a bar alone would stand still in silence."""
    targets = {ONE: (1, 2), TWO: (4, 5)}
    assert waits_for([ONE], targets, {1, 2}) == ""
    assert waits_for([ONE], targets, {1, 3}) == "waiting for broker 2 to be registered again"
    assert "brokers 4, 5 to be" in waits_for([ONE, TWO], targets, {1, 2})


def test_a_log_dir_that_failed_holds_it_up_while_its_broker_is_there() -> None:
    """Of a replica that is wanted; one that goes may be where it likes."""
    rows = [
        MetadataResponsePartition(partition_index=it.partition, offline_replicas=[2])
        for it in (ONE, TWO)
    ]
    answer = MetadataResponse(topics=[MetadataResponseTopic(name="orders", partitions=rows)])
    targets = {ONE: (1, 3), TWO: (2, 3)}
    assert waits_for_disk({ONE}, targets, answer) == ""
    assert waits_for_disk({ONE, TWO}, targets, answer) == (
        "orders-2 waits: its replica on broker 2 is offline, odradek logdirs describe says why"
    )
