"""What operators see of groups, and how they delete them."""

from typing import Any

from odradek.coordinator.groups.steps.admin import list_groups
from odradek.model.errors import TEXT_CHARACTERS_MAX, ErrorCode
from tests.unit.coordinator.talk import GROUP, Talk


def listed(t: Talk, **filters: Any) -> list[tuple[str, str, str]]:
    """Names, kinds and states."""
    return [
        (group.group_id, group.protocol_type, group.group_state)
        for group in list_groups(t.machine.groups, **filters)
    ]


def test_groups_are_listed_by_state_and_type() -> None:
    """In whatever case they are asked for; all are of the classic type."""
    t = Talk()
    t.stable(1)
    t.commit(1, group_id="simple")
    stable, simple = (GROUP, "consumer", "Stable"), ("simple", "", "Empty")
    assert listed(t) == [stable, simple]
    assert listed(t, states=["stable "]) == [stable]
    assert listed(t, states=["EMPTY", "Dead"]) == [simple]
    assert listed(t, types=["Consumer"]) == []
    assert listed(t, types=["classic"], states=["Stable"]) == [stable]
    assert {group.group_type for group in list_groups(t.machine.groups)} == {"Classic"}


def test_a_group_that_is_not_there_is_named_within_bounds() -> None:
    """Its name may be as long as a text can be, and each character may need several to be shown."""
    t = Talk()
    shown = t.describe("\0" * 30_000, version=6)
    assert shown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert shown.error_message.startswith("group ")
    assert len(shown.error_message) == TEXT_CHARACTERS_MAX


def test_a_stable_group_shows_what_members_said_and_got() -> None:
    """Assignors and tools find their own bytes there, unchanged."""
    t = Talk()
    (a,) = t.stable(1, protocols=(("range", b"wish"),))
    shown = t.describe()
    assert (shown.group_state, shown.protocol_type, shown.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (member,) = shown.members
    assert (member.member_id, member.client_id, member.client_host) == (a, "app", "/10.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (b"wish", a.encode())


def test_during_a_rebalance_only_the_members_are_shown() -> None:
    """What they had is over, what they will have is not known."""
    t = Talk()
    t.stable(1)
    t.enter()
    shown = t.describe()
    assert (shown.group_state, shown.protocol_data) == ("PreparingRebalance", "")
    assert {member.member_assignment for member in shown.members} == {b""}


def test_a_group_that_is_not_there_is_dead() -> None:
    """From version 6 on that is an error as well."""
    t = Talk()
    assert (t.describe().group_state, t.describe().error_code) == ("Dead", 0)
    assert t.describe(version=6).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_with_members_is_not_deleted() -> None:
    """Nor is one that does not exist."""
    t = Talk()
    assert t.said(t.delete()).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    t.stable(1)
    assert t.said(t.delete()).error_code == ErrorCode.NON_EMPTY_GROUP
    assert t.state() == "Stable"


def test_a_deleted_group_leaves_nothing() -> None:
    """Neither its record nor its offsets, also after a failover."""
    t = Talk()
    (a,) = t.stable(1)
    t.commit(5, a, 1)
    t.commit(5, a, 1, topic="bills")
    t.leave(a)
    t.hold()
    ticket = t.delete()
    assert t.waits(ticket)
    t.flow()
    assert not t.said(ticket).error_code
    for _ in range(2):
        assert t.state() == "Dead"
        assert t.fetch() == {}
        t.fail_over()


def test_a_deletion_reaches_what_is_on_its_way() -> None:
    """Commits that were decided before come before it in the log."""
    t = Talk()
    t.hold()
    t.commit(5)
    ticket = t.delete()
    t.flow()
    assert not t.said(ticket).error_code
    assert t.state() == "Dead"


def test_who_was_about_to_come_into_a_deleted_group_asks_anew() -> None:
    """Its id was given out by a group that is no more."""
    t = Talk()
    pending = t.said(t.join()).member_id
    assert not t.said(t.delete()).error_code
    assert t.state() == "Dead"
    assert not t.machine.groups.live
    assert t.said(t.join(pending)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_is_deleted_while_somebody_was_about_to_come() -> None:
    """With its record, which takes a moment to be written."""
    t = Talk()
    (a,) = t.stable(1)
    t.leave(a)
    t.join()
    assert not t.said(t.delete()).error_code
    assert not t.machine.groups.live
    assert t.state() == "Dead"


def test_a_deletion_reaches_a_group_that_is_being_written() -> None:
    """Its record would otherwise come to stand behind, for a group that nobody can see."""
    t = Talk()
    a, _ = t.enter()
    t.run(6)
    t.hold()
    t.leave(a)
    t.delete()
    t.flow()
    assert t.state() == "Dead"
    assert not t.machine.groups.live
