"""Conversations with the leader of one partition: followers fetch, the controller answers."""

import pytest

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch, Incarnation, LeaderEpoch, Offset, PartitionEpoch
from odradek.replication.errors import (
    FencedLeaderEpoch,
    FollowerAhead,
    NotAReplica,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    UnknownLeaderEpoch,
)
from odradek.replication.isr import (
    ChangeInDoubt,
    ChangeInFlight,
    Committed,
    IsrMember,
    IsrProposal,
)
from odradek.replication.leadership import NOTHING, EpochStart, LeaderEffects, Verdict
from tests.unit.replication.leader_scene import B1, B2, LAG_MAX, ME, Scene, accepted, members


def test_a_lonely_replica_commits_what_it_appends() -> None:
    """With one replica the ISR is the leader itself: committed as soon as written, no timer."""
    t = Scene(isr=(0,), replicas=(0,), end=10, high_watermark=3)
    assert t.begun == LeaderEffects(
        begin_epoch=EpochStart(LeaderEpoch(4), Offset(10)), high_watermark=Offset(10)
    )
    t.produce(12)
    assert t.append(12) == LeaderEffects(high_watermark=Offset(12), verdicts=(Verdict("up to 12"),))
    assert t.leader.await_commit(Offset(12), "late") == Verdict("late")
    assert t.deadline() is None
    assert t.pass_time(10_000) == NOTHING


def test_a_record_is_committed_once_every_member_has_it() -> None:
    """A fetch from an offset is the receipt for all below it."""
    t = Scene()
    t.fetch(1, 10)
    t.fetch(2, 10)
    assert t.append(12) == NOTHING
    t.produce(11)
    t.produce(12)
    assert t.fetch(1, 12) == NOTHING
    assert t.fetch(2, 11) == LeaderEffects(
        high_watermark=Offset(11), verdicts=(Verdict("up to 11"),)
    )
    assert t.fetch(2, 12) == LeaderEffects(
        high_watermark=Offset(12), verdicts=(Verdict("up to 12"),)
    )


def test_a_follower_that_has_not_fetched_in_this_leadership_holds_everything_up() -> None:
    """What it had under the predecessor may have been cut since."""
    t = Scene(end=10, high_watermark=5)
    t.fetch(1, 10)
    assert t.leader.high_watermark == 5
    assert t.fetch(2, 10).high_watermark == 10


def test_a_member_that_falls_behind_leaves_the_isr_by_the_controllers_word() -> None:
    """Until the answer comes the high watermark waits for the one that is to go."""
    t = Scene()
    t.fetch(1, 10)
    t.fetch(2, 10)
    t.append(11)
    t.fetch(1, 11)
    assert t.deadline() == 1000 + LAG_MAX + 1
    assert t.pass_time(LAG_MAX) == NOTHING
    proposal = t.pass_time(1).propose
    assert proposal == IsrProposal(
        LeaderEpoch(4),
        PartitionEpoch(7),
        (IsrMember(ME, BrokerEpoch(-1)), IsrMember(B1, BrokerEpoch(51))),
    )
    assert t.isr().maximal == members(0, 1, 2)
    assert t.leader.high_watermark == 10
    assert t.pass_time(1) == NOTHING  # one change at a time
    assert t.deadline() is None  # and no timer while the answer is out
    assert t.answer(proposal, accepted((0, 1))) == LeaderEffects(high_watermark=Offset(11))
    assert t.isr() == Committed(members(0, 1))
    assert t.leader.partition_epoch == 8
    assert t.deadline() is None


def test_a_silent_follower_of_an_idle_partition_stays_in_sync() -> None:
    """Whoever has everything cannot be behind, however long nothing comes."""
    t = Scene()
    t.fetch(1, 10)
    t.fetch(2, 10)
    assert t.deadline() is None
    assert t.pass_time(LAG_MAX * 100) == NOTHING


def test_a_follower_one_batch_behind_a_busy_leader_stays_in_sync() -> None:
    """Reaching what was the end at the fetch before is being in sync at that time (KIP-16)."""
    t = Scene(isr=(0, 1), replicas=(0, 1))
    for end in range(11, 40):
        t.append(end)
        assert t.fetch(1, end - 1).propose is None
        assert t.pass_time(LAG_MAX // 2).propose is None


def test_a_slow_follower_leaves_although_it_fetches() -> None:
    """Asking is not catching up."""
    t = Scene(isr=(0, 1), replicas=(0, 1))
    t.fetch(1, 10)
    t.append(20)
    t.pass_time(LAG_MAX)
    t.fetch(1, 11)
    assert t.pass_time(1).propose is not None


def test_a_follower_joins_once_it_has_what_is_committed() -> None:
    """From the proposal on the high watermark waits for it: the controller may elect it."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    assert t.fetch(2, 9).propose is None
    proposal = t.fetch(2, 10).propose
    assert proposal is not None
    assert [member.broker for member in proposal.isr] == [ME, B1, B2]
    t.append(12)
    t.fetch(1, 12)
    assert t.leader.high_watermark == 10
    assert t.fetch(2, 12).high_watermark == 12
    t.answer(proposal, accepted((0, 1, 2)))
    assert t.isr() == Committed(members(0, 1, 2))


def test_the_old_high_watermark_is_not_enough_to_join() -> None:
    """A new leader's own may be behind what its predecessor had committed (KAFKA-7128)."""
    t = Scene(isr=(0, 1), end=10, high_watermark=5)
    assert t.fetch(2, 7).propose is None
    assert t.fetch(2, 10).propose is not None


def test_a_follower_that_still_has_what_was_deleted_does_not_join() -> None:
    """It may be of another history: only from the leader's log start on were both compared."""
    t = Scene(isr=(0, 1))
    t.leader.on_log_start(Offset(5))
    assert t.fetch(2, 10, start=0).propose is None
    assert t.fetch(2, 10, start=5).propose is not None


def test_a_broker_that_is_going_does_not_join() -> None:
    """Else its shutdown would take the partition's leader away twice (KIP-841)."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    assert t.fetch(2, 10, eligible=False).propose is None


def test_the_leader_waits_for_a_follower_about_to_join_but_not_for_a_dead_one() -> None:
    """Or a lonely leader would run away from every follower that is just behind it."""
    t = Scene(isr=(0,), replicas=(0, 1))
    proposal = t.fetch(1, 10).propose
    t.answer(proposal, ErrorCode.INELIGIBLE_REPLICA)
    t.append(11)
    assert t.leader.high_watermark == 10
    assert t.leader.on_ineligible(B1, t.now) == LeaderEffects(high_watermark=Offset(11))
    assert t.leader.on_ineligible(B1, t.now) == NOTHING
    assert t.leader.on_ineligible(BrokerId(9), t.now) == NOTHING


def test_a_follower_may_join_once_its_registration_is_known() -> None:
    """It fetched before the leader had heard that it is back, and does not repeat its position."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    assert t.fetch(2, 10, eligible=False).propose is None
    effects = t.leader.on_registered(B2, BrokerEpoch(52), t.now)
    assert effects.propose is not None
    assert [it.broker for it in effects.propose.isr] == [ME, B1, B2]


def test_what_was_fetched_in_another_life_lets_nobody_join() -> None:
    """The new life's log may be shorter (KIP-903)."""
    t = Scene(isr=(0, 1))
    assert t.leader.on_registered(B2, BrokerEpoch(52), t.now) == NOTHING  # nothing was fetched
    t.fetch(1, 10)
    t.fetch(2, 10, eligible=False)
    assert t.leader.on_registered(B2, BrokerEpoch(99), t.now) == NOTHING
    assert t.leader.on_registered(B1, BrokerEpoch(51), t.now) == NOTHING  # is a member
    assert t.leader.on_registered(BrokerId(9), BrokerEpoch(9), t.now) == NOTHING


def test_a_joining_follower_that_stops_is_not_awaited_for_ever() -> None:
    """Time alone moves the high watermark on."""
    t = Scene(isr=(0,), replicas=(0, 1))
    t.answer(t.fetch(1, 10).propose, ErrorCode.INELIGIBLE_REPLICA)
    t.append(11)
    deadline = t.deadline()
    assert deadline is not None
    assert t.pass_time(deadline - t.now - 1) == NOTHING
    assert t.pass_time(1) == LeaderEffects(high_watermark=Offset(11))


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_surely_not_done_is_forgotten(error: ErrorCode) -> None:
    """These two prove that our version is current and that nothing was changed."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    assert t.answer(proposal, error) == NOTHING
    assert t.isr() == Committed(members(0, 1))
    assert t.fetch(2, 10).propose is not None


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
    ],
)
def test_what_may_have_been_done_stays_in_doubt_until_the_controllers_next_word(
    error: ErrorCode,
) -> None:
    """An answer that was lost may have said yes: both ISRs count until a newer word comes."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    t.answer(proposal, error)
    assert t.isr() == ChangeInDoubt(members(0, 1), members(0, 1, 2))
    assert t.fetch(2, 10) == NOTHING
    t.leader.on_leadership(t.word(5, 9, isr=(0, 1)), t.now)
    assert t.isr() == Committed(members(0, 1))


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_a_lost_answer_is_asked_for_again(error: ErrorCode) -> None:
    """The very same proposal, because the controller knows it again."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    assert t.answer(proposal, error) == LeaderEffects(propose=proposal)
    assert isinstance(t.isr(), ChangeInFlight)
    t.answer(proposal, accepted((0, 1, 2)))
    assert t.answer(proposal, ErrorCode.NETWORK_EXCEPTION) == NOTHING


def test_an_answer_to_an_earlier_proposal_does_not_decide_on_this_one() -> None:
    """A refusal that was delivered twice must not end a change that it is not about."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    first = t.fetch(2, 10).propose
    t.answer(first, ErrorCode.INELIGIBLE_REPLICA)
    assert t.fetch(2, 10).propose is not None
    assert t.answer(first, ErrorCode.INELIGIBLE_REPLICA) == NOTHING
    assert t.isr().maximal == members(0, 1, 2)


def test_an_answer_that_is_too_late_changes_nothing() -> None:
    """The controller's word came first: its version is higher than the answer's."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    t.leader.on_leadership(t.word(5, 9, isr=(0,)), t.now)
    assert t.answer(proposal, accepted((0, 1, 2))) == NOTHING
    assert t.isr() == Committed(members(0))


def test_an_acceptance_of_another_version_is_not_believed() -> None:
    """Neither of an older version nor of another leadership, nor of an ISR that we cannot lead."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    assert t.answer(proposal, accepted((0, 1, 2), partition_epoch=6)) == NOTHING
    assert t.answer(proposal, accepted((0, 1, 2), leader_epoch=5)) == NOTHING
    assert isinstance(t.isr(), ChangeInFlight)
    t.answer(proposal, accepted((1, 2)))
    assert t.isr() == ChangeInDoubt(members(0, 1), members(0, 1, 2))


def test_an_old_word_of_the_controller_is_ignored() -> None:
    """Requests are delivered at least once; a repeated one must not end a change in flight."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    t.fetch(2, 10)
    for word in (t.word(4, 7, isr=(0,)), t.word(3, 8, isr=(0,)), t.word(4, 6, isr=(0,))):
        assert t.leader.on_leadership(word, t.now) == NOTHING
    assert t.isr().maximal == members(0, 1, 2)


def test_in_another_leader_epoch_versions_may_begin_anew() -> None:
    """Somebody has removed the partition's state, and put it back."""
    t = Scene(isr=(0, 1))
    t.leader.on_leadership(t.word(5, 1, isr=(0,)), t.now)
    assert (t.leader.leader_epoch, t.leader.partition_epoch) == (5, 1)
    assert t.isr().maximal == members(0)


def test_elected_again_a_leader_keeps_the_ends_but_not_the_times() -> None:
    """Its log never diverged from itself; but who is not in sync must fetch before it can be."""
    t = Scene(isr=(0, 1))
    t.fetch(1, 10)
    t.fetch(2, 10)
    t.append(12)
    effects = t.leader.on_leadership(t.word(5, 9, isr=(0, 1)), t.now)
    assert effects == LeaderEffects(begin_epoch=EpochStart(LeaderEpoch(5), Offset(12)))
    assert t.fetch(1, 12, epoch=5).high_watermark == 12
    assert t.fetch(2, 12, epoch=5).propose is not None


def test_elected_again_after_another_a_leader_awaits_what_members_have_now() -> None:
    """In the epoch that it missed they may have cut what they had from it."""
    t = Scene()
    t.append(12)
    t.fetch(1, 12)
    effects = t.leader.on_leadership(t.word(6, 9, isr=(0, 1)), t.now)
    assert effects == LeaderEffects(begin_epoch=EpochStart(LeaderEpoch(6), Offset(12)))
    assert t.fetch(1, 10, epoch=6).high_watermark is None
    assert t.fetch(1, 12, epoch=6).high_watermark == 12
    assert t.leader.on_time(t.now).propose is None


def test_elected_again_a_leader_does_not_believe_what_a_follower_had_before() -> None:
    """It left the ISR because its disk failed; on an empty one it begins anew, and says so."""
    t = Scene()
    t.fetch(1, 10)
    t.fetch(2, 10)
    t.leader.on_leadership(t.word(5, 9, isr=(0, 1)), t.now)
    t.fetch(1, 10, epoch=5)
    assert t.leader.on_time(t.now).propose is None
    assert t.fetch(2, 0, epoch=5).propose is None
    assert t.fetch(2, 10, epoch=5).propose is not None


def test_within_a_leadership_the_controller_may_change_the_isr_and_the_replicas() -> None:
    """A newer version of the same leadership begins no epoch; whoever left is not awaited."""
    t = Scene()
    t.fetch(1, 10)
    t.fetch(2, 10)
    t.append(11)
    t.fetch(1, 11)
    word = t.word(4, 8, isr=(0, 1), replicas=(0, 1))
    assert t.leader.on_leadership(word, t.now) == LeaderEffects(high_watermark=Offset(11))
    with pytest.raises(UnknownLeaderEpoch):
        t.fetch(2, 10)
    with pytest.raises(NotLeaderOrFollower):
        t.fetch(2, 10, epoch=None)


def test_other_beliefs_about_the_leadership_are_refused() -> None:
    """Who is behind is fenced; who is ahead shall try again; who says nothing is believed."""
    t = Scene()
    t.leader.check_leader_epoch(None)
    t.leader.check_leader_epoch(LeaderEpoch(4))
    with pytest.raises(FencedLeaderEpoch):
        t.leader.check_leader_epoch(LeaderEpoch(3))
    with pytest.raises(UnknownLeaderEpoch):
        t.fetch(1, 10, epoch=5)


def test_what_a_follower_asked_for_in_an_earlier_life_counts_for_nothing() -> None:
    """Its connection of then may be read after that of now: its ISR would be refused for ever."""
    t = Scene(isr=(0, 1))
    t.fetch(2, 5, life=61)
    with pytest.raises(NotLeaderOrFollower, match="earlier life"):
        t.fetch(2, 10, life=60)
    proposal = t.fetch(2, 10, life=61).propose
    assert proposal is not None
    assert IsrMember(B2, BrokerEpoch(61)) in proposal.isr


def test_a_follower_ahead_of_its_leader_counts_for_nothing() -> None:
    """Its log went another way; it must be cut before it says anything."""
    t = Scene()
    with pytest.raises(FollowerAhead):
        t.fetch(1, 11)
    t.fetch(2, 10)
    t.append(11)
    assert t.leader.high_watermark == 10


def test_a_new_leader_does_not_name_an_end_that_could_be_a_step_back() -> None:
    """Its high watermark may be behind what consumers saw under its predecessor (KIP-207)."""
    t = Scene(isr=(0, 1), replicas=(0, 1), end=10, high_watermark=5)
    with pytest.raises(OffsetNotAvailable):
        t.leader.check_end_is_known()
    t.fetch(1, 10)
    t.leader.check_end_is_known()


def test_too_few_in_sync_refuse_appends_and_hold_the_high_watermark() -> None:
    """What acks=all promised stays true: nothing is committed on fewer disks than asked for."""
    t = Scene(isr=(0,), replicas=(0, 1), min_isr=2)
    with pytest.raises(NotEnoughReplicas):
        t.leader.check_enough_replicas()
    assert t.append(11) == NOTHING
    proposal = t.fetch(1, 11).propose
    assert t.leader.high_watermark == 10
    assert t.answer(proposal, accepted((0, 1))) == LeaderEffects(high_watermark=Offset(11))
    t.leader.check_enough_replicas()


def test_a_single_replica_satisfies_any_minimum() -> None:
    """No more can be asked for than there are replicas."""
    t = Scene(isr=(0,), replicas=(0,), min_isr=3)
    t.leader.check_enough_replicas()
    assert t.append(11).high_watermark == 11


def test_a_minimum_that_is_lowered_lets_the_high_watermark_go_on() -> None:
    """The operator's word takes effect at once; raised, it spoils what is not yet answered."""
    t = Scene(isr=(0,), replicas=(0, 1), min_isr=2)
    t.append(11)
    t.produce(11)
    assert t.leader.on_min_isr(1, t.now).verdicts == (Verdict("up to 11"),)
    t.leader.on_min_isr(2, t.now)
    assert t.leader.await_commit(Offset(11), "late") == Verdict(
        "late", ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    )


def test_nothing_is_committed_without_those_who_are_eligible() -> None:
    """Whatever this broker's own setting says, and however few replicas there are by now."""
    t = Scene(isr=(0,), replicas=(0, 1), min_isr=1, eligible_min_isr=3)
    with pytest.raises(NotEnoughReplicas):
        t.leader.check_enough_replicas()
    assert t.append(11) == NOTHING
    proposal = t.fetch(1, 11).propose
    grown = accepted((0, 1))
    assert t.answer(proposal, grown._replace(eligible_min_isr=3)) == NOTHING
    word = t.word(5, 9, replicas=(0, 1), isr=(0, 1))
    assert t.leader.on_leadership(word._replace(eligible_min_isr=3), t.now).high_watermark is None
    word = t.word(6, 10, replicas=(0, 1), isr=(0,))
    assert t.leader.on_leadership(word, t.now).high_watermark == 11


def test_a_follower_joins_as_what_its_log_is() -> None:
    """A member whose log has lost something joins anew, although the ISR is the same."""
    t = Scene(isr=(0, 1), replicas=(0, 1))
    assert t.fetch(1, 10).propose is None
    proposal = t.fetch(1, 10, incarnation=70).propose
    assert proposal is not None
    assert [it.incarnation for it in proposal.isr] == [0, 70]
    t.answer(proposal, accepted((0, 1)))
    assert t.fetch(1, 10, incarnation=70).propose is None
    word = t.word(5, 9, replicas=(0, 1), isr=(0, 1))._replace(incarnations=((B1, Incarnation(70)),))
    t.leader.on_leadership(word, t.now)
    assert t.fetch(1, 10, epoch=5, incarnation=70).propose is None


def test_at_the_end_of_a_leadership_everybody_is_told() -> None:
    """Nobody is left waiting for an offset that another leader will give to something else."""
    t = Scene()
    t.produce(11)
    t.leader.await_low_watermark(Offset(5), "deleter")
    assert t.leader.resign() == LeaderEffects(
        verdicts=(Verdict("up to 11", ErrorCode.NOT_LEADER_OR_FOLLOWER),), wake=("deleter",)
    )
    assert t.leader.resign() == NOTHING


def test_the_high_watermark_waits_for_a_proposed_member() -> None:
    """The controller may have let it in already: it may be elected, whether it is alive or not."""
    t = Scene(isr=(0, 1), end=10, high_watermark=10)
    t.fetch(1, 10)
    proposal = t.fetch(2, 10).propose
    assert proposal is not None
    t.leader.on_ineligible(B2, t.now)
    t.append(20)
    assert t.fetch(1, 20).high_watermark is None
    assert t.leader.high_watermark == 10
    assert t.answer(proposal, ErrorCode.INELIGIBLE_REPLICA).high_watermark == 20


def test_a_leader_must_be_a_replica() -> None:
    """An error of that partition alone: the request has others, which are served."""
    with pytest.raises(NotAReplica):
        Scene(replicas=(1, 2), isr=(1, 2))
    t = Scene()
    with pytest.raises(NotAReplica):
        t.leader.on_leadership(t.word(5, 8, replicas=(1, 2), isr=(1, 2)), t.now)


def test_a_member_that_lost_committed_records_leaves_at_once() -> None:
    """A fetch from below the high watermark: its log was cut, and it must not be elected."""
    t = Scene(end=10, high_watermark=10)
    t.fetch(2, 10)
    assert t.fetch(1, 10).propose is None
    proposal = t.fetch(1, 7).propose
    assert proposal is not None
    assert [it.broker for it in proposal.isr] == [ME, B2]
    t.answer(proposal, accepted((0, 2)))
    assert t.fetch(1, 9).propose is None
    assert t.fetch(1, 10).propose is not None


def test_a_leader_with_a_corrupt_batch_knows_who_could_lead() -> None:
    """Members; and who is eligible, for what is committed, unless it fetches and so joins soon."""
    t = Scene(isr=(2, 0), end=10, high_watermark=5)
    assert t.leader.others_in_sync() == {B2}
    assert t.leader.eligible_apart(Offset(4), t.now) == set()
    eligible = t.word(5, 8, isr=(0,))._replace(eligible=(B1, B2), eligible_min_isr=2)
    t.leader.on_leadership(eligible, t.now)
    assert t.leader.others_in_sync() == set()
    assert t.leader.eligible_apart(Offset(4), t.now) == {B1, B2}
    assert t.leader.eligible_apart(Offset(5), t.now) == set()
    t.fetch(1, 3, epoch=5)
    assert t.leader.eligible_apart(Offset(4), t.now) == {B2}
    t.pass_time(LAG_MAX + 1)
    assert t.leader.eligible_apart(Offset(4), t.now) == {B1, B2}


def test_the_low_watermark_waits_for_all_replicas_that_live() -> None:
    """DeleteRecords is answered once the records are gone everywhere; the dead are not awaited."""
    t = Scene(isr=(0, 1), end=10, high_watermark=10)
    t.fetch(2, 9, start=0)
    waiter = t.leader.await_low_watermark(Offset(5), "deleter")
    assert waiter is not None
    assert t.leader.on_log_start(Offset(5)).wake == ()
    assert t.fetch(2, 9, start=5).wake == ()
    assert t.fetch(1, 10, start=3).wake == ()
    assert t.leader.low_watermark == 3
    t.fetch(2, 9, start=3)
    t.fetch(1, 10, start=5)
    assert t.leader.on_ineligible(B2, t.now).wake == ("deleter",)
    assert t.leader.await_low_watermark(Offset(5), "late") is None


def test_the_low_watermark_waits_for_who_is_eligible_and_for_nobody_else_who_is_away() -> None:
    """Who is eligible may lead before it has deleted; the others delete before they can join."""
    t = Scene(isr=(0,), end=10, high_watermark=10)
    t.leader.on_log_start(Offset(5))
    assert t.leader.low_watermark == 5
    named = t.word(5, 8, isr=(0,))._replace(eligible=(B1,), eligible_min_isr=2)
    t.leader.on_leadership(named, t.now)
    t.leader.on_log_start(Offset(7))
    assert t.leader.await_low_watermark(Offset(7), "deleter") is not None
    assert t.leader.on_leadership(t.word(6, 9, isr=(0,)), t.now).wake == ("deleter",)
    assert t.leader.low_watermark == 7


def test_a_follower_that_says_nothing_new_was_in_sync_until_the_next_append() -> None:
    """In a fetch session an unchanged position is not repeated, however long nothing happens."""
    t = Scene(isr=(0, 1), replicas=(0, 1))
    t.fetch(1, 10)
    t.pass_time(50 * LAG_MAX)
    t.append(20)
    assert t.pass_time(LAG_MAX).propose is None
    t.fetch(1, 15)
    assert t.pass_time(1).propose is not None


def test_a_follower_that_caught_up_during_another_change_joins_after_it() -> None:
    """It says nothing new, so nobody would look at it again."""
    t = Scene(isr=(0,), replicas=(0, 1, 2))
    first = t.fetch(1, 10).propose
    assert t.fetch(2, 10).propose is None
    second = t.answer(first, accepted((0, 1))).propose
    assert second is not None
    assert [it.broker for it in second.isr] == [0, 1, 2]


def test_when_a_follower_last_came_further() -> None:
    """A fetch from where it was already is no progress, however often it comes."""
    t = Scene(isr=(0, 1), replicas=(0, 1, 2))
    (follower,) = (it for broker, it in t.leader.followers() if broker == B2)
    assert follower.advanced_at == t.now
    t.pass_time(50)
    t.fetch(2, 5)
    began = t.now
    assert follower.advanced_at == began
    t.pass_time(50)
    t.fetch(2, 5)
    assert follower.advanced_at == began
    t.fetch(2, 6)
    assert follower.advanced_at == t.now
