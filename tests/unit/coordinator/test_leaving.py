"""Heartbeats, goodbyes, and the silence of members."""

from odradek.model.errors import ErrorCode
from odradek.wire.messages.leave_group import MemberIdentity
from tests.unit.coordinator.talk import GROUP, Talk


def test_a_heartbeat_keeps_a_member() -> None:
    """Silence for a session timeout removes it, a sign of life begins the timeout anew."""
    t = Talk()
    a, b = t.stable(2)
    for _ in range(5):
        t.run(9)
        t.beat(a, 1)
    assert b not in t.group.members
    assert a in t.group.members


def test_a_commit_is_a_sign_of_life_too() -> None:
    """A consumer that commits is not gone."""
    t = Talk()
    (a,) = t.stable(1)
    t.run(9)
    t.commit(5, a, 1)
    t.run(9)
    assert a in t.group.members


def test_a_heartbeat_must_name_the_generation() -> None:
    """A member that missed a rebalance must join again before anything else."""
    t = Talk()
    (a,) = t.stable(1)
    assert t.beat(a, 0) is ErrorCode.ILLEGAL_GENERATION
    assert t.beat(a, 2) is ErrorCode.ILLEGAL_GENERATION
    assert t.beat("ghost", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_to_a_group_that_is_not_there() -> None:
    """Whoever says so is a member of nothing."""
    assert Talk().beat("a", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_before_the_assignment_heartbeats_are_welcome() -> None:
    """Clients begin with them as soon as they have joined."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    assert t.state() == "CompletingRebalance"
    assert t.beat(a) is ErrorCode.NONE


def test_whoever_waits_for_others_is_not_silent() -> None:
    """A member that has joined cannot send heartbeats meanwhile, and is alive all the same."""
    t = Talk()
    a, b = t.stable(2)
    t.run(5)
    t.join(a)
    t.beat(b)
    t.run(8)
    t.beat(b)
    t.run(8)
    assert a in t.group.members


def test_one_that_leaves_makes_the_others_share_anew() -> None:
    """What it read from must be read by somebody else."""
    t = Talk()
    a, b = t.stable(2)
    answer = t.said(t.leave(b))
    assert [(one.member_id, one.error_code) for one in answer.members] == [(b, 0)]
    assert t.beat(a) is ErrorCode.REBALANCE_IN_PROGRESS
    assert t.said(t.join(a)).generation_id == 2


def test_several_leave_at_once() -> None:
    """Each is answered for itself (v3); those who are unknown do not keep the others."""
    t = Talk()
    a, b, c = t.stable(3)
    answer = t.said(t.leave(a, "ghost", MemberIdentity(b), MemberIdentity(c, "no-name")))
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [one.error_code for one in answer.members] == [0, unknown, 0, unknown]
    assert list(t.group.members) == [c]
    assert t.group.leader == c


def test_an_old_goodbye_has_one_answer() -> None:
    """Before version 3 a request is about one member, and its code is the answer's."""
    t = Talk()
    (a,) = t.stable(1)
    assert t.said(t.leave("ghost", version=2)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert t.said(t.leave(a, version=2)).error_code == ErrorCode.NONE
    assert t.state() == "Empty"


def test_leaving_a_group_that_is_not_there() -> None:
    """Every one of its members is unknown."""
    t = Talk()
    answer = t.said(t.leave("a", "b"))
    assert answer.error_code == ErrorCode.NONE
    assert {one.error_code for one in answer.members} == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert t.said(t.leave("a", version=1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_one_to_leave_is_answered_when_it_is_written() -> None:
    """Otherwise a new coordinator would wait for members that have said goodbye."""
    t = Talk()
    (a,) = t.stable(1)
    t.hold()
    ticket = t.leave(a)
    assert t.waits(ticket)
    t.flow()
    assert not t.said(ticket).error_code
    stored = t.machine.groups.ledger.groups[GROUP]
    assert (stored.generation, stored.members, stored.leader) == (2, (), None)
    assert stored.protocol_type == "consumer"


def test_an_empty_group_costs_nothing_but_its_record() -> None:
    """No soft state, and no timer but the one that looks for expired offsets."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    assert not t.machine.groups.live
    assert len(t.machine.timers) == 1
    assert t.state() == "Empty"


def test_the_generation_goes_on_in_a_group_that_was_empty() -> None:
    """It never returns to a number that somebody may still believe in."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    _, ticket = t.enter()
    t.run(6)
    assert t.said(ticket).generation_id == 3


def test_one_with_an_id_but_no_membership_leaves_quietly() -> None:
    """It is no member yet, so nobody has to rebalance for it."""
    t = Talk()
    (a,) = t.stable(1)
    pending = t.said(t.join()).member_id
    assert not t.said(t.leave(pending)).members[0].error_code
    assert t.state() == "Stable"
    assert t.beat(a) is ErrorCode.NONE


def test_one_that_leaves_while_it_waits_is_told() -> None:
    """On the connection where it joined it would wait for ever."""
    t = Talk()
    a, b = t.stable(2)
    waiting = t.join(a)
    t.leave(a)
    assert t.said(waiting).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert t.said(t.join(b)).generation_id == 2


def test_the_last_one_missing_leaves_and_the_others_go_on() -> None:
    """Nobody waits for a member that has said goodbye, or has been silent for too long."""
    t = Talk()
    a, b = t.stable(2)
    first = t.join(a)
    t.leave(b)
    assert t.said(first).generation_id == 2
    t.sync(a, {a: b""})
    c, _ = t.enter()
    t.run(1)
    t.beat(a)
    assert t.state() == "PreparingRebalance"
    t.run(12)
    assert list(t.group.members) == [c]
    assert t.generation() == 3


def test_a_group_in_which_all_fall_silent_is_empty() -> None:
    """The group stays, with its offsets; its generation is over."""
    t = Talk()
    a, _ = t.stable(2)
    t.committed(t.commit(5, a, 1))
    t.run(3 * 10 + 60)
    assert t.state() == "Empty"
    assert t.fetch() == {("orders", 0): 5}


def test_emptiness_that_could_not_be_written_is_written_later() -> None:
    """Until then a new coordinator would take the members for living ones."""
    t = Talk()
    (a,) = t.stable(1)
    t.commit(1, a, 1)
    t.hold()
    ticket = t.leave(a)
    t.fail_append(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert t.said(ticket).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert t.machine.groups.ledger.groups[GROUP].members
    assert t.state() == "Empty"
    t.run(600)
    assert not t.machine.groups.ledger.groups[GROUP].members
    assert not t.machine.groups.live


def test_a_session_that_ends_during_the_wait_for_a_share_counts_again_afterwards() -> None:
    """Who waits is not removed, and has a full session from its answer on."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    b_sync = t.sync(b)
    for _ in range(3):
        t.run(8)
        t.beat(a)
    t.sync(a, {b: b"share"})
    assert t.said(b_sync).assignment == b"share"
    t.run(9)
    t.beat(a)
    assert b in t.group.members
    t.run(2)
    assert b not in t.group.members
