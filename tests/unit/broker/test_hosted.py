"""What the controller's requests make of what a broker hosts."""

from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.partitions.replicas.hosted import (
    EPOCH_DURING_DELETION,
    Following,
    Hosted,
    HostedPartitions,
    LeaderAndIsrState,
    Leading,
    Offline,
    Role,
    Starting,
    Stopped,
    decide_role,
    decide_stop,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch, PartitionEpoch
from odradek.replication.leadership import Leadership

ME, OTHER = BrokerId(1), BrokerId(2)
ORDERS = TopicPartition("orders", 0)
TOPIC, ANOTHER_TOPIC = TopicId(b"1" * 16), TopicId(b"2" * 16)
REPLICA: Any = SimpleNamespace(partition=ORDERS)


def state(
    leader_epoch: int,
    partition_epoch: int | None = None,
    *,
    leader: BrokerId | None = ME,
    replicas: tuple[BrokerId, ...] = (ME, OTHER),
    topic_id: TopicId = TOPIC,
) -> LeaderAndIsrState:
    """Of a LeaderAndIsr request."""
    version = leader_epoch if partition_epoch is None else partition_epoch
    leadership = Leadership(LeaderEpoch(leader_epoch), PartitionEpoch(version), replicas, replicas)
    return LeaderAndIsrState(ORDERS, topic_id, leader, leadership)


def every_entry(at: LeaderAndIsrState) -> list[Hosted]:
    """That a partition in service can have."""
    return [Starting(at), Leading(at, REPLICA), Following(at, REPLICA), Stopped(at)]


def test_a_partition_that_is_not_hosted_yet_takes_the_role_it_is_given() -> None:
    """Epoch 0 is newer than none."""
    assert decide_role(None, state(0), ME) is Role.LEAD
    assert decide_role(None, state(0, leader=OTHER), ME) is Role.FOLLOW
    assert decide_role(None, state(0, leader=None), ME) is Role.FOLLOW


@pytest.mark.parametrize("place", range(4))
def test_a_late_leader_and_isr_of_an_older_leader_epoch_changes_nothing(place: int) -> None:
    """Epoch 4 that arrives after epoch 5 does not end leadership 5."""
    hosted = every_entry(state(5))[place]
    for leader in (ME, OTHER, None):
        late = state(4, 99, leader=leader)
        assert decide_role(hosted, late, ME) is ErrorCode.STALE_CONTROLLER_EPOCH


@pytest.mark.parametrize("place", range(4))
def test_the_same_state_twice_is_no_news(place: int) -> None:
    """Requests are repeated until they are answered."""
    hosted = every_entry(state(5))[place]
    assert decide_role(hosted, state(5), ME) is ErrorCode.STALE_CONTROLLER_EPOCH


@pytest.mark.parametrize("place", range(4))
def test_a_newer_leader_epoch_gives_a_role_whatever_was_there(place: int) -> None:
    """It may come before the disk has done what the one before asked for."""
    hosted = every_entry(state(5))[place]
    assert decide_role(hosted, state(6), ME) is Role.LEAD
    assert decide_role(hosted, state(6, leader=OTHER), ME) is Role.FOLLOW


def test_a_leader_takes_another_isr_within_its_epoch() -> None:
    """A partition epoch that is newer says what the ISR is; for a follower it says nothing."""
    newer = state(5, 8)
    assert decide_role(Leading(state(5, 7), REPLICA), newer, ME) is Role.LEAD_ON
    assert decide_role(Starting(state(5, 7)), newer, ME) is Role.LEAD_ON, "it begins with that"
    following = Following(state(5, 7, leader=OTHER), REPLICA)
    assert decide_role(following, newer, ME) is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_leader_that_is_no_replica_is_refused_by_row() -> None:
    """The controller has made a mistake; the broker goes on, and so do its other partitions."""
    nonsense = state(5, replicas=(OTHER,))
    assert decide_role(None, nonsense, ME) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("place", range(4))
def test_another_topic_of_the_name_does_not_take_over_a_log(place: int) -> None:
    """Its records belong to another topic. A controller that sends no id is believed."""
    hosted = every_entry(state(5))[place]
    another = state(6, topic_id=ANOTHER_TOPIC)
    assert decide_role(hosted, another, ME) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert decide_role(hosted, state(6, topic_id=NO_TOPIC_ID), ME) is Role.LEAD


def test_a_failed_dir_is_told_before_any_epoch_is_compared() -> None:
    """A controller learns offline replicas again by repeating the epoch that it has."""
    for epoch in (4, 5, 6):
        assert decide_role(Offline(state(5)), state(epoch), ME) is ErrorCode.KAFKA_STORAGE_ERROR
    assert decide_stop(Offline(state(5)), LeaderEpoch(9)) is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("place", range(4))
def test_a_late_stop_replica_does_not_delete_a_newer_log(place: int) -> None:
    """KIP-570: a topic was made again while the request to delete the first was under way."""
    hosted = every_entry(state(5))[place]
    assert decide_stop(hosted, LeaderEpoch(4)) is ErrorCode.FENCED_LEADER_EPOCH
    for epoch in (LeaderEpoch(5), LeaderEpoch(6), EPOCH_DURING_DELETION, NO_LEADER_EPOCH):
        assert decide_stop(hosted, epoch) is None
    assert decide_stop(None, LeaderEpoch(0)) is None


def test_only_a_leader_is_found_by_the_bytes_of_a_produce_request() -> None:
    """A role that ends takes its name along."""
    table = HostedPartitions()
    table[ORDERS] = Leading(state(5), REPLICA)
    assert table.leading((b"orders", 0)) == REPLICA
    table[ORDERS] = Following(state(6, leader=OTHER), REPLICA)
    assert table.leading((b"orders", 0)) is None
    table[ORDERS] = Leading(state(7), REPLICA)
    table.pop(ORDERS)
    assert table.leading((b"orders", 0)) is None
    assert list(table) == []
