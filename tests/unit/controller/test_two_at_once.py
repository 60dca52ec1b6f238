"""Two things meet in the controller: each rule is right alone, and must be beside the other."""

from odradek.controller.candidacy import Lost
from odradek.controller.decisions.campaign import Candidate, Won, campaign
from odradek.controller.events import (
    AlterPartitionAsked,
    ControlledShutdownAsked,
    DeletionAsked,
    ReassignmentAsked,
)
from odradek.metadata.nouns import Assignment
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import Timestamp
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    RequestPartitionData,
    RequestTopicData,
)
from odradek.wire.messages.stop_replica import StopReplicaRequest
from tests.unit.controller.conversation import Conversation

ORDERS = TopicPartition("orders", 0)


def test_a_growth_by_another_tool_that_a_reassignment_meets_gets_its_leader() -> None:
    """The reassignment reads the new partition with the version that it writes over."""
    talk = Conversation().begin().make("orders", (1,))
    topic = TopicZnode.decode("orders", talk.tree.nodes["/brokers/topics/orders"].data)
    grown = {**topic.partitions, 1: Assignment((BrokerId(2),))}
    talk.tree.put("/brokers/topics/orders", TopicZnode.encode(topic._replace(partitions=grown)))
    assert talk.on(ReassignmentAsked({ORDERS: (BrokerId(3),)})) == {ORDERS: None}
    talk.topics_changed("orders")
    assert talk.leads("orders", 1) == (2, (2,), 0)


def test_a_replica_on_a_failed_disk_does_not_join_the_isr() -> None:
    """It had caught up before: the leader's request was on its way."""
    talk = Conversation().begin().make("orders", (1, 2))
    assert alter(talk, 1) == ErrorCode.NONE
    talk.reports(2, ("orders", 0), code=ErrorCode.KAFKA_STORAGE_ERROR)
    assert alter(talk, 1, 2) == ErrorCode.INELIGIBLE_REPLICA
    talk.reports(2, ("orders", 0))
    assert alter(talk, 1, 2) == ErrorCode.NONE


def alter(talk: Conversation, *isr: int) -> int:
    """The leader asks for this ISR."""
    state = talk.state("orders")
    assert state.leader is not None
    topic_id = talk.context.image.topics["orders"].topic_id
    assert topic_id is not None
    row = RequestPartitionData(
        0, state.leader_epoch, new_isr=isr, partition_epoch=state.partition_epoch
    )
    request = AlterPartitionRequest(
        state.leader, talk.epoch(state.leader), [RequestTopicData("orders", topic_id, [row])]
    )
    response = talk.on(AlterPartitionAsked(request, 2))
    code: int = response.topics[0].partitions[0].error_code
    return code


def test_a_replica_that_only_stopped_is_not_deleted_yet() -> None:
    """Its broker shuts down, and the topic's deletion begins before it has answered that."""
    talk = Conversation().begin().make("orders", (1, 2))
    talk.sent.clear()
    talk.on(ControlledShutdownAsked(BrokerId(2), talk.epoch(2)))
    (stopping,) = [it for it in talk.sent if it[0] == 2 and isinstance(it[1], StopReplicaRequest)]
    talk.on(DeletionAsked(["orders"]))
    talk.stopped(1)
    (deleting,) = [
        it for it in talk.sent if isinstance(it[1], StopReplicaRequest) and it != stopping
    ]
    talk.sent = [stopping]
    talk.stopped(2)
    assert "orders" in talk.context.deletions
    talk.sent = [deleting]
    talk.stopped(2)
    assert talk.context.deletions == {}


def test_a_controller_that_is_back_in_another_life_is_not_replaced() -> None:
    """The news that its former life has ended was dealt with late."""
    talk = Conversation()
    talk.tree.put("/controller", ControllerZnode.encode(BrokerId(2), Timestamp(0)), owner=22)
    registration = talk.tree.nodes["/brokers/ids/2"]
    talk.tree.nodes["/brokers/ids/2"] = registration._replace(owner=22)
    candidate = Candidate(BrokerId(1), 1, Timestamp(0), gone=BrokerId(2))
    assert talk.take(campaign(candidate)) == Lost(BrokerId(2))
    talk.tree.nodes["/brokers/ids/2"] = registration._replace(owner=23)
    assert isinstance(talk.take(campaign(candidate)), Won)  # what the former life has left


def test_another_target_that_would_lose_records_is_refused() -> None:
    """The origin has died, and what the first reassignment has added has everything, alone."""
    talk = Conversation(brokers=(1, 2, 3, 4, 5)).begin().make("orders", (1,))
    talk.on(ReassignmentAsked({ORDERS: ids(4, 5)}))
    assert alter(talk, 1, 4) == ErrorCode.NONE
    talk.brokers(2, 3, 4, 5)
    assert talk.leads("orders")[:2] == (4, (4,))
    refusal = talk.on(ReassignmentAsked({ORDERS: ids(2, 3)}))[ORDERS]
    assert refusal.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "lost" in str(refusal)
    assert talk.on(ReassignmentAsked({ORDERS: ids(2, 4)})) == {ORDERS: None}
    assert talk.leads("orders")[:2] == (4, (4,))


def test_a_cancel_that_a_controller_has_only_written_is_carried_out_by_the_next() -> None:
    """What it added leads, and is no replica any more: that broker deletes what it has."""
    talk = Conversation(brokers=(1, 2, 3)).begin().make("orders", (1,))
    talk.on(ReassignmentAsked({ORDERS: ids(2, 3)}))
    assert alter(talk, 1, 2) == ErrorCode.NONE
    talk.write_state("orders", leader=2, leader_epoch=5, isr=(2, 1))
    talk.topic("orders", (1,))
    talk.begin()
    assert talk.leads("orders")[:2] == (1, (1,))


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    """Brokers by number."""
    return tuple(map(BrokerId, numbers))
