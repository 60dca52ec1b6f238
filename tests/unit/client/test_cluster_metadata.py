"""What Metadata answers add up to, and when to try again."""

import pytest

from odradek.client.cluster_metadata import ClusterMetadata
from odradek.client.errors import LogTruncated, NoLeader, Refused
from odradek.client.retries import PAUSE_MAX, PAUSE_MIN, Retries
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, TopicPartition
from odradek.model.units import Millis
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

FIRST, SECOND = bytes(15) + b"\x01", bytes(15) + b"\x02"
ORDERS = TopicPartition("orders", 0)


def told(leader: int, epoch: int, topic_id: bytes = FIRST) -> MetadataResponse:
    """By some broker."""
    partition = MetadataResponsePartition(0, 0, leader, epoch, [1, 2], [leader], [])
    topic = MetadataResponseTopic(0, "orders", topic_id, partitions=[partition])
    brokers = [MetadataResponseBroker(it, f"b{it}", 9092) for it in (1, 2)]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[topic])


def test_a_broker_that_lags_behind_does_not_bring_an_old_leader_back() -> None:
    """Of one topic the later leader epoch counts; another topic of the name begins anew."""
    metadata = ClusterMetadata().after(told(1, 5)).after(told(2, 4))
    assert metadata.leader(ORDERS) == 1
    assert metadata.after(told(2, 6)).leader(ORDERS) == 2
    assert metadata.after(told(2, 0, SECOND)).leader(ORDERS) == 2
    assert metadata.after(told(2, -1)).leader(ORDERS) == 2  # too old to tell epochs


def test_a_leader_is_one_that_can_be_reached() -> None:
    """Nobody, an unknown broker, an unknown partition: all are answered by asking again."""
    metadata = ClusterMetadata().after(told(1, 5))
    for unknown in (ClusterMetadata().after(told(-1, 5)), ClusterMetadata().after(told(3, 5))):
        with pytest.raises(NoLeader):
            unknown.leader(ORDERS)
    with pytest.raises(NoLeader):
        metadata.leader(TopicPartition("orders", 1))
    with pytest.raises(NoLeader):
        metadata.without_topic("orders").leader(ORDERS)
    assert metadata.topic_id("orders") == FIRST
    assert metadata.topic_id("nothing") == NO_TOPIC_ID


def test_pauses_grow_and_progress_makes_patience_anew() -> None:
    """At first soon, for a leader is found again in a moment."""
    retries = Retries(Millis(0), Millis(1_000))
    error = Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    pauses = [retries.pause_after(error, Millis(0)) for _ in range(8)]
    assert pauses[:3] == [PAUSE_MIN, 2 * PAUSE_MIN, 4 * PAUSE_MIN]
    assert pauses[-1] == PAUSE_MAX
    with pytest.raises(Refused):
        retries.pause_after(error, Millis(1_000))
    retries.progress(Millis(900))
    assert retries.pause_after(error, Millis(1_000)) == PAUSE_MIN


def test_what_cannot_be_mended_is_not_tried_again() -> None:
    """Refusals for good, and records that are no more."""
    for error in (Refused(ErrorCode.MESSAGE_TOO_LARGE), LogTruncated(ORDERS, 5, 3)):
        with pytest.raises(type(error)):
            Retries(Millis(0)).pause_after(error, Millis(0))
