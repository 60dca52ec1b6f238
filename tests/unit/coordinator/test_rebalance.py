"""From an empty group to a stable one, and from one generation to the next."""

from typing import Any

import pytest

from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.states import PREDECESSORS, Dead, Empty, State
from odradek.model.errors import ErrorCode
from odradek.model.positions import Offset
from odradek.model.units import Millis
from tests.unit.coordinator.shard_talk import SECOND
from tests.unit.coordinator.talk import GROUP, Talk


def test_a_group_comes_together() -> None:
    """Members ask for an id, join, hear of the generation, and get what the leader assigns."""
    t = Talk()
    (a, a_join), (b, b_join) = t.enter(), t.enter()
    assert t.waits(a_join, b_join)
    t.run(6)
    led, followed = t.said(a_join), t.said(b_join)
    assert (led.generation_id, led.leader, led.member_id) == (1, a, a)
    assert (led.protocol_type, led.protocol_name) == ("consumer", "range")
    assert [member.member_id for member in led.members] == [a, b]
    assert (followed.generation_id, followed.leader, followed.members) == (1, a, [])
    b_sync = t.sync(b)
    assert t.waits(b_sync)
    a_sync = t.sync(a, {a: b"left", b: b"right"})
    assert t.said(a_sync).assignment == b"left"
    assert t.said(b_sync).assignment == b"right"
    assert t.state() == "Stable"
    assert t.beat(a) is ErrorCode.NONE


def test_an_assignment_is_given_out_once_it_is_committed() -> None:
    """What a member relies on is written first: until then it waits, and so does the group."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    t.hold()
    ticket = t.sync(a, {a: b"all"})
    assert t.waits(ticket)
    t.append()
    assert t.waits(ticket)
    assert t.state() == "CompletingRebalance"
    assert GROUP not in t.machine.groups.ledger.groups
    t.flow()
    assert t.said(ticket).assignment == b"all"
    assert t.machine.groups.ledger.groups[GROUP].members[0].assignment == b"all"


def test_an_empty_group_waits_for_more_members() -> None:
    """Whoever comes within the initial delay is in the first generation, and prolongs it."""
    t = Talk()
    _, first = t.enter()
    t.run(2.9)
    _, second = t.enter()
    t.run(0.2)
    assert t.waits(first, second)  # 3.1 s: the delay went on, because somebody came
    t.run(2.8)
    assert t.waits(first)
    t.run(0.2)
    assert t.said(first).generation_id == t.said(second).generation_id == 1


def test_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    """However many come, the first of them does not wait for longer than it agreed to."""
    t = Talk()
    _, first = t.enter(rebalance_timeout_ms=7 * SECOND)
    for _ in range(5):
        t.run(1.35)
        t.enter(rebalance_timeout_ms=7 * SECOND)
    assert t.waits(first)
    t.run(0.25)
    assert len(t.said(first).members) == 6


def test_without_an_initial_delay_the_first_member_begins_at_once() -> None:
    """A delay of 0 is what tests and single consumers want."""
    t = Talk(GroupSettings(initial_rebalance_delay=Millis(0)))
    _, ticket = t.enter()
    assert t.said(ticket).generation_id == 1


def test_a_newcomer_makes_everybody_join_again() -> None:
    """Members hear of the rebalance by their heartbeats; when all are back, it is over."""
    t = Talk()
    a, b = t.stable(2)
    _, newcomer = t.enter()
    assert t.state() == "PreparingRebalance"
    assert t.beat(a) is ErrorCode.REBALANCE_IN_PROGRESS
    a_join = t.join(a)
    assert t.waits(newcomer, a_join)
    b_join = t.join(b)
    assert {t.said(ticket).generation_id for ticket in (newcomer, a_join, b_join)} == {2}
    assert t.said(newcomer).leader == a


def test_who_does_not_join_in_time_is_left_behind() -> None:
    """The group does not wait for a dynamic member beyond the rebalance timeout."""
    t = Talk()
    a, b = t.stable(2, rebalance_timeout_ms=8 * SECOND)
    _, newcomer = t.enter(rebalance_timeout_ms=8 * SECOND)
    t.join(b, rebalance_timeout_ms=8 * SECOND)
    t.run(7.9)
    assert t.waits(newcomer)
    t.run(0.1)
    assert t.said(newcomer).generation_id == 2
    assert a not in t.group.members
    assert t.beat(a, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_is_away_loses_its_office() -> None:
    """Somebody who has joined must lead: the old leader might never assign anything."""
    t = Talk()
    a, b = t.stable(2, rebalance_timeout_ms=8 * SECOND)
    t.enter(rebalance_timeout_ms=8 * SECOND)
    b_join = t.join(b, rebalance_timeout_ms=8 * SECOND)
    t.run(8)
    assert t.said(b_join).leader == b
    assert a not in t.group.members


def test_an_id_that_was_given_out_is_waited_for() -> None:
    """A member that is about to come back with its id shall not cause another rebalance."""
    t = Talk()
    a, b = t.stable(2)
    pending = t.said(t.join()).member_id
    a_join = t.join(a)
    b_join = t.join(b)
    assert t.waits(a_join, b_join)
    last = t.join(pending)
    assert t.said(a_join).generation_id == t.said(last).generation_id == 2


def test_an_id_nobody_comes_back_with_is_forgotten() -> None:
    """After a session timeout the others need not wait for it any longer."""
    t = Talk()
    (a,) = t.stable(1)
    pending = t.said(t.join()).member_id
    a_join = t.join(a)
    assert t.waits(a_join)
    t.run(10)
    assert t.said(a_join).generation_id == 2
    assert t.said(t.join(pending)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_joins_and_does_not_collect_is_given_up() -> None:
    """A member that never asks for its assignment would keep its share from being read."""
    t = Talk()
    more: dict[str, Any] = {"rebalance_timeout_ms": 8 * SECOND, "session_timeout_ms": 20 * SECOND}
    (a, _), (b, _) = t.enter(**more), t.enter(**more)
    t.run(6)
    t.sync(a, {a: b"left", b: b"right"})
    assert t.state() == "Stable"
    t.run(8)
    assert b not in t.group.members
    assert t.state() == "PreparingRebalance"


def test_a_leader_that_does_not_assign_is_given_up() -> None:
    """Followers that wait for it are told to join again, and one of them leads."""
    t = Talk()
    more: dict[str, Any] = {"rebalance_timeout_ms": 8 * SECOND, "session_timeout_ms": 20 * SECOND}
    (a, _), (b, _) = t.enter(**more), t.enter(**more)
    t.run(6)
    b_sync = t.sync(b)
    t.run(8)
    assert t.said(b_sync).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert a not in t.group.members
    assert t.said(t.join(b, **more)).leader == b


def test_a_rebalance_interrupts_a_generation_that_is_being_assigned() -> None:
    """Whoever waits for an assignment of a generation that is over must join again."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    b_sync = t.sync(b)
    t.enter()
    assert t.said(b_sync).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert t.said(t.sync(a, {})).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_assignments_committed_too_late_are_not_given_out() -> None:
    """A member came while they were being written: the record stands, but nobody acts on it."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    t.hold()
    a_sync = t.sync(a, {a: b"left", b: b"right"})
    t.leave(b)
    assert t.said(a_sync).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    t.flow()
    assert t.state() == "PreparingRebalance"
    assert t.machine.groups.ledger.groups[GROUP].generation == 1


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_assignments_that_cannot_be_written_are_not_given_out(
    refused: ErrorCode, told: ErrorCode
) -> None:
    """Members hear of the coordinator, not of its topic, and must join again."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    b_sync = t.sync(b)
    t.hold()
    a_sync = t.sync(a, {a: b"left", b: b"right"})
    t.fail_append(refused)
    assert t.said(a_sync).error_code == t.said(b_sync).error_code == told
    assert t.state() == "PreparingRebalance"


def test_assignments_that_take_too_long_are_given_up() -> None:
    """When replicas are slow the members rebalance; the record still counts when it gets there."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    t.hold()
    ticket = t.sync(a, {a: b"all"})
    t.append()
    t.run(5)
    assert t.said(ticket).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    t.flow()
    assert t.state() == "PreparingRebalance"
    assert t.machine.groups.ledger.groups[GROUP].generation == 1


def test_a_group_goes_on_where_it_was_after_a_failover() -> None:
    """The new coordinator knows members, generation and assignments: nobody has to rebalance."""
    t = Talk()
    a, b = t.stable(2)
    t.fail_over()
    assert t.state() == "Stable"
    assert t.beat(a, 1) is ErrorCode.NONE
    assert t.said(t.sync(b)).assignment == b.encode()
    assert t.group.leader == a


def test_members_that_died_with_their_coordinator_are_missed() -> None:
    """Sessions begin anew with the new coordinator."""
    t = Talk()
    t.stable(2)
    t.fail_over()
    t.run(9.9)
    assert len(t.group.members) == 2
    t.run(0.2)
    assert t.state() == "Empty"


def test_a_failover_ends_every_wait() -> None:
    """Who waits for members, or for the log, must look for the new coordinator."""
    t = Talk()
    a, b = t.stable(2)
    _, joining = t.enter()
    t.hold()
    committing = t.commit(5, a, 1)
    t.fail_over()
    assert t.said(joining).error_code == ErrorCode.NOT_COORDINATOR
    assert t.committed(committing) is ErrorCode.NOT_COORDINATOR
    assert t.fetch(("orders", 0)) == {("orders", 0): -1}
    assert t.beat(b, 1) is ErrorCode.NONE


def test_the_table_of_states_is_closed() -> None:
    """Every state has predecessors in the table, and a group that is gone leads nowhere."""
    assert set(PREDECESSORS) == set(State.__args__)
    assert not any(Dead in before for before in PREDECESSORS.values())
    assert PREDECESSORS[Dead] == {Empty}


def test_a_generation_is_stable_by_its_own_record_alone() -> None:
    """The record of the one before it may be committed while this one's is on its way."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    t.hold()
    t.sync(a, {a: b"left", b: b"right"})
    t.leave(b)
    t.join(a)
    second = t.sync(a, {a: b"all"})
    t.append()
    t.settle(t.shard.committed(Offset(1), t.now))
    assert t.waits(second)
    assert t.state() == "CompletingRebalance"
    t.flow()
    assert t.said(second).assignment == b"all"
