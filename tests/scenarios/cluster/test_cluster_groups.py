"""Groups of a cluster: their coordinator dies, and what was committed is there."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

GROUPS = "__consumer_offsets"
ORDERS = TopicPartition("orders", 0)
ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


@staged(settings=ONE_PARTITION)
def test_a_group_goes_on_after_its_coordinator_was_killed(t: ClusterScenario) -> None:
    """A commit is acknowledged once every in-sync replica has it, so the next leader has it."""
    client = t.client("shop")
    client.make("orders", replicas=3)
    for number in range(9):
        client.produce("orders", str(number))
    member = client.member("shop", "orders")
    assert member.joins() == {ORDERS: 0}
    assert member.commits("orders", 0, 5) == ErrorCode.NONE
    for _ in range(2):
        t.await_isr(GROUPS, 1, 2, 3)
        coordinator = t.leader(GROUPS)
        t.broker(coordinator).kill()
        t.await_new_leader(GROUPS, coordinator)
        assert client.committed("shop") == {ORDERS: 5}
        t.broker(coordinator).start()
    again = t.client("other").member("shop", "orders")
    assert again.joins() == {ORDERS: 5}


@staged(settings=ONE_PARTITION)
def test_a_commit_waits_for_the_in_sync_replicas(t: ClusterScenario) -> None:
    """With fewer than min ISR it is refused, and what was committed before stands."""
    client = t.client("shop")
    client.make("orders", replicas=3)
    member = client.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 1) == ErrorCode.NONE
    coordinator = t.leader(GROUPS)
    for broker in t.others(coordinator):
        broker.kill()
    t.run(seconds=3)
    assert member.still_belongs()  # its session is as long as those of the brokers
    t.await_isr(GROUPS, coordinator)
    t.run(seconds=0.05)  # until its leader has heard of it
    assert member.commits("orders", 0, 2) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    for broker in t.others(coordinator):
        broker.start()
    t.await_isr(GROUPS, 1, 2, 3)
    assert client.committed("shop") == {ORDERS: 1}


def test_no_group_begins_before_its_topic_can_have_all_its_replicas() -> None:
    """Kafka waits for as many brokers as `offsets.topic.replication.factor` says, too."""
    with ClusterScenario(brokers=2, settings=ONE_PARTITION) as t:
        client = t.client("shop")
        asked = FindCoordinatorRequest(coordinator_keys=["shop"])
        connection = client.does(client.cluster.any())
        (found,) = client.does(connection.ask(asked)).coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert "replication" in found.error_message


@pytest.mark.parametrize("epochs", [1, 2])
@staged(settings=ONE_PARTITION)
def test_a_coordinator_that_has_written_half_of_a_commit_reads_its_log_again(
    t: ClusterScenario, epochs: int
) -> None:
    """What it believes and what its log says differ then; its groups go on with the log.

    Also if it was elected, and has led on in another leader epoch since.
    """
    client = t.operator()
    client.make("orders", replicas=3, partitions=2)
    member = client.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 1) == ErrorCode.NONE
    client.sets(GROUPS, segment_bytes="600", max_message_bytes="1000")
    t.run(seconds=1)
    before = t.state(GROUPS)
    if epochs > 1:
        follower = t.broker(t.followers(GROUPS)[0])
        follower.kill()
        follower.start()
        t.await_isr(GROUPS, 1, 2, 3)
        assert t.state(GROUPS).leader == before.leader
        assert t.state(GROUPS).leader_epoch > before.leader_epoch
    rows = [
        OffsetCommitRequestPartition(0, 2, committed_metadata="a"),
        OffsetCommitRequestPartition(1, 2, committed_metadata="b" * 860),  # larger than a segment
    ]
    topics = [OffsetCommitRequestTopic("orders", partitions=rows)]
    request = OffsetCommitRequest("alone", topics=topics)
    connection = client.does(client.cluster.broker(BrokerId(t.leader(GROUPS))))
    answer = client.does(connection.ask(request, 8))
    assert {row.error_code for row in answer.topics[0].partitions} == {ErrorCode.NOT_COORDINATOR}
    assert client.committed("shop") == {ORDERS: 1}
    assert member.commits("orders", 0, 3) == ErrorCode.NONE
    assert client.committed("alone") == {ORDERS: 2}


@staged(settings=ONE_PARTITION)
def test_what_was_committed_goes_with_its_topic_though_it_could_not_be_removed(
    t: ClusterScenario,
) -> None:
    """The coordinator could write nothing then; the next topic of the name begins at its start."""
    client = t.client("shop")
    client.make("orders", replicas=3)
    member = client.member("shop", "orders")
    member.joins()
    assert member.commits("orders", 0, 5) == ErrorCode.NONE
    coordinator = t.leader(GROUPS)
    for broker in t.others(coordinator):
        broker.kill()
    t.await_isr(GROUPS, coordinator)
    client.delete("orders")
    t.run(seconds=1)
    for broker in t.others(coordinator):
        broker.start()
    t.await_isr(GROUPS, 1, 2, 3)
    t.wait_until(lambda: not t.has_topic("orders"), "the topic is gone")
    client.make("orders", replicas=3)
    t.await_isr("orders", 1, 2, 3)
    t.run(seconds=1)
    assert client.committed("shop").get(ORDERS) is None
