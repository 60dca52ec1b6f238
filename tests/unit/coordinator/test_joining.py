"""Who may join a group, and what happens to one who is a member already."""

from typing import Any

import pytest

from odradek.coordinator.groups.settings import PENDING_MEMBERS_MAX, GroupSettings
from odradek.model.errors import ErrorCode
from tests.unit.coordinator.shard_talk import SECOND
from tests.unit.coordinator.talk import GROUP, Talk, subscribed


def refusal(t: Talk, **more: Any) -> ErrorCode:
    """What a member that joins with these fields is told at once."""
    return ErrorCode(t.said(t.join(**more)).error_code)


def test_a_new_member_is_given_an_id_first() -> None:
    """A client whose answer was lost would otherwise leave a member behind with each retry."""
    t = Talk()
    answer = t.said(t.join(version=4))
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("app-")
    assert len(answer.member_id) == len("app-") + 36
    assert not t.group.members


def test_an_old_client_is_let_in_at_once() -> None:
    """Before version 4 nobody knows to come back with the id."""
    t = Talk()
    ticket = t.join(version=3)
    assert t.waits(ticket)
    t.run(3)
    assert t.said(ticket).member_id in t.group.members


def test_the_group_must_have_a_name() -> None:
    """Under the empty name old clients commit; nobody can be a member there."""
    t = Talk()
    assert refusal(t, group_id="") is ErrorCode.INVALID_GROUP_ID
    assert t.beat("a", 1, group_id="") is ErrorCode.INVALID_GROUP_ID
    assert t.said(t.leave("a", group="")).error_code == ErrorCode.INVALID_GROUP_ID
    assert t.said(t.sync("a", group_id="")).error_code == (ErrorCode.INVALID_GROUP_ID)


@pytest.mark.parametrize(("timeout", "allowed"), [(5999, False), (6000, True), (1_800_001, False)])
def test_the_session_timeout_has_bounds(timeout: int, *, allowed: bool) -> None:
    """Too short a silence removes healthy members, too long a one keeps dead ones."""
    told = refusal(Talk(), session_timeout_ms=timeout)
    assert (told is ErrorCode.MEMBER_ID_REQUIRED) == allowed
    assert (told is ErrorCode.INVALID_SESSION_TIMEOUT) != allowed


def test_an_id_of_nobody_is_unknown() -> None:
    """Neither in a group that does not exist, nor in one that does."""
    t = Talk()
    assert refusal(t, member="ghost") is ErrorCode.UNKNOWN_MEMBER_ID
    assert GROUP not in t.machine.groups.live
    t.stable(1)
    assert refusal(t, member="ghost") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_must_be_of_the_groups_kind() -> None:
    """Connect workers and consumers do not share a group."""
    t = Talk()
    t.stable(1)
    assert refusal(t, protocol_type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert refusal(t, protocol_type="") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_must_know_a_protocol_that_all_know() -> None:
    """Otherwise there would be no way to assign anything to all of them."""
    t = Talk()
    t.stable(1, protocols=(("range", b""), ("sticky", b"")))
    assert refusal(t, protocols=()) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert refusal(t, protocols=(("odd", b""),)) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    sticky = refusal(t, protocols=(("sticky", b""), ("odd", b"")))
    assert sticky is ErrorCode.MEMBER_ID_REQUIRED


def test_a_refused_stranger_leaves_no_group_behind() -> None:
    """A group of which nothing is known exists only while somebody is about to come."""
    t = Talk()
    assert refusal(t, protocols=()) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert GROUP not in t.machine.groups.live


def test_members_vote_for_the_protocol() -> None:
    """Among those that all know, the one that most like best."""
    t = Talk()
    orders = [("range", "sticky", "fair"), ("sticky", "fair", "range"), ("sticky", "range", "odd")]
    tickets = [t.enter(protocols=[(name, name.encode()) for name in order])[1] for order in orders]
    t.run(9)
    answers = [t.said(ticket) for ticket in tickets]
    assert {answer.protocol_name for answer in answers} == {"sticky"}
    assert {member.metadata for member in answers[0].members} == {b"sticky"}


def test_a_protocol_named_twice_has_one_vote() -> None:
    """The first naming counts; a careless client must not upset the count of the others."""
    t = Talk()
    t.stable(1, protocols=(("range", b"1"), ("range", b"2"), ("sticky", b"")))
    assert t.group.votes == {"range": 1, "sticky": 1}
    _, ticket = t.enter(protocols=(("sticky", b""),))
    t.join(t.group.leader or "", protocols=(("range", b"1"), ("sticky", b"")))
    assert t.said(ticket).protocol_name == "sticky"


def test_a_follower_that_lost_its_answer_gets_it_again() -> None:
    """Joining with nothing new is no reason for a rebalance."""
    t = Talk()
    _, b = t.stable(2)
    answer = t.said(t.join(b))
    assert (answer.generation_id, answer.members) == (1, [])
    assert t.state() == "Stable"


def test_a_leader_that_joins_again_wants_a_rebalance() -> None:
    """It may have seen that a topic has more partitions now."""
    t = Talk()
    a, _ = t.stable(2)
    assert t.waits(t.join(a))
    assert t.state() == "PreparingRebalance"


def test_a_member_that_says_something_new_causes_a_rebalance() -> None:
    """The leader must hear of a changed subscription."""
    t = Talk()
    _, b = t.stable(2, protocols=(("range", subscribed("orders")),))
    assert t.waits(t.join(b, protocols=(("range", subscribed("orders", "bills")),)))
    assert t.state() == "PreparingRebalance"


def test_before_the_assignment_a_repeated_join_is_answered_again() -> None:
    """The leader too gets the members once more, unless it says something new."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    answer = t.said(t.join(a))
    assert (answer.generation_id, len(answer.members)) == (1, 1)
    again = t.said(t.join(a, protocols=(("range", b"more"),)))
    assert again.generation_id == 2


def test_a_second_join_takes_the_place_of_the_first() -> None:
    """A client that retries on a new connection is one member, and is answered there."""
    t = Talk()
    a, _ = t.stable(2)
    first = t.join(a)
    second = t.join(a)
    assert t.said(first).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert t.waits(second)
    assert t.group.joined == 1


def test_a_group_takes_no_more_members_than_it_may() -> None:
    """A newcomer is refused, a member is not."""
    t = Talk(GroupSettings(members_max=2))
    a, b = t.stable(2)
    assert refusal(t) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert t.state() == "Stable"
    t.join(a)
    assert t.said(t.join(b)).generation_id == 2


def test_a_group_that_was_made_smaller_sheds_members() -> None:
    """After the setting was lowered, the group that is loaded rebalances, and some do not fit."""
    t = Talk()
    a, b, c = t.stable(3)
    t.settings = GroupSettings(members_max=2)
    t.fail_over()
    assert t.state() == "PreparingRebalance"
    a_join, b_join = t.join(a), t.join(b)
    assert t.waits(a_join, b_join)
    assert refusal(t, member=c) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert t.said(a_join).generation_id == t.said(b_join).generation_id == 2


def test_ids_that_are_given_out_have_a_bound() -> None:
    """Whoever asks for ids and never comes back fills no memory."""
    t = Talk()
    for _ in range(PENDING_MEMBERS_MAX):
        t.join()
    assert refusal(t) is ErrorCode.GROUP_MAX_SIZE_REACHED
    t.run(10)
    assert GROUP not in t.machine.groups.live


def test_what_members_say_has_a_bound() -> None:
    """A group cannot make the coordinator keep more than it could ever write."""
    t = Talk()
    big = bytes(20 << 20)
    t.enter(protocols=(("range", big),))
    assert refusal(t, protocols=(("range", big),)) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_that_says_too_much_stays_as_it_was() -> None:
    """Whether it waits or not: it is refused, and its earlier request still stands."""
    t = Talk()
    a, b = t.stable(2)
    big = (("range", bytes(33 << 20)),)
    assert refusal(t, member=b, protocols=big) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert t.state() == "Stable"
    waiting = t.join(a)
    assert refusal(t, member=a, protocols=big) is ErrorCode.GROUP_MAX_SIZE_REACHED
    t.join(b)
    assert t.said(waiting).generation_id == 2


def test_a_long_client_name_still_fits_into_an_id() -> None:
    """An id is a string of the wire, however long a name the client has."""
    t = Talk()
    ticket = t.join(instance="i" * 32000)
    t.run(3)
    assert len(t.said(ticket).member_id) < 300


def test_version_0_has_no_rebalance_timeout() -> None:
    """There the session timeout stands for it."""
    t = Talk()
    t.join(version=0, rebalance_timeout_ms=-1)
    assert t.group.rebalance_timeout == 10 * SECOND


def test_a_new_member_does_not_wait_for_ever() -> None:
    """Its connection may be gone, and it has no id to send heartbeats with."""
    t = Talk()
    a, b = t.stable(2, session_timeout_ms=600 * SECOND, rebalance_timeout_ms=900 * SECOND)
    _, newcomer = t.enter(rebalance_timeout_ms=900 * SECOND)
    t.join(a, session_timeout_ms=600 * SECOND, rebalance_timeout_ms=900 * SECOND)
    t.run(300)
    answer = t.said(newcomer)
    assert (answer.error_code, answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(t.group.members) == [a, b]
