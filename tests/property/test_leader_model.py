"""The leader's core against a small cluster in which everything is late, lost or repeated.

The followers hold the leader's own records (its log does not diverge from itself), so a log is a
length. The controller is a register with two counters: it takes a proposal that names its version,
and may elect the same leader again with a smaller ISR. It names who is eligible by a setting of its
own, which is another than the leader's. Every message waits until it is picked.
"""

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.controller.leaders import Terms, with_eligible
from odradek.metadata.nouns import PartitionState
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch, LeaderEpoch, Offset, PartitionEpoch
from odradek.model.units import Millis
from odradek.replication.isr import IsrAccepted, IsrProposal
from odradek.replication.leader import Leader
from odradek.replication.leadership import (
    LeaderEffects,
    LeaderSettings,
    Leadership,
    LogEnds,
    Verdict,
)
from odradek.replication.progress import FollowerFetch

ME: Final = BrokerId(0)
FOLLOWERS: Final = (BrokerId(1), BrokerId(2), BrokerId(3))
REPLICAS: Final = (ME, *FOLLOWERS)
LAG_MAX: Final = 10

follower = st.sampled_from(FOLLOWERS)
pick = st.integers(0, 1 << 16)


class ClusterMachine(RuleBasedStateMachine):
    """One leader, three followers, one controller."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Millis(0)
        self.min_isr = self.min_isr_of_the_controller = 2
        self.eligible: tuple[BrokerId, ...] = ()
        self.ends = dict.fromkeys((ME, *FOLLOWERS), 5)
        self.ends[FOLLOWERS[2]] = 2
        self.word = Leadership(
            LeaderEpoch(1), PartitionEpoch(1), (ME, *FOLLOWERS), (ME, *FOLLOWERS[:2])
        )
        self.words: list[Leadership] = []  # from the controller, on their way
        self.proposals: list[IsrProposal] = []  # to the controller, on their way
        self.answers: list[tuple[IsrProposal, IsrAccepted | ErrorCode]] = []
        self.waiting = 0
        self.highest = Offset(0)
        self.leader, effects = Leader.elected(
            ME,
            self.word,
            LogEnds(Offset(5), Offset(2)),
            settings=LeaderSettings(Millis(LAG_MAX), self.min_isr),
            now=self.now,
        )
        self.carry_out(effects)

    def carry_out(self, effects: LeaderEffects) -> None:
        """What a shell does, in its order."""
        if effects.high_watermark is not None:
            assert effects.high_watermark > self.highest
            self.highest = effects.high_watermark
        if effects.propose is not None:
            self.proposals.append(effects.propose)
        for verdict in effects.verdicts:
            self.waiting -= 1
            self.judge(verdict)

    def judge(self, verdict: Verdict) -> None:
        """A yes to a producer: everybody who can be elected has it, and they are enough."""
        end = verdict.ticket
        assert isinstance(end, int)
        assert end <= self.leader.high_watermark
        if verdict.error is None:
            assert all(self.ends[broker] >= end for broker in self.word.isr)
            assert len(self.leader.isr.maximal) >= self.min_isr

    # The log and the followers

    @rule(count=st.integers(1, 3))
    def append_for_a_producer(self, count: int) -> None:
        """A producer with acks=all writes and waits."""
        if len(self.leader.isr.committed) < self.leader.min_isr:
            return
        self.ends[ME] += count
        self.carry_out(self.leader.on_append(Offset(self.ends[ME]), self.now))
        self.waiting += 1
        verdict = self.leader.await_commit(Offset(self.ends[ME]), self.ends[ME])
        if isinstance(verdict, Verdict):
            self.waiting -= 1
            self.judge(verdict)

    @rule(broker=follower, eligible=st.booleans(), gets=st.integers(0, 9))
    def fetch(self, broker: BrokerId, eligible: bool, gets: int) -> None:  # noqa: FBT001 - drawn
        """A follower fetches from its end, and gets something, or everything."""
        fetch = FollowerFetch(broker, Offset(self.ends[broker]), self.leader.leader_epoch, eligible)
        self.carry_out(self.leader.on_follower_fetch(fetch, self.now))
        self.ends[broker] = min(self.ends[ME], self.ends[broker] + gets)

    @rule(broker=follower)
    def lose_a_broker(self, broker: BrokerId) -> None:
        """The metadata says that it is gone."""
        self.carry_out(self.leader.on_ineligible(broker, self.now))

    @rule(millis=st.integers(1, LAG_MAX * 2))
    def pass_time(self, millis: int) -> None:
        """The clock goes on."""
        self.now = Millis(self.now + millis)
        self.carry_out(self.leader.on_time(self.now))
        deadline = self.leader.deadline(self.now)
        assert deadline is None or deadline > self.now, "a timer would fire for ever"

    @rule(count=st.integers(1, 4))
    def change_the_minimum(self, count: int) -> None:
        """The operator changes his mind."""
        self.min_isr = count
        self.carry_out(self.leader.on_min_isr(count, self.now))

    # The controller

    @rule(count=st.integers(1, 4))
    def change_the_minimum_of_the_controller(self, count: int) -> None:
        """It has read another value than the leader, or has a value of its own."""
        self.min_isr_of_the_controller = count

    def write(self, isr: tuple[BrokerId, ...], leader_epoch: int) -> None:
        """The next state."""
        word = self.word
        before = PartitionState(
            ME, word.leader_epoch, word.isr, word.partition_epoch, ControllerEpoch(1)
        )
        before = before._replace(eligible=self.eligible, eligible_min_isr=word.eligible_min_isr)
        terms = Terms(self.min_isr_of_the_controller, REPLICAS)
        after = with_eligible(before._replace(isr=isr), before, terms)
        self.eligible = after.eligible
        self.word = word._replace(
            leader_epoch=LeaderEpoch(leader_epoch),
            partition_epoch=PartitionEpoch(word.partition_epoch + 1),
            isr=isr,
            eligible_min_isr=after.eligible_min_isr,
        )

    @precondition(lambda self: self.proposals)
    @rule(at=pick, refuse=st.booleans())
    def receive_a_proposal(self, at: int, refuse: bool) -> None:  # noqa: FBT001 - drawn
        """In any order."""
        proposal = self.proposals.pop(at % len(self.proposals))
        self.answers.append((proposal, self.decide(proposal, refuse=refuse)))

    def decide(self, proposal: IsrProposal, *, refuse: bool) -> IsrAccepted | ErrorCode:
        """The checks of a controller, in their order."""
        word = self.word
        isr = tuple(member.broker for member in proposal.isr)
        if proposal.leader_epoch != word.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if set(isr) != set(word.isr):
            if proposal.partition_epoch != word.partition_epoch:
                return ErrorCode.INVALID_UPDATE_VERSION
            if refuse:
                return ErrorCode.INELIGIBLE_REPLICA
            self.write(isr, word.leader_epoch)
        now = self.word
        return IsrAccepted(now.leader_epoch, now.partition_epoch, now.isr, now.eligible_min_isr)

    @precondition(lambda self: self.proposals)
    @rule(at=pick, late=st.booleans())
    def lose_an_answer(self, at: int, late: bool) -> None:  # noqa: FBT001 - drawn
        """The proposal arrives or does not; its sender learns neither, and sends it again."""
        proposal = self.proposals.pop(at % len(self.proposals))
        if late:
            self.decide(proposal, refuse=False)
        error = ErrorCode.NETWORK_EXCEPTION
        self.carry_out(self.leader.on_isr_answer(proposal, error, self.now))

    @precondition(lambda self: self.answers)
    @rule(at=pick, again=st.booleans())
    def deliver_an_answer(self, at: int, again: bool) -> None:  # noqa: FBT001 - drawn
        """In any order, and perhaps not for the last time."""
        at %= len(self.answers)
        proposal, answer = self.answers[at] if again else self.answers.pop(at)
        self.carry_out(self.leader.on_isr_answer(proposal, answer, self.now))

    @rule(gone=follower, leadership=st.booleans())
    def speak(self, gone: BrokerId, leadership: bool) -> None:  # noqa: FBT001 - drawn
        """The controller takes a broker out, or sends the same state again, in another epoch."""
        isr = tuple(broker for broker in self.word.isr if broker != gone)
        self.write(isr if leadership else self.word.isr, self.word.leader_epoch + 1)
        self.words.append(self.word)

    @precondition(lambda self: self.words)
    @rule(at=pick)
    def hear(self, at: int) -> None:
        """A word arrives, late, out of order, or again."""
        word = self.words[at % len(self.words)]
        self.carry_out(self.leader.on_leadership(word, self.now))

    # What is always true

    @invariant()
    def committed_is_everywhere_it_must_be(self) -> None:
        """Whoever may be elected, in either outcome of a change, has what was shown to anybody."""
        assert self.leader.high_watermark == max(self.highest, 2)
        for broker in {*self.leader.isr.maximal, *self.word.isr, *self.eligible}:
            assert self.leader.high_watermark <= self.ends[broker], broker

    @invariant()
    def the_controllers_isr_is_never_larger_than_the_leaders_maximal_one(self) -> None:
        """The quorum that commits contains the quorum that elects."""
        if self.word.leader_epoch == self.leader.leader_epoch:
            assert {*self.word.isr} <= self.leader.isr.maximal

    @invariant()
    def one_change_at_a_time(self) -> None:
        """Nobody is answered twice, and nobody is forgotten."""
        assert self.waiting == len(self.leader._producers)


TestLeader = ClusterMachine.TestCase
TestLeader.settings = settings(max_examples=150, stateful_step_count=40)
TestLeader.__doc__ = "Whatever is lost or late: what is committed is with all who can be elected."
