"""From an empty group to a stable one, and from one generation to the next."""

from odradek.model.errors import ErrorCode
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
