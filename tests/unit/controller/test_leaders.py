"""Who is elected, and with which ISR."""

from odradek.controller.leaders import (
    Choice,
    Terms,
    after_a_failure,
    before_a_shutdown,
    first_leader,
    for_a_reassignment,
    new_state,
    next_state,
    preferred,
    uncleanly,
    without,
    without_unclean,
)
from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch

REIGN = ControllerEpoch(9)


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    """Brokers by number."""
    return tuple(map(BrokerId, brokers))


ASSIGNED = Assignment(ids(1, 2, 3))
ONE = Terms(1, ASSIGNED.replicas)
TWO = Terms(2, ASSIGNED.replicas)


def state(leader: int | None, *isr: int) -> PartitionState:
    """A partition's state."""
    return PartitionState(
        None if leader is None else BrokerId(leader),
        LeaderEpoch(4),
        ids(*isr),
        PartitionEpoch(6),
        ControllerEpoch(8),
    )


def test_a_new_partition_begins_with_all_live_replicas_in_sync() -> None:
    """A dead first replica does not hold it up; without any live one it stays new."""
    assert first_leader(ASSIGNED, ids(3, 2)) == Choice(BrokerId(2), ids(2, 3))
    assert first_leader(ASSIGNED, ids(7)) is None
    assert new_state(Choice(BrokerId(2), ids(2, 3)), REIGN) == PartitionState(
        BrokerId(2), LeaderEpoch(0), ids(2, 3), PartitionEpoch(0), REIGN
    )


def test_after_a_failure_the_first_assigned_live_member_leads() -> None:
    """The assignment's order counts, and the ISR loses its dead."""
    found = after_a_failure(ASSIGNED, state(1, 3, 2, 1), ids(2, 3))
    assert found == Choice(BrokerId(2), ids(3, 2))


def test_losing_records_is_a_choice_of_the_operators() -> None:
    """Without a live member there is no leader, unless it is allowed; then it stands alone."""
    assert after_a_failure(ASSIGNED, state(1, 1), ids(2, 3)) is None
    assert uncleanly(ASSIGNED, ids(3, 2)) == Choice(BrokerId(2), ids(2), unclean=True)
    assert uncleanly(ASSIGNED, ids(7)) is None
    clean = after_a_failure(ASSIGNED, state(1, 3, 1), ids(2, 3))
    assert clean == Choice(BrokerId(3), ids(3))


def test_who_left_a_small_isr_may_lead_when_no_member_can() -> None:
    """Nothing was committed without them; a smaller number counts from the next state."""
    small = state(1, 1)._replace(eligible=ids(3), eligible_min_isr=2)
    choice = after_a_failure(ASSIGNED, small, ids(2, 3))
    assert choice == Choice(BrokerId(3), ids(3))
    after = next_state(small, choice, REIGN, TWO)
    assert (after.eligible, after.eligible_min_isr) == (ids(1), 2)
    assert next_state(small, choice, REIGN, ONE).eligible == ids(1), "it has not led yet"
    led = small._replace(leader=BrokerId(1))
    assert without(led, ids(), REIGN, ONE._replace(is_proven=False)) is None
    lowered = without(led, ids(), REIGN, ONE)
    assert lowered is not None
    assert lowered.eligible == ()


def test_a_number_goes_with_those_who_were_named_under_it() -> None:
    """No leader is as good as none that commits: there a smaller number does not count yet."""
    three = Terms(3, ASSIGNED.replicas)
    small = without(state(1, 1, 2, 3), ids(2, 3), REIGN, three)
    assert small is not None
    assert (small.eligible, small.eligible_min_isr) == (ids(2, 3), 3)
    assert without(small, ids(2), REIGN, three) is None
    lowered = without(small, ids(2), REIGN, TWO)
    assert lowered is not None
    assert (lowered.eligible, lowered.eligible_min_isr) == ((), 0)
    leaderless = without(small, ids(1), REIGN, TWO)
    assert leaderless is not None
    assert (leaderless.isr, leaderless.eligible) == (ids(1), ids(2, 3))
    assert leaderless.eligible_min_isr == 3


def test_who_is_not_assigned_or_lacks_records_is_not_eligible() -> None:
    """Nor is anybody where the leader does not know the number: a broker of Kafka."""
    large = state(1, 1, 2, 3)
    some = without(large, ids(2, 3), REIGN, TWO._replace(candidates=ids(1, 3)))
    assert some is not None
    assert some.eligible == ids(3)
    nobody = without(large, ids(2, 3), REIGN, TWO._replace(unbound=ids(1)))
    assert nobody is not None
    assert (nobody.eligible, nobody.eligible_min_isr) == ((), 0)


def test_a_member_that_lacks_records_makes_room_for_one_that_has_them() -> None:
    """Dead or alive; it is not eligible itself."""
    small = state(1, 1)._replace(eligible=ids(3), eligible_min_isr=2)
    changed = without_unclean(small, ids(1), REIGN, TWO._replace(candidates=ids(2, 3)))
    assert changed is not None
    assert (changed.leader, changed.isr, changed.eligible) == (None, ids(3), ())
    assert without_unclean(state(1, 1), ids(1), REIGN, TWO) is None


def test_the_preferred_replica_leads_only_if_it_could_at_once() -> None:
    """Alive and in sync; the ISR stays as it is."""
    assert preferred(ASSIGNED, state(2, 2, 1), ids(1, 2)) == Choice(BrokerId(1), ids(2, 1))
    assert preferred(ASSIGNED, state(2, 2), ids(1, 2)) is None
    assert preferred(ASSIGNED, state(2, 2, 1), ids(2)) is None


def test_a_broker_that_shuts_down_hands_over_to_one_that_stays() -> None:
    """It leaves the ISR at once; the last member keeps its partition to the end."""
    found = before_a_shutdown(ASSIGNED, state(1, 1, 2, 3), ids(1, 2, 3), ids(1, 2))
    assert found == Choice(BrokerId(3), ids(3))
    assert before_a_shutdown(ASSIGNED, state(1, 1), ids(1, 2, 3), ids(1)) is None


def test_a_reassigned_partition_is_led_from_its_target() -> None:
    """Replicas that go do not lead, though they are still in sync."""
    moving = Assignment(ids(4, 1, 2), adding=ids(4), removing=ids(1))
    assert for_a_reassignment(moving, state(1, 1, 2, 4), ids(1, 2)) == Choice(
        BrokerId(2), ids(1, 2, 4)
    )
    assert for_a_reassignment(moving, state(1, 1), ids(1, 2, 4)) is None


def test_each_election_begins_an_epoch() -> None:
    """The state names the controller that decided; a loss of records is marked until it is over."""
    lost = Choice(BrokerId(2), ids(2), unclean=True)
    assert next_state(state(None, 1), lost, REIGN, ONE) == PartitionState(
        BrokerId(2), LeaderEpoch(5), ids(2), PartitionEpoch(7), REIGN, recovering=True
    )


def test_replicas_that_are_gone_leave_the_isr() -> None:
    """A change of the ISR by the controller begins an epoch, so that no old word of it counts."""
    assert without(state(1, 1, 2, 3), ids(2, 3), REIGN, ONE) == PartitionState(
        BrokerId(1), LeaderEpoch(5), ids(1), PartitionEpoch(7), REIGN
    )
    assert without(state(1, 1, 2), ids(3), REIGN, ONE) is None


def test_the_last_members_stay_in_the_isr() -> None:
    """Nobody else has everything: whoever of them returns first may lead."""
    assert without(state(1, 1, 2), ids(1, 2), REIGN, ONE) == PartitionState(
        None, LeaderEpoch(5), ids(1, 2), PartitionEpoch(7), REIGN
    )
    assert without(state(None, 1, 2), ids(1, 2), REIGN, ONE) is None
