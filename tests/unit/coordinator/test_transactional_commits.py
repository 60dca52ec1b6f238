"""TxnOffsetCommit: what counts when, who is fenced, and what else changes the group meanwhile."""

import pytest

from odradek.coordinator.decision import Ticket
from odradek.coordinator.groups.settings import GroupSettings
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.coordinator.talk import GROUP, Talk
from tests.unit.coordinator.test_shard import loading

ORDERS = ("orders", 0)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
DAY = 24 * 3600


def commit(t: Talk, offset: int, member: str = "", generation: int = -1, **more: object) -> Ticket:
    """Of one partition, in the transaction of producer 1."""
    fields: dict[str, object] = {"group_id": GROUP, "producer_id": 1, "producer_epoch": 0} | more
    metadata = str(fields.pop("metadata", ""))
    row = TxnOffsetCommitRequestPartition(0, offset, committed_metadata=metadata)
    topics = [TxnOffsetCommitRequestTopic(str(fields.pop("topic", "orders")), [row])]
    request = TxnOffsetCommitRequest(
        "copier",
        generation_id=generation,
        member_id=member,
        topics=topics,
        **fields,  # type: ignore[arg-type]  # as they are named
    )
    return t.ask(request, 3)


@pytest.mark.parametrize("committed", [True, False])
def test_a_position_counts_from_the_marker_on(*, committed: bool) -> None:
    """Until then it is shown to nobody, and who wants what is stable is told to wait."""
    t = Talk()
    t.commit(1)
    assert t.committed(commit(t, 5)) is ErrorCode.NONE
    assert t.fetch() == {ORDERS: 1}
    assert t.fetch(ORDERS, stable=True) == {ORDERS: UNSTABLE}
    assert t.said(t.end_transaction(1, committed=committed)) is ErrorCode.NONE
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 5 if committed else 1}


def test_a_marker_counts_once_it_is_committed_and_is_answered_then() -> None:
    """KAFKA-17507: a producer told of its commit reads its offsets; none that may still be lost."""
    t = Talk()
    commit(t, 5)
    t.hold()
    ticket = t.end_transaction(1, committed=True)
    t.append()
    assert t.waits(ticket)
    assert t.fetch(ORDERS, stable=True) == {ORDERS: UNSTABLE}
    t.flow()
    assert t.said(ticket) is ErrorCode.NONE
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 5}


def test_offsets_that_are_on_their_way_come_before_the_marker() -> None:
    """The order of the log is that of the decisions, for markers, too."""
    t = Talk()
    t.hold()
    first, ticket = commit(t, 5), t.end_transaction(1, committed=True)
    t.flow()
    assert (t.committed(first), t.said(ticket)) == (ErrorCode.NONE, ErrorCode.NONE)
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 5}


def test_another_coordinator_reads_the_same() -> None:
    """What was pending is, and a marker that the log has counts."""
    t = Talk()
    commit(t, 5)
    commit(t, 6, topic="other", producer_id=2)
    t.end_transaction(1, committed=True)
    before = t.machine.groups.ledger
    t.fail_over()
    assert t.machine.groups.ledger == before
    assert t.fetch(ORDERS, ("other", 0), stable=True) == {ORDERS: 5, ("other", 0): UNSTABLE}


def test_a_marker_that_was_lost_with_its_coordinator_comes_again() -> None:
    """The next one has the offsets pending: they are neither lost nor shown."""
    t = Talk()
    commit(t, 5)
    t.hold()
    ticket = t.end_transaction(1, committed=True)
    t.append()
    t.fail_over(losing=True)
    assert t.said(ticket) is ErrorCode.NOT_COORDINATOR
    assert t.fetch(ORDERS, stable=True) == {ORDERS: UNSTABLE}
    assert t.said(t.end_transaction(1, committed=True)) is ErrorCode.NONE
    assert t.fetch() == {ORDERS: 5}


@pytest.mark.parametrize("losing", [True, False])
def test_a_commit_on_its_way_when_the_coordinator_changes_blocks_nobody(*, losing: bool) -> None:
    """Its client is told to look elsewhere; the marker ends what is there of it, if anything is."""
    t = Talk()
    t.commit(1)
    t.hold()
    first = commit(t, 5)
    t.append()
    t.fail_over(losing=losing)
    assert t.committed(first) is ErrorCode.NOT_COORDINATOR
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 1 if losing else UNSTABLE}
    assert t.committed(commit(t, 5)) is ErrorCode.NONE
    assert t.said(t.end_transaction(1, committed=True)) is ErrorCode.NONE
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 5}
    assert not t.machine.groups.ledger.pending


def test_a_marker_for_a_commit_that_was_truncated_finds_nothing_to_end() -> None:
    """The client gave up, and aborts: its group goes on from before."""
    t = Talk()
    t.commit(1)
    t.hold()
    commit(t, 5)
    t.append()
    t.fail_over(losing=True)
    assert t.said(t.end_transaction(1, committed=False)) is ErrorCode.NONE
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 1}


def test_a_coordinator_that_loads_takes_no_marker() -> None:
    """It would not know what the marker ends: whoever sends it asks again."""
    t = Talk()
    commit(t, 5)
    loading(t)
    ticket = t.end_transaction(1, committed=True)
    assert t.said(ticket) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_marker_that_the_log_refuses_changes_nothing() -> None:
    """It is of a producer, or of a coordinator, that was fenced off."""
    t = Talk()
    commit(t, 5)
    t.hold()
    ticket = t.end_transaction(1, committed=True)
    t.fail_append(ErrorCode.TRANSACTION_COORDINATOR_FENCED)
    assert t.said(ticket) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert t.fetch(ORDERS, stable=True) == {ORDERS: UNSTABLE}


def test_a_marker_that_takes_too_long_counts_all_the_same() -> None:
    """Who sent it sends it again; the offsets are the group's once it is committed."""
    t = Talk()
    commit(t, 5)
    t.hold()
    ticket = t.end_transaction(1, committed=True)
    t.append()
    t.run(t.settings.commit_timeout / 1000 + 1)
    assert t.said(ticket) is ErrorCode.REQUEST_TIMED_OUT
    t.flow()
    assert t.fetch(ORDERS, stable=True) == {ORDERS: 5}


# Who may


def test_a_member_that_a_rebalance_left_behind_commits_nothing() -> None:
    """KIP-447: its partitions are another's by now, who has read from before."""
    t = Talk()
    (a,) = t.stable(1)
    assert t.committed(commit(t, 5, a, 1)) is ErrorCode.NONE
    _, joining = t.enter()
    t.join(a)
    t.run(3)
    assert not t.waits(joining)
    assert t.committed(commit(t, 6, a, 1)) is ErrorCode.ILLEGAL_GENERATION
    assert t.committed(commit(t, 6, "nobody", 2)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert t.fetch(ORDERS, stable=True) == {ORDERS: UNSTABLE}
    assert t.committed(commit(t, 7, a, 2)) is ErrorCode.NONE  # while it is being completed
    t.end_transaction(1, committed=True)
    assert t.fetch() == {ORDERS: 7}


def test_an_instance_that_another_process_took_over_is_fenced() -> None:
    """Its member id is no longer that of the instance."""
    t = Talk()
    ticket = t.join(instance="one")
    t.run(3)
    member = t.said(ticket).member_id
    t.sync(member, {member: b""}, group_instance_id="one")
    fenced = commit(t, 5, "somebody", t.generation(), group_instance_id="one")
    assert t.committed(fenced) is ErrorCode.FENCED_INSTANCE_ID
    mine = commit(t, 5, member, t.generation(), group_instance_id="one")
    assert t.committed(mine) is ErrorCode.NONE


def test_clients_from_before_name_no_member() -> None:
    """Their transactional id fences them, and the group may have members."""
    t = Talk()
    t.stable(1)
    assert t.committed(commit(t, 5)) is ErrorCode.NONE


def test_who_may_commit_to_a_group_without_members() -> None:
    """A consumer that assigns its partitions itself; no generation is left."""
    t = Talk()
    assert t.committed(commit(t, 5, "a", 3)) is ErrorCode.ILLEGAL_GENERATION
    assert t.committed(commit(t, 5)) is ErrorCode.NONE
    assert t.committed(commit(t, 5, "a", 3)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert t.committed(commit(t, 5, group_id="")) is ErrorCode.INVALID_GROUP_ID


def test_what_is_no_producers_is_refused() -> None:
    """Without a producer no marker would ever end it."""
    t = Talk(GroupSettings(metadata_chars_max=3))
    nobody = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert t.committed(commit(t, 5, producer_id=-1)) is nobody
    assert t.committed(commit(t, 5, producer_epoch=-1)) is nobody
    assert t.committed(commit(t, 5, metadata="long")) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert t.end == 0


# What else changes the group


def test_of_a_plain_commit_and_a_transaction_the_later_record_stands() -> None:
    """Whichever was decided last: the log has one order."""
    t = Talk()
    commit(t, 5)
    t.commit(6)
    commit(t, 7, producer_id=2)
    t.end_transaction(1, committed=True)
    assert t.fetch() == {ORDERS: 6}
    t.end_transaction(2, committed=True)
    assert t.fetch() == {ORDERS: 7}


def test_a_group_that_is_deleted_does_not_come_back_with_the_marker() -> None:
    """It is deleted with what is pending, and also if there is nothing but that."""
    t = Talk()
    commit(t, 5)
    assert t.describe(version=6).group_state == "Empty"
    assert t.said(t.delete()).error_code == ErrorCode.NONE
    t.end_transaction(1, committed=True)
    assert t.fetch() == {}
    assert t.said(t.delete()).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deletion_behind_a_commit_that_is_on_its_way() -> None:
    """Its tombstone goes behind; the marker finds nothing."""
    t = Talk()
    t.hold()
    commit(t, 5)
    t.delete()
    t.end_transaction(1, committed=True)
    t.flow()
    assert t.fetch() == {}


def test_offsets_do_not_expire_while_a_transaction_changes_them() -> None:
    """A tombstone would take away what the transaction is about to commit."""
    t = Talk()
    t.commit(1)
    commit(t, 5)
    t.run(8 * DAY)
    assert t.fetch() == {ORDERS: 1}
    t.end_transaction(1, committed=False)
    t.run(DAY)
    assert t.fetch() == {}


def test_a_group_does_not_expire_while_a_transaction_is_its_only_commit() -> None:
    """KAFKA-19163: it has no offset yet, and is about to have one."""
    t = Talk()
    commit(t, 5)
    t.run(8 * DAY)
    t.end_transaction(1, committed=True)
    assert t.fetch() == {ORDERS: 5}


def test_a_topic_that_is_deleted_takes_along_what_is_pending() -> None:
    """Also if a topic of the name is there again when the marker comes."""
    t = Talk()
    t.topics["orders"] = TopicId(b"a" * 16)
    commit(t, 5)
    commit(t, 6, producer_id=2)
    t.topics["orders"] = TopicId(b"b" * 16)
    t.settle(t.shard.on_event(lambda now: t.machine.forget_topics(["orders"], now), t.now))
    commit(t, 7, producer_id=2)
    t.end_transaction(1, committed=True)
    assert t.fetch() == {}
    t.end_transaction(2, committed=True)
    assert t.fetch() == {ORDERS: 7}
