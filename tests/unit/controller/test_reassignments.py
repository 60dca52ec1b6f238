"""Partitions move (`on_partitions_reassigned`): with what a controller leaves to its successor."""

import pytest

from odradek.controller.events import (
    AlterPartitionAsked,
    ReassignmentAsked,
    ReassignmentsListed,
    TreeChanged,
)
from odradek.metadata.nouns import Assignment
from odradek.metadata.znodes.admin import ReassignPartitionsZnode
from odradek.metadata.znodes.topic import TopicZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    RequestPartitionData,
    RequestTopicData,
)
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from tests.unit.controller.conversation import Conversation, Deposed

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    """Brokers by number."""
    return tuple(map(BrokerId, numbers))


def reassign(talk: Conversation, *target: int) -> ErrorCode:
    """Asks for it; the error code."""
    error = talk.on(ReassignmentAsked({ORDERS: ids(*target)}))[ORDERS]
    return ErrorCode.NONE if error is None else error.code


def cancel(talk: Conversation) -> ErrorCode:
    """Asks for that; the error code."""
    error = talk.on(ReassignmentAsked({ORDERS: None}))[ORDERS]
    return ErrorCode.NONE if error is None else error.code


def in_sync(talk: Conversation, *isr: int) -> int:
    """The leader asks for this ISR; the error code of the partition."""
    state = talk.state("orders")
    leader = state.leader
    assert leader is not None
    topic_id = talk.context.image.topics["orders"].topic_id
    assert topic_id is not None
    row = RequestPartitionData(
        0, state.leader_epoch, new_isr=isr, partition_epoch=state.partition_epoch
    )
    request = AlterPartitionRequest(
        leader, talk.epoch(leader), [RequestTopicData(topic_id=topic_id, partitions=[row])]
    )
    response = talk.on(AlterPartitionAsked(request, 2))
    code: int = response.topics[0].partitions[0].error_code
    return code


def assignment(talk: Conversation) -> Assignment:
    """As the topic's znode has it."""
    node = talk.tree.nodes["/brokers/topics/orders"]
    return TopicZnode.decode("orders", node.data).partitions[0]


def test_on_partitions_reassigned_moves_to_another_broker() -> None:
    """A1, and B3 with B4, make two leader epochs; the znode names the target alone at the end."""
    talk = Conversation().begin().make("orders", (1,))
    assert reassign(talk, 2) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(2, 1), ids(2), ids(1))
    assert talk.led(2)["orders", 0].is_new
    assert not talk.led(1)["orders", 0].is_new
    assert talk.state("orders").leader_epoch == 1
    assert in_sync(talk, 1, 2) == ErrorCode.NONE
    assert talk.leads("orders") == (2, (2,), 2)
    assert assignment(talk) == Assignment(ids(2))
    assert talk.stops(1)["orders", 0].delete_partition
    assert talk.on(ReassignmentsListed(None)) == {}


def test_the_isr_grows_to_all_and_shrinks_to_the_target() -> None:
    """Three to three others: nobody is taken away before all of the target are in sync."""
    talk = Conversation(brokers=range(1, 7)).begin().make("orders", (1, 2, 3))
    reassign(talk, 4, 5, 6)
    assert talk.on(ReassignmentsListed([ORDERS])) == {
        ORDERS: Assignment(ids(4, 5, 6, 1, 2, 3), ids(4, 5, 6), ids(1, 2, 3))
    }
    in_sync(talk, 1, 2, 3, 4, 5)
    assert assignment(talk).is_reassigning
    in_sync(talk, 1, 2, 3, 4, 5, 6)
    assert talk.leads("orders")[:2] == (4, (4, 5, 6))
    assert assignment(talk) == Assignment(ids(4, 5, 6))


def told(talk: Conversation, broker: int) -> list[LeaderAndIsrPartitionState]:
    """All that a broker was told, from the beginning."""
    return [
        row
        for to, request in talk.sent
        if to == broker and isinstance(request, LeaderAndIsrRequest)
        for topic in request.topic_states
        for row in topic.partition_states
    ]


def test_a_leader_is_told_of_all_members_of_the_isr() -> None:
    """It waits for none that it does not know: what it commits then, a removed member may lack."""
    talk = Conversation(brokers=range(1, 6)).begin().make("orders", (3, 4, 5))
    reassign(talk, 4, 2, 1)
    in_sync(talk, 1, 2, 3, 4, 5)
    assert talk.leads("orders")[:2] == (4, (1, 2, 4))
    rows = [row for broker in range(1, 6) for row in told(talk, broker)]
    assert [row for row in rows if not {*row.isr} <= {*row.replicas}] == []


def test_an_added_replica_is_new_in_its_first_message_too() -> None:
    """Else a broker with a failed dir takes it for offline: its log might be in there."""
    talk = Conversation(brokers=(1, 2, 3)).begin().make("orders", (1,))
    reassign(talk, 2)
    reassign(talk, 3)
    for broker in (2, 3):
        rows = told(talk, broker)
        assert rows
        assert all(row.is_new for row in rows)


def test_an_added_replica_that_was_in_sync_is_not_new() -> None:
    """Its log was there: an empty one in its place must not lead."""
    talk = Conversation(brokers=(1, 2, 3)).begin().make("orders", (1,))
    reassign(talk, 2, 3)
    assert in_sync(talk, 1, 2) == ErrorCode.NONE
    talk.brokers(2, 3)
    assert talk.state("orders").leader == 2
    assert not talk.led(2)["orders", 0].is_new


def test_a_move_begun_by_the_znode_waits_for_a_dead_target() -> None:
    """It stalls after one epoch, and goes on when the broker starts."""
    talk = Conversation(brokers=(1,)).begin().make("orders", (1,))
    data = ReassignPartitionsZnode.encode({ORDERS: ids(2)})
    talk.tree.put(ReassignPartitionsZnode.PATH, data)
    talk.on(TreeChanged(frozenset({ReassignPartitionsZnode.PATH})))
    assert talk.state("orders").leader_epoch == 1
    assert ReassignPartitionsZnode.PATH in talk.tree.nodes
    talk.brokers(1, 2)
    assert talk.led(2)["orders", 0].is_new
    in_sync(talk, 1, 2)
    assert talk.leads("orders") == (2, (2,), 3)
    assert ReassignPartitionsZnode.PATH not in talk.tree.nodes


@pytest.mark.parametrize("theirs", [b"{", ReassignPartitionsZnode.encode({PAYMENTS: ids(2)})])
def test_what_somebody_asks_meanwhile_is_not_written_over(theirs: bytes) -> None:
    """A move ends, and the znode says something that this controller has not read, or cannot."""
    talk = Conversation(brokers=(1, 2)).begin().make("orders", (1,)).make("payments", (1,))
    path = ReassignPartitionsZnode.PATH
    talk.tree.put(path, ReassignPartitionsZnode.encode({ORDERS: ids(2)}))
    talk.on(TreeChanged(frozenset({path})))
    talk.tree.put(path, theirs)
    in_sync(talk, 1, 2)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.tree.nodes[path].data == theirs


@pytest.mark.parametrize("target", [(), (2, 2), (-1,), (9,)])
def test_a_target_that_cannot_be_is_refused(target: tuple[int, ...]) -> None:
    """Empty (that was a deletion once), repeated, impossible or unknown."""
    talk = Conversation().begin().make("orders", (1,))
    assert reassign(talk, *target) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert not assignment(talk).is_reassigning


def test_an_unknown_partition_is_refused() -> None:
    """There is nothing to be moved."""
    talk = Conversation().begin()
    assert reassign(talk, 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_cancel_goes_back_to_the_origin() -> None:
    """The replica that was being added is deleted."""
    talk = Conversation().begin().make("orders", (1, 2))
    assert cancel(talk) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    reassign(talk, 3)
    assert cancel(talk) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(1, 2))
    assert talk.stops(3)["orders", 0].delete_partition


def test_a_cancel_that_would_lose_records_is_refused() -> None:
    """None of the origin is in sync: the only whole copies are those that would be deleted."""
    talk = Conversation().begin().make("orders", (1,))
    reassign(talk, 2, 3)
    in_sync(talk, 1, 2)
    talk.brokers(2, 3)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert cancel(talk) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_cancel_never_leaves_fewer_than_min_isr_whole_copies() -> None:
    """What two have acknowledged would be on one disk: others have to catch up first."""
    talk = Conversation(brokers=(1, 2, 3, 4, 5)).begin().make("orders", (1, 2, 3))
    talk.settings.min_isrs["orders"] = 2
    assert reassign(talk, 1, 4, 5) is ErrorCode.NONE
    assert in_sync(talk, 1, 2, 4) == ErrorCode.NONE
    talk.brokers(1, 4, 5)
    assert talk.leads("orders")[:2] == (1, (1, 4))
    assert cancel(talk) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(talk, 1, 2, 5) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    talk.register(2)
    talk.brokers(1, 2, 4, 5)
    assert in_sync(talk, 1, 2, 4) == ErrorCode.NONE
    assert cancel(talk) is ErrorCode.NONE
    assert talk.leads("orders")[:2] == (1, (1, 2))


def test_a_cancel_that_deletes_no_whole_copy_is_free() -> None:
    """However few are in sync: what is removed was not worth anything yet."""
    talk = Conversation(brokers=(1, 2, 3, 4)).begin().make("orders", (1, 2))
    talk.settings.min_isrs["orders"] = 2
    assert reassign(talk, 1, 4) is ErrorCode.NONE
    talk.brokers(1, 3, 4)
    assert talk.leads("orders")[:2] == (1, (1,))
    assert cancel(talk) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(1, 2))


def test_a_target_smaller_than_min_isr_is_refused() -> None:
    """Nothing could be produced to it with acks=all."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    talk.settings.min_isrs["orders"] = 2
    assert reassign(talk, 1) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(talk, 1, 2) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(1, 2))


def obeys(talk: Conversation, broker: int, code: int = 0) -> None:
    """A broker answers the newest LeaderAndIsr that it was sent."""
    newest = [r for to, r in talk.sent if to == broker and isinstance(r, LeaderAndIsrRequest)][-1]
    topics = [
        LeaderAndIsrTopicError(
            it.topic_id,
            [
                LeaderAndIsrPartitionError(partition_index=row.partition_index, error_code=code)
                for row in it.partition_states
            ],
        )
        for it in newest.topic_states
    ]
    talk.answer(broker, newest, LeaderAndIsrResponse(topics=topics))


@pytest.mark.parametrize("stays", [1, 2])
def test_the_last_copy_is_proven_before_the_others_go(stays: int) -> None:
    """Its disk may have died while nobody touched it: it leads, and has answered so."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    assert reassign(talk, stays) is ErrorCode.NONE
    assert talk.leads("orders")[:2] == (stays, (1, 2, 3))
    assert set(talk.led(stays)["orders", 0].removing_replicas) == {1, 2, 3} - {stays}
    assert [talk.stops(it) for it in (1, 2, 3)] == [{}, {}, {}]
    assert assignment(talk).is_reassigning
    obeys(talk, stays)
    assert talk.leads("orders")[:2] == (stays, (stays,))
    assert assignment(talk) == Assignment(ids(stays))
    assert all(talk.stops(it)["orders", 0].delete_partition for it in {1, 2, 3} - {stays})


def test_a_last_copy_that_is_offline_is_waited_for() -> None:
    """Another leads, nothing is deleted; once it is in sync again it is asked anew."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    reassign(talk, 1)
    obeys(talk, 1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.leads("orders")[:2] == (2, (2, 3))
    assert assignment(talk).is_reassigning
    obeys(talk, 1)
    assert in_sync(talk, 1, 2, 3) == ErrorCode.NONE
    assert talk.leads("orders")[:2] == (1, (1, 2, 3))
    assert [talk.stops(it) for it in (1, 2, 3)] == [{}, {}, {}]
    obeys(talk, 1)
    assert talk.leads("orders")[:2] == (1, (1,))


def test_an_answer_of_an_earlier_epoch_proves_nothing() -> None:
    """The broker that stays came back since, with a disk that may be another."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    reassign(talk, 1)
    early = list(talk.sent)
    talk.bounce(1)
    reassign(talk, 1)
    talk.sent[:] = [*talk.sent, *early]
    obeys(talk, 1)
    assert assignment(talk).is_reassigning
    assert [talk.stops(it) for it in (1, 2, 3)] == [{}, {}, {}]


def test_a_refusal_that_says_nothing_of_the_disk_proves_nothing() -> None:
    """It hangs, and the broker has answered all the same."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    reassign(talk, 1)
    obeys(talk, 1, ErrorCode.REQUEST_TIMED_OUT)
    assert assignment(talk).is_reassigning
    obeys(talk, 1)
    assert assignment(talk) == Assignment(ids(1))


def test_the_successor_asks_the_last_copy_again() -> None:
    """The controller died before the answer."""
    talk = Conversation()
    talk.topic("orders", Assignment(ids(1, 2, 3), (), ids(2, 3)))
    talk.write_state("orders", leader=1, isr=ids(1, 2, 3))
    talk.begin()
    assert [talk.stops(it) for it in (1, 2, 3)] == [{}, {}, {}]
    obeys(talk, 1)
    assert assignment(talk) == Assignment(ids(1))


def test_a_cancel_deletes_the_second_copy_once_the_first_is_proven() -> None:
    """It was being grown, and the disk that it began on may have died since."""
    talk = Conversation().begin().make("orders", (1,))
    reassign(talk, 1, 2, 3)
    assert in_sync(talk, 1, 2) == ErrorCode.NONE
    assert cancel(talk) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(1, 2), (), ids(2))
    assert talk.stops(2) == {}
    assert talk.stops(3)["orders", 0].delete_partition
    obeys(talk, 1)
    assert assignment(talk) == Assignment(ids(1))
    assert talk.leads("orders")[:2] == (1, (1,))
    assert talk.stops(2)["orders", 0].delete_partition


def test_a_cancel_beside_a_dead_disk_deletes_no_copy() -> None:
    """The copy that had been made leads until the origin's disk works."""
    talk = Conversation().begin().make("orders", (1,))
    reassign(talk, 1, 2, 3)
    in_sync(talk, 1, 2)
    cancel(talk)
    obeys(talk, 1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert talk.leads("orders")[:2] == (2, (2,))
    assert talk.stops(2) == {}


def test_another_target_deletes_no_second_copy_before_it_is_reached() -> None:
    """It was copied for the first target, and the origin's disk may be dead."""
    talk = Conversation().begin().make("orders", (1,))
    reassign(talk, 2, 3)
    in_sync(talk, 1, 2)
    assert reassign(talk, 3) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(3, 1, 2), ids(3), ids(1, 2))
    assert talk.stops(2) == {}
    in_sync(talk, 1, 2, 3)
    assert assignment(talk) == Assignment(ids(3))
    assert all(talk.stops(it)["orders", 0].delete_partition for it in (1, 2))


def test_two_that_stay_need_not_be_asked() -> None:
    """One disk may be dead: the other has everything."""
    talk = Conversation().begin().make("orders", (1, 2, 3))
    reassign(talk, 1, 2)
    assert assignment(talk) == Assignment(ids(1, 2))


def test_a_leader_that_stays_alone_has_recovered() -> None:
    """It was elected uncleanly, and there is no other who could join it and say so."""
    talk = Conversation()
    talk.topic("orders", (1, 2))
    talk.write_state("orders", leader=1, isr=(1,), recovering=True)
    talk.begin()
    assert talk.state("orders").recovering
    assert reassign(talk, 1) is ErrorCode.NONE
    assert talk.leads("orders")[:2] == (1, (1,))
    assert not talk.state("orders").recovering


def test_the_latest_of_two_reassignments_counts() -> None:
    """Replicas that only the first wanted are deleted again."""
    talk = Conversation().begin().make("orders", (1,))
    reassign(talk, 2)
    assert reassign(talk, 3) is ErrorCode.NONE
    assert assignment(talk) == Assignment(ids(3, 1), ids(3), ids(1))
    assert talk.stops(2)["orders", 0].delete_partition


def test_the_successor_goes_on_from_the_znode() -> None:
    """The controller died after its first write, before anybody was told."""
    talk = Conversation()
    talk.topic("orders", Assignment(ids(2, 1), ids(2), ids(1)))
    talk.write_state("orders", leader=1, isr=ids(1))
    talk.begin()
    assert talk.led(2)["orders", 0].is_new
    in_sync(talk, 1, 2)
    assert assignment(talk) == Assignment(ids(2))


def test_the_successor_completes_what_was_nearly_complete() -> None:
    """The controller died before the last write: completion is done once more."""
    talk = Conversation()
    talk.topic("orders", Assignment(ids(2, 1), ids(2), ids(1)))
    talk.write_state("orders", leader=2, leader_epoch=3, isr=ids(2))
    talk.begin()
    assert assignment(talk) == Assignment(ids(2))
    assert talk.stops(1)["orders", 0].delete_partition


def test_a_leader_cannot_take_a_removed_replica_back() -> None:
    """It begins anew with the target, so what it asked for before is of an older epoch."""
    talk = Conversation().begin().make("orders", (1, 2))
    before = talk.state("orders").leader_epoch
    reassign(talk, 1)
    obeys(talk, 1)
    assert talk.leads("orders")[:2] == (1, (1,))
    assert talk.state("orders").leader_epoch > before
    assert list(talk.led(1)["orders", 0].replicas) == [1]
    assert in_sync(talk, 1, 2) == ErrorCode.INVALID_REQUEST


def test_a_deposed_controller_stops_in_the_middle() -> None:
    """Another raised the epoch: nothing is written any more, nobody is told."""
    talk = Conversation().begin().make("orders", (1,))
    talk.tree.put("/controller_epoch", b"6")
    talk.sent.clear()
    with pytest.raises(Deposed):
        reassign(talk, 2)
    assert talk.sent == []
    assert not assignment(talk).is_reassigning
