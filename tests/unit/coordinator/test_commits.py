"""Positions: who may commit, when a commit is seen, and how it is deleted."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.leave_group import MemberIdentity
from tests.unit.coordinator.talk import GROUP, Talk, subscribed

ORDERS = TopicPartition("orders", 0)


def test_a_member_commits_and_the_group_goes_on_from_there() -> None:
    """Also after a failover, with the note and the leader epoch that came with it."""
    t = Talk()
    (a,) = t.stable(1)
    assert t.committed(t.commit(42, a, 1, leader_epoch=7, metadata="note")) is ErrorCode.NONE
    t.fail_over()
    assert t.fetch(ORDERS) == {ORDERS: 42}
    kept = t.machine.groups.ledger.offsets[GROUP][ORDERS].committed
    assert (kept.leader_epoch, kept.metadata) == (7, "note")


def test_a_commit_is_seen_and_answered_when_it_is_committed() -> None:
    """Nobody reads a position that a failover could take back."""
    t = Talk()
    t.commit(1)
    t.hold()
    ticket = t.commit(2)
    assert t.waits(ticket)
    t.append()
    assert t.fetch(ORDERS) == {ORDERS: 1}
    t.flow()
    assert t.committed(ticket) is ErrorCode.NONE
    assert t.fetch(ORDERS) == {ORDERS: 2}


def test_only_members_of_the_generation_commit() -> None:
    """Someone else reads the partitions of a member that was left behind."""
    t = Talk()
    a, b = t.stable(2)
    assert t.committed(t.commit(1, a, 0)) is ErrorCode.ILLEGAL_GENERATION
    assert t.committed(t.commit(1, "ghost", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert t.committed(t.commit(1)) is ErrorCode.UNKNOWN_MEMBER_ID
    t.leave(b)
    assert t.committed(t.commit(1, b, 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert t.fetch() == {}


def test_a_member_may_commit_before_it_joins_again() -> None:
    """During a rebalance it still owns what it owned: that is its chance to commit."""
    t = Talk()
    a, _ = t.stable(2)
    t.enter()
    assert t.state() == "PreparingRebalance"
    assert t.committed(t.commit(5, a, 1)) is ErrorCode.NONE


def test_a_member_without_an_assignment_has_nothing_to_commit() -> None:
    """Its generation is new, and not yet stable."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    assert t.committed(t.commit(5, a, 1)) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_simple_consumer_commits_without_being_a_member() -> None:
    """It assigns its partitions itself; the group exists by its offsets."""
    t = Talk()
    assert t.committed(t.commit(3)) is ErrorCode.NONE
    assert t.fetch() == {ORDERS: 3}
    assert t.state() == "Empty"
    assert not t.machine.groups.live


def test_a_simple_consumer_may_commit_while_a_group_is_empty() -> None:
    """Tools reset offsets in this way."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    assert t.committed(t.commit(3)) is ErrorCode.NONE


def test_even_under_the_empty_name() -> None:
    """Clients of long ago name no group, and still commit."""
    t = Talk()
    assert t.committed(t.commit(3, group_id="")) is ErrorCode.NONE
    assert t.fetch(ORDERS, group="") == {ORDERS: 3}


@pytest.mark.parametrize(
    ("version", "told"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_member_of_a_group_that_is_not_there(version: int, told: ErrorCode) -> None:
    """Newer clients are told in so many words."""
    t = Talk()
    assert t.committed(t.commit(1, "a", 4, version=version)) is told


def test_a_generation_of_a_group_that_is_empty() -> None:
    """Whoever says so was a member once."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    assert t.committed(t.commit(1, a, 1)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_note_may_not_be_too_long() -> None:
    """The partition is refused, nothing is written."""
    t = Talk()
    assert t.committed(t.commit(1, metadata="x" * 4096)) is ErrorCode.NONE
    assert t.committed(t.commit(2, metadata="x" * 4097)) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert t.fetch() == {ORDERS: 1}


def test_no_note_is_an_empty_one() -> None:
    """On the wire it may be null, in the record it may not."""
    t = Talk()
    t.commit(1, metadata=None)
    t.fail_over()
    assert t.machine.groups.ledger.offsets[GROUP][ORDERS].committed.metadata == ""


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_a_commit_that_cannot_be_written(refused: ErrorCode, told: ErrorCode) -> None:
    """The client hears of the coordinator or of its request, and the position stays."""
    t = Talk()
    t.commit(1)
    t.hold()
    ticket = t.commit(2)
    later = t.commit(3, partition=1)
    t.fail_append(refused)
    assert t.committed(ticket) is told
    assert t.committed(later) is ErrorCode.NONE
    assert t.fetch(ORDERS) == {ORDERS: 1}


def test_a_commit_that_takes_too_long_is_answered_before_it_is_decided() -> None:
    """The client may try again; whether this one counts is shown by the log alone."""
    t = Talk()
    t.hold()
    ticket = t.commit(2)
    t.append()
    t.run(5)
    assert t.committed(ticket) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert t.fetch() == {}
    t.flow()
    assert t.fetch() == {ORDERS: 2}


def test_offsets_that_nobody_has_are_none() -> None:
    """A group that does not exist has no offsets either; that is no error."""
    t = Talk()
    assert t.fetch(ORDERS, ("bills", 3)) == {ORDERS: -1, ("bills", 3): -1}
    assert t.fetch() == {}


def test_a_careful_reader_does_not_take_an_offset_that_is_about_to_change() -> None:
    """It is told to ask again (KIP-447); others get what is committed."""
    t = Talk()
    t.commit(1)
    t.commit(1, partition=1)
    t.hold()
    t.commit(2)
    assert t.fetch(stable=True) == {
        ORDERS: ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ("orders", 1): 1,
    }
    assert t.fetch(ORDERS) == {ORDERS: 1}
    t.flow()
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 2}


def test_offsets_of_topics_that_members_read_stay() -> None:
    """Those of topics that nobody subscribes to may be deleted."""
    t = Talk()
    (a,) = t.stable(1, protocols=(("range", subscribed("orders")),))
    t.commit(1, a, 1)
    t.commit(1, a, 1, topic="bills")
    answer = t.said(t.delete_offsets("orders", "bills", "never"))
    assert [topic.partitions[0].error_code for topic in answer.topics] == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        0,
        0,
    ]
    assert t.fetch() == {ORDERS: 1}


def test_where_subscriptions_cannot_be_read_nothing_is_deleted() -> None:
    """A member may say what it likes; then the coordinator cannot know what it reads."""
    t = Talk()
    (a,) = t.stable(1, protocols=(("range", b"\x00\x01\x7f\xff\xff\xff"),))
    t.commit(1, a, 1)
    answer = t.said(t.delete_offsets("orders"))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


def test_offsets_of_a_living_group_of_another_kind_stay() -> None:
    """What its members read is not known at all."""
    t = Talk()
    t.stable(1, protocol_type="connect")
    assert t.said(t.delete_offsets("orders")).error_code == ErrorCode.NON_EMPTY_GROUP


def test_offsets_of_a_group_that_is_not_there() -> None:
    """There is nothing to delete, and the operator should know."""
    t = Talk()
    assert t.said(t.delete_offsets("orders")).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deletion_reaches_a_commit_that_is_on_its_way() -> None:
    """It was decided later, so it comes behind: the offset is gone in the end."""
    t = Talk()
    t.commit(1, topic="other")
    t.hold()
    t.commit(1)
    t.delete_offsets("orders")
    t.flow()
    assert t.fetch() == {("other", 0): 1}


def test_a_static_member_commits_under_its_name() -> None:
    """The name must be its own."""
    t = Talk()
    ticket = t.join(instance="one")
    t.run(3)
    one = t.said(ticket).member_id
    t.sync(one, {one: b""})
    assert t.committed(t.commit(1, one, 1, group_instance_id="one")) is ErrorCode.NONE
    told = t.committed(t.commit(1, one, 1, group_instance_id="two"))
    assert told is ErrorCode.UNKNOWN_MEMBER_ID
    assert t.said(t.leave(MemberIdentity(one, "one"))).members[0].error_code == 0
