"""Who gets an assignment, and who is refused one."""

from odradek.model.errors import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.unit.coordinator.talk import Talk


def test_a_member_of_another_generation_is_refused() -> None:
    """Its idea of the group is out of date, and so would be what it assigns."""
    t = Talk()
    (a,) = t.stable(1)
    assert t.said(t.sync(a, generation_id=0)).error_code == ErrorCode.ILLEGAL_GENERATION
    assert t.said(t.sync("ghost")).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_is_not_there_has_no_members() -> None:
    """Clients that hear so join anew."""
    t = Talk()
    assert t.said(t.sync("a")).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_protocol_must_be_the_chosen_one() -> None:
    """From version 5 members say what they believe the group agreed upon (KIP-559)."""
    t = Talk()
    (a,) = t.stable(1)
    for ticket in (t.sync(a, protocol_type="connect"), t.sync(a, protocol_name="sticky")):
        assert t.said(ticket).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    right = t.said(t.sync(a, protocol_type="consumer", protocol_name="range"))
    assert (right.protocol_type, right.protocol_name) == ("consumer", "range")


def test_during_a_rebalance_nobody_collects() -> None:
    """The generation is over, and so is what it assigned."""
    t = Talk()
    a, _ = t.stable(2)
    t.enter()
    assert t.said(t.sync(a)).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_assignment_may_be_collected_again() -> None:
    """An answer that was lost is given once more."""
    t = Talk()
    a, b = t.stable(2)
    assert t.said(t.sync(b)).assignment == b.encode()
    assert t.said(t.sync(a)).assignment == a.encode()


def test_who_is_forgotten_gets_nothing_and_strangers_are_passed_over() -> None:
    """The leader's word is taken as far as it concerns members."""
    t = Talk()
    (a, _), (b, _) = t.enter(), t.enter()
    t.run(6)
    t.sync(a, {a: b"all", "ghost": b"x"})
    answer = t.said(t.sync(b))
    assert (answer.error_code, answer.assignment) == (0, b"")


def test_of_two_assignments_the_first_is_written() -> None:
    """A leader that retries while its assignments are being written changes nothing."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    t.hold()
    first = t.sync(a, {a: b"one"})
    second = t.sync(a, assignments=[SyncGroupRequestAssignment(a, b"two")])
    assert t.said(first).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert len(t.queue) == 1
    t.flow()
    assert t.said(second).assignment == b"one"
