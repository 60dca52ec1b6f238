"""Members that have a name of their own, and come back under it (KIP-345)."""

from typing import Any

from odradek.coordinator.groups.settings import GroupSettings
from odradek.model.errors import ErrorCode
from odradek.model.units import Millis
from odradek.wire.messages.leave_group import MemberIdentity
from tests.unit.coordinator.shard_talk import SECOND
from tests.unit.coordinator.talk import GROUP, Talk, subscribed

ORDERS = (("range", subscribed("orders")),)
BILLS = (("range", subscribed("bills")),)


def static_pair(t: Talk, **more: Any) -> tuple[str, str]:
    """A stable group of the static members `one`, who leads, and `two`."""
    more = {"protocols": ORDERS} | more
    tickets = [t.join(instance=name, **more) for name in ("one", "two")]
    t.run(6)
    one, two = (t.said(ticket).member_id for ticket in tickets)
    t.sync(two)
    t.sync(one, {one: b"left", two: b"right"})
    assert t.state() == "Stable"
    return one, two


def test_a_static_member_is_let_in_at_once() -> None:
    """It is known by its name: a retry does not make another member of it."""
    t = Talk()
    one, _ = static_pair(t)
    assert one.startswith("one-")
    assert list(t.group.static) == ["one", "two"]


def test_a_follower_that_comes_back_causes_no_rebalance() -> None:
    """A process that was restarted goes on with the assignment of the one before."""
    t = Talk()
    one, two = static_pair(t)
    answer = t.said(t.join(instance="two", protocols=ORDERS))
    assert answer.error_code == ErrorCode.NONE
    assert (answer.generation_id, answer.leader, answer.skip_assignment) == (1, one, False)
    assert answer.member_id not in {one, two}
    assert t.state() == "Stable"
    assert t.said(t.sync(answer.member_id)).assignment == b"right"


def test_its_answer_waits_until_the_change_of_hands_is_committed() -> None:
    """After a failover the new process must be the member, or both would read the same."""
    t = Talk()
    static_pair(t)
    t.hold()
    ticket = t.join(instance="two", protocols=ORDERS)
    assert t.waits(ticket)
    t.flow()
    member = t.said(ticket).member_id
    t.fail_over()
    assert t.beat(member, 1, group_instance_id="two") is ErrorCode.NONE


def test_the_process_before_is_fenced() -> None:
    """Whatever it asks under the name, another process has it now."""
    t = Talk()
    _, two = static_pair(t)
    t.join(instance="two", protocols=ORDERS)
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert t.beat(two, group_instance_id="two") is fenced
    assert t.said(t.sync(two, group_instance_id="two")).error_code == fenced
    assert t.committed(t.commit(1, two, 1, group_instance_id="two")) is fenced
    assert t.said(t.join(two, instance="two", protocols=ORDERS)).error_code == fenced
    left = t.said(t.leave(MemberIdentity(two, "two")))
    assert left.members[0].error_code == fenced


def test_without_its_name_the_process_before_is_unknown() -> None:
    """The id that it had is nobody's any more."""
    t = Talk()
    _, two = static_pair(t)
    t.join(instance="two", protocols=ORDERS)
    assert t.beat(two) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_comes_back_is_told_to_assign_nothing() -> None:
    """From version 9 it hears who the members are, and that the assignment stands (KIP-814)."""
    t = Talk()
    static_pair(t)
    answer = t.said(t.join(instance="one", protocols=ORDERS))
    assert (answer.leader, answer.skip_assignment) == (answer.member_id, True)
    assert len(answer.members) == 2
    assert t.said(t.sync(answer.member_id)).assignment == b"left"


def test_an_old_leader_that_comes_back_hears_that_another_leads() -> None:
    """It would assign anew otherwise, and cannot be told not to."""
    t = Talk()
    one, _ = static_pair(t)
    answer = t.said(t.join(instance="one", protocols=ORDERS, version=8))
    assert (answer.leader, answer.skip_assignment, answer.members) == (one, False, [])
    assert t.group.leader == answer.member_id


def test_coming_back_for_other_topics_causes_a_rebalance() -> None:
    """The assignment that stands is not what it needs."""
    t = Talk()
    static_pair(t)
    assert t.waits(t.join(instance="two", protocols=BILLS))
    assert t.state() == "PreparingRebalance"


def test_coming_back_with_other_user_data_does_not() -> None:
    """Assignors keep their memory there, which a new process has not."""
    t = Talk()
    static_pair(t)
    forgetful = (("range", subscribed("orders", user_data=b"nothing")),)
    assert t.said(t.join(instance="two", protocols=forgetful)).generation_id == 1


def test_coming_back_with_another_favourite_causes_a_rebalance() -> None:
    """If the group would choose another protocol, the assignments are of the wrong one."""
    t = Talk()
    both = (("range", b"r"), ("sticky", b"s"))
    static_pair(t, protocols=both)
    assert t.waits(t.join(instance="two", protocols=(("sticky", b"s"),)))
    assert t.state() == "PreparingRebalance"


def test_coming_back_while_the_leader_assigns_causes_a_rebalance() -> None:
    """The leader is about to assign to the id before, which would leave the new one nothing."""
    t = Talk()
    tickets = [t.join(instance=name) for name in ("one", "two")]
    t.run(6)
    one, two = (t.said(ticket).member_id for ticket in tickets)
    two_sync = t.sync(two)
    back = t.join(instance="two")
    assert t.said(two_sync).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert t.waits(back)
    assert t.said(t.join(one, instance="one")).generation_id == 2
    assert t.said(back).generation_id == 2


def test_coming_back_during_a_rebalance_is_joining_it() -> None:
    """Who waited under the name before is fenced at once."""
    t = Talk()
    one, two = static_pair(t)
    t.join(one, instance="one", protocols=ORDERS)
    t.join(instance="three", protocols=ORDERS)
    waiting = t.said(t.join(two, instance="two", protocols=ORDERS))
    assert waiting.generation_id == 2
    t.join(one, instance="one", protocols=BILLS)
    first = t.join(instance="two", protocols=ORDERS)
    second = t.join(instance="two", protocols=ORDERS)
    assert t.said(first).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert t.waits(second)


def test_a_static_member_that_is_away_is_kept() -> None:
    """Only its session timeout removes it: a rebalance goes on without it."""
    t = Talk()
    long: dict[str, Any] = {"session_timeout_ms": 60 * SECOND, "rebalance_timeout_ms": 8 * SECOND}
    one, two = static_pair(t, **long)
    back = t.join(one, instance="one", protocols=ORDERS, **long)
    t.run(8)
    assert [member.member_id for member in t.said(back).members] == [one, two]
    assert t.said(back).generation_id == 2


def test_a_rebalance_nobody_comes_to_waits_for_somebody() -> None:
    """Static members that are all away keep the group, and their share, until they expire."""
    t = Talk()
    long: dict[str, Any] = {"session_timeout_ms": 30 * SECOND, "rebalance_timeout_ms": 4 * SECOND}
    _, two = static_pair(t, **long)
    t.leave(MemberIdentity("", "one"))
    assert t.state() == "PreparingRebalance"
    t.run(25)
    assert t.generation() == 1
    assert t.said(t.join(two, instance="two", protocols=ORDERS, **long)).generation_id == 2


def test_an_operator_removes_a_static_member_by_its_name() -> None:
    """Nobody knows the ids; a name that is not there is unknown."""
    t = Talk()
    one, _ = static_pair(t)
    answer = t.said(t.leave(MemberIdentity("", "two"), MemberIdentity("", "nine")))
    assert [member.error_code for member in answer.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(t.group.members) == [one]


def test_a_change_of_hands_that_cannot_be_written_is_not_undone() -> None:
    """The new process tries again; the one before knows that there is another."""
    t = Talk()
    one, two = static_pair(t)
    t.hold()
    ticket = t.join(instance="two", protocols=ORDERS)
    t.fail_append(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert t.said(ticket).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert t.beat(two, group_instance_id="two") is ErrorCode.FENCED_INSTANCE_ID
    again = t.said(t.join(instance="two", protocols=ORDERS))
    assert again.generation_id == 1
    assert t.said(t.sync(again.member_id)).assignment == b"right"
    assert t.beat(one) is ErrorCode.NONE
    assert t.machine.groups.ledger.groups[GROUP].generation == 1


def test_a_rebalance_answers_a_change_of_hands_that_is_being_written() -> None:
    """The new process has joined already, and need not do so again."""
    t = Talk()
    one, _ = static_pair(t)
    t.hold()
    back = t.join(instance="two", protocols=ORDERS)
    leader = t.join(one, instance="one", protocols=ORDERS)
    assert t.said(back).generation_id == t.said(leader).generation_id == 2
    t.flow()
    assert t.state() == "CompletingRebalance"


def test_the_new_holder_leads_after_a_failover_too() -> None:
    """Who leads is written; it is not simply the member that came first."""
    t = Talk()
    static_pair(t)
    leader = t.said(t.join(instance="one", protocols=ORDERS)).member_id
    assert next(iter(t.group.members)) != leader
    t.fail_over()
    assert t.group.leader == leader


def test_the_new_holder_is_missed_like_anybody() -> None:
    """Its session begins with the answer, however long that has taken."""
    t = Talk(GroupSettings(session_timeout_min=Millis(SECOND)))
    one, _ = static_pair(t)
    t.hold()
    back = t.join(instance="two", protocols=ORDERS, session_timeout_ms=2 * SECOND)
    t.run(3)
    t.flow()
    member = t.said(back).member_id
    t.beat(one)
    assert member in t.group.members
    t.run(3)
    assert list(t.group.members) == [one]
