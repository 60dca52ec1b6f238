"""The leader of one partition: who is in sync, and what is committed. Facts in, effects out.

It knows no log: it is told where the log ends and tells how far it is committed. It knows no clock
and no network either; producers that wait for an offset wait here, in the order of offsets.

Invariants, `min_isr` being the setting, at most the number of replicas, or the number under which
others were named eligible, if that is larger:

* the high watermark never goes back, and never passes the end of a member of the maximal ISR;
* it does not move while the committed ISR is smaller than min_isr (KIP-966), so a producer with
  acks=all is answered only for what enough replicas have;
* at most one change of the ISR is in flight; a member joins only once it has reached both the high
  watermark and the start of this leader epoch by a fetch of this epoch (an earlier high watermark
  is not enough: the leader's own may be behind what its predecessor had committed).

A partition with one replica is a leader whose ISR is itself.
"""

from collections.abc import Iterable
from dataclasses import replace

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import (
    FIRST_INCARNATION,
    NO_BROKER_EPOCH,
    BrokerEpoch,
    Incarnation,
    LeaderEpoch,
    Offset,
)
from odradek.model.units import Millis
from odradek.replication.errors import (
    FollowerAhead,
    NotAReplica,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    UnknownLeaderEpoch,
)
from odradek.replication.isr import (
    NOT_DONE,
    OVERTAKEN,
    ChangeInDoubt,
    ChangeInFlight,
    Committed,
    Isr,
    IsrAccepted,
    IsrMember,
    IsrProposal,
    Members,
)
from odradek.replication.leadership import (
    NOTHING,
    EpochStart,
    LeaderEffects,
    LeaderSettings,
    Leadership,
    LogEnds,
    Verdict,
    check_leader_epoch,
)
from odradek.replication.progress import FollowerFetch, FollowerProgress
from odradek.replication.waiters import Ticket, Waiter, Waiters


class Leader:
    """One replica's leadership of its partition, for as long as the controller leaves it there."""

    __slots__ = (
        "_at_low_watermark",
        "_eligible",
        "_eligible_min_isr",
        "_followers",
        "_incarnation",
        "_incarnations",
        "_me",
        "_producers",
        "_replicas",
        "_settings",
        "adding",
        "epoch_start",
        "high_watermark",
        "isr",
        "leader_epoch",
        "log_end_offset",
        "log_start_offset",
        "low_watermark",
        "min_isr",
        "partition_epoch",
        "replication_factor",
    )

    def __init__(
        self, me: BrokerId, leadership: Leadership, ends: LogEnds, settings: LeaderSettings
    ) -> None:
        assert ends.high_watermark <= ends.end_offset, ends
        _check_replica(me, leadership)
        self.log_start_offset = ends.start_offset
        self.log_end_offset = ends.end_offset
        self.high_watermark = ends.high_watermark
        self.leader_epoch = leadership.leader_epoch
        self.partition_epoch = leadership.partition_epoch
        self.epoch_start = ends.end_offset
        self.isr: Isr = Committed(frozenset(leadership.isr))
        self._me = me
        self._settings = settings
        self._eligible = leadership.eligible
        self._eligible_min_isr = leadership.eligible_min_isr
        self.min_isr = 0  # found by `_take_replicas`
        self._incarnation = ends.incarnation
        self._incarnations = dict(leadership.incarnations)  # as which the controller knows them
        self._replicas: tuple[BrokerId, ...] = ()
        self.adding: frozenset[BrokerId] = frozenset()  # replicas that a reassignment adds
        self.replication_factor = 0  # without them
        self._followers: dict[BrokerId, FollowerProgress] = {}
        self._producers = Waiters()
        self._at_low_watermark = Waiters()
        self.low_watermark: Offset | None = None  # all below is gone from every live replica

    @classmethod
    def elected(
        cls,
        me: BrokerId,
        leadership: Leadership,
        ends: LogEnds,
        *,
        settings: LeaderSettings,
        now: Millis,
    ) -> tuple["Leader", LeaderEffects]:
        """Begins a leadership. What followers had before it counts for nothing."""
        leader = cls(me, leadership, ends, settings)
        leader._take_replicas(leadership, now)
        leader._deleted()
        return leader, replace(leader._advanced(now), begin_epoch=leader._begun_epoch)

    # The controller's word

    def on_leadership(self, leadership: Leadership, now: Millis) -> LeaderEffects:
        """A newer word on the same leader: another leadership, or another ISR within this one.

        It ends a change that was in flight: that was done before, and is part of the word, or
        never will be, for it names an older version. A word that is not newer is ignored: it says
        nothing on what is in flight. In another leader epoch versions may begin anew: somebody has
        removed the state, and put it back.
        """
        _check_replica(self._me, leadership)
        if leadership[:2] <= (self.leader_epoch, self.partition_epoch):
            return NOTHING
        assert self._me in leadership.replicas, leadership
        is_new_epoch = leadership.leader_epoch > self.leader_epoch
        has_missed_another = leadership.leader_epoch > self.leader_epoch + 1
        self.leader_epoch = leadership.leader_epoch
        self.partition_epoch = leadership.partition_epoch
        self.isr = Committed(frozenset(leadership.isr))
        self._eligible = leadership.eligible
        self._eligible_min_isr = leadership.eligible_min_isr
        self._incarnations = dict(leadership.incarnations)
        if is_new_epoch:
            self.epoch_start = self.log_end_offset
            for broker, follower in self._followers.items():
                in_sync = broker in self.isr.committed
                follower.begin_leadership(self.log_end_offset, now if in_sync else None)
                if has_missed_another:
                    follower.forget_end()
        self._take_replicas(leadership, now)
        effects = self._and_deleted(self._advanced(now))
        return replace(effects, begin_epoch=self._begun_epoch) if is_new_epoch else effects

    def on_isr_answer(
        self, proposal: IsrProposal, answer: IsrAccepted | ErrorCode, now: Millis
    ) -> LeaderEffects:
        """What the controller says to a proposal, or the error that came in its place.

        Answers to anything but the change in flight are too late. Where the outcome is not known
        and the version may still be current, the same proposal goes out again; the shell decides
        how soon.
        """
        isr = self.isr
        if not isinstance(isr, ChangeInFlight) or isr.proposal is not proposal:
            return NOTHING
        if isinstance(answer, IsrAccepted):
            return self._accept(isr, answer, now)
        if answer in NOT_DONE:
            self.isr = Committed(isr.committed)
            return self._advanced(now)
        if answer in OVERTAKEN:
            self.isr = ChangeInDoubt(isr.committed, isr.maximal)
            return NOTHING
        return LeaderEffects(propose=proposal)

    def resign(self) -> LeaderEffects:
        """The leadership is over: producers learn that, and everybody else looks again."""
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return LeaderEffects(
            verdicts=tuple(Verdict(ticket, error) for ticket in self._producers.everybody()),
            wake=self._at_low_watermark.everybody(),
        )

    # The log, the followers, and time

    def on_append(self, log_end_offset: Offset, now: Millis) -> LeaderEffects:
        """The log has grown up to this end."""
        assert log_end_offset >= self.log_end_offset, (log_end_offset, self.log_end_offset)
        if log_end_offset > self.log_end_offset:
            if self._followers:
                for follower in self._followers.values():
                    follower.on_append(self.log_end_offset, now)
            self.log_end_offset = log_end_offset
        return self._advanced(now)

    def on_follower_fetch(self, fetch: FollowerFetch, now: Millis) -> LeaderEffects:
        """A follower says, by where it fetches from, how far its log goes."""
        if fetch.leader_epoch != self.leader_epoch:
            self.check_leader_epoch(fetch.leader_epoch)
        follower = self._followers.get(fetch.broker)
        if follower is None:
            # With an epoch it is ours, so its word may only be newer than ours on the replicas.
            unknown = NotLeaderOrFollower if fetch.leader_epoch is None else UnknownLeaderEpoch
            raise unknown(f"broker {fetch.broker} holds no replica, as far as is known here")
        if NO_BROKER_EPOCH < fetch.broker_epoch < follower.broker_epoch:
            raise NotLeaderOrFollower(f"broker {fetch.broker} asked for this in an earlier life")
        if fetch.offset > self.log_end_offset:
            raise FollowerAhead(f"offset {fetch.offset}; the log ends at {self.log_end_offset}")
        starts_elsewhere = fetch.log_start_offset != follower.log_start_offset
        follower.fetched(fetch, self.log_end_offset, now)
        proposal: IsrProposal | None = None
        if type(isr := self.isr) is not Committed:
            pass  # one change at a time
        elif fetch.broker not in isr.committed or fetch.incarnation != self._known(fetch.broker):
            proposal = self._expansion(fetch.broker, follower)
        if proposal is None and fetch.offset < self.high_watermark:
            proposal = self._loss(fetch.broker, follower)
        effects = self._advanced(now)
        woken = self._deleted() if starts_elsewhere else ()
        if proposal or woken:
            return replace(effects, propose=proposal, wake=effects.wake + woken)
        return effects

    def on_log_start(self, log_start_offset: Offset) -> LeaderEffects:
        """What is below was deleted here, by retention or DeleteRecords."""
        self.log_start_offset = log_start_offset
        return LeaderEffects(wake=self._deleted())

    def on_ineligible(self, broker: BrokerId, now: Millis) -> LeaderEffects:
        """A follower's broker has died or is shutting down: it is not waited for."""
        follower = self._followers.get(broker)
        if follower is None or not follower.eligible:
            return NOTHING
        follower.eligible = False
        return self._and_deleted(self._advanced(now))

    def on_registered(
        self, broker: BrokerId, broker_epoch: BrokerEpoch, now: Millis
    ) -> LeaderEffects:
        """A follower's broker is alive; in which life, where the metadata says that.

        The follower may have fetched before this was known here, and not repeat its position. What
        it fetched in another life counts for nothing.
        """
        follower = self._followers.get(broker)
        if follower is None or follower.eligible or follower.end_offset is None:
            return NOTHING
        life = follower.broker_epoch
        if life == NO_BROKER_EPOCH or broker_epoch not in {NO_BROKER_EPOCH, life}:
            return NOTHING
        follower.eligible = True
        return self._joined(self._advanced(now))

    def on_time(self, now: Millis) -> LeaderEffects:
        """Proposes to go on without the members that have fallen behind for too long.

        A follower that was awaited although it is not a member may have fallen behind, too.
        """
        effects = self._joined(self._advanced(now))
        if not isinstance(self.isr, Committed):
            return effects
        lagging = {
            broker
            for broker in self._members_behind()
            if not self._followers[broker].is_caught_up(
                self.log_end_offset, now, self._settings.lag_max
            )
        }
        if not lagging:
            return effects
        return replace(effects, propose=self._proposed(self.isr.committed - lagging))

    def deadline(self, now: Millis) -> Millis | None:
        """When `on_time` may have something to say, if nothing happens before; None: never.

        A partition whose replicas are all at the end needs no timer; nor does one that waits for
        the controller's answer. Asked after an event of this very moment.
        """
        members_count = isinstance(self.isr, Committed)
        moments = []
        for broker, follower in self._followers.items():
            if follower.caught_up_at is None or follower.end_offset == self.log_end_offset:
                continue
            moment = Millis(follower.caught_up_at + self._settings.lag_max + 1)
            if broker in self.isr.maximal:
                awaited = members_count
            else:
                awaited = follower.eligible and moment > now
            if awaited:
                moments.append(moment)
        return min(moments, default=None)

    def on_min_isr(self, min_isr: int, now: Millis) -> LeaderEffects:
        """The operator changed min.insync.replicas."""
        self._settings = self._settings._replace(min_isr=min_isr)
        self._find_min_isr()
        return self._advanced(now)

    # What is asked before something is served

    def check_leader_epoch(self, leader_epoch: LeaderEpoch | None) -> None:
        """Refuses a request of another leader epoch; one without an epoch is served."""
        if leader_epoch is not None:
            check_leader_epoch(leader_epoch, self.leader_epoch)

    def check_enough_replicas(self) -> None:
        """Refuses an append with acks=all that could not be answered."""
        in_sync = len(self.isr.committed)
        if in_sync < self.min_isr:
            raise NotEnoughReplicas(f"{in_sync} in sync; min.insync.replicas is {self.min_isr}")

    def check_end_is_known(self) -> None:
        """Refuses to say what the latest committed offset is, until it cannot be a step back."""
        if self.high_watermark < self.epoch_start:
            raise OffsetNotAvailable(
                f"the high watermark is {self.high_watermark}, the leadership began at "
                f"{self.epoch_start}"
            )

    def others_in_sync(self) -> Members:
        """The followers that are members."""
        return self.isr.committed - {self._me}

    def eligible_apart(self, offset: Offset, now: Millis) -> Members:
        """Those who have the record at this offset and do not fetch from here.

        They are eligible, so they have what is committed. Who fetches joins soon, with the rest.
        """
        if offset >= self.high_watermark:
            return frozenset()
        lately = now - self._settings.lag_max
        return frozenset(
            broker
            for broker, it in self._followers.items()
            if broker in self._eligible and (it.fetched_at is None or it.fetched_at < lately)
        )

    def followers(self) -> Iterable[tuple[BrokerId, FollowerProgress]]:
        """Every follower, and how far it is."""
        return self._followers.items()

    @property
    def replica_count(self) -> int:
        """How many replicas there shall be."""
        return len(self._replicas)

    @property
    def verdict(self) -> ErrorCode | None:
        """What a producer is told whose records are committed; no error means: enough have them."""
        enough = len(self.isr.maximal) >= self.min_isr
        return None if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # Who waits

    def await_commit(self, end_offset: Offset, ticket: Ticket) -> Waiter | Verdict:
        """A producer waits until all below is committed; the verdict, where it is already."""
        if end_offset <= self.high_watermark:
            return self._verdict(ticket)
        return self._producers.add(end_offset, ticket)

    def await_low_watermark(self, offset: Offset, ticket: Ticket) -> Waiter | None:
        """Somebody waits until all below is gone from every live replica; None: it is."""
        if self.low_watermark is not None and self.low_watermark >= offset:
            return None
        return self._at_low_watermark.add(offset, ticket)

    @property
    def is_deletion_awaited(self) -> bool:
        """Whether somebody waits for the low watermark."""
        return bool(self._at_low_watermark)

    # How it is decided

    @property
    def _begun_epoch(self) -> EpochStart:
        return EpochStart(self.leader_epoch, self.epoch_start)

    def _take_replicas(self, leadership: Leadership, now: Millis) -> None:
        """Forgets followers that hold no replica any more, and begins with new ones."""
        self._replicas = leadership.replicas
        self.adding = frozenset(leadership.adding)
        self.replication_factor = len(leadership.replicas) - len(leadership.adding)
        self._followers = {
            broker: self._followers.get(broker)
            or FollowerProgress(now if broker in leadership.isr else None, now)
            for broker in leadership.replicas
            if broker != self._me
        }
        self._find_min_isr()

    def _find_min_isr(self) -> None:
        """min.insync.replicas, as far as the number of replicas allows.

        Not less than what others were named eligible under, whatever the setting says here and now:
        they lead on the strength of it that nothing was committed since.
        """
        possible = min(self._settings.min_isr, len(self._replicas))
        self.min_isr = max(self._eligible_min_isr, possible)

    def _accept(self, isr: ChangeInFlight, answer: IsrAccepted, now: Millis) -> LeaderEffects:
        if (
            answer.leader_epoch != self.leader_epoch
            or answer.partition_epoch < self.partition_epoch
        ):
            return NOTHING
        members = frozenset(answer.isr)
        if self._me not in members or not members <= {*self._replicas}:
            self.isr = ChangeInDoubt(isr.committed, isr.maximal)  # no leader can act on that
            return NOTHING
        self.partition_epoch = answer.partition_epoch
        self.isr = Committed(members)
        self._eligible = answer.eligible
        self._eligible_min_isr = answer.eligible_min_isr
        self._find_min_isr()
        self._incarnations = {it.broker: it.incarnation for it in isr.proposal.isr}
        return self._and_deleted(self._joined(self._advanced(now)))

    def _expansion(self, broker: BrokerId, follower: FollowerProgress) -> IsrProposal | None:
        if not isinstance(self.isr, Committed):
            return None
        if broker in self.isr.committed and follower.incarnation == self._known(broker):
            return None
        assert follower.end_offset is not None, "it has just fetched"
        if not follower.eligible or follower.end_offset < max(
            self.high_watermark, self.epoch_start
        ):
            return None
        start = follower.log_start_offset
        if start is not None and start < self.log_start_offset:
            return None  # what it has below was deleted, and may be of another history
        return self._proposed(self.isr.committed | {broker})

    def _joined(self, effects: LeaderEffects) -> LeaderEffects:
        """Proposes a follower that had caught up while another change was in flight.

        It need not fetch again before: an unchanged position is not repeated in a fetch session.
        """
        for broker, follower in self._followers.items():
            if follower.end_offset == self.log_end_offset:  # others fetch on, and say so
                proposal = self._expansion(broker, follower)
                if proposal is not None:
                    return replace(effects, propose=proposal)
        return effects

    def _loss(self, broker: BrokerId, follower: FollowerProgress) -> IsrProposal | None:
        """A member fetches what is committed: it has lost it, and leaves the ISR.

        Its log was cut in recovery.
        """
        if not isinstance(self.isr, Committed) or broker not in self.isr.committed:
            return None
        assert follower.end_offset is not None, "it has just fetched"
        if follower.end_offset >= self.high_watermark:
            return None
        return self._proposed(self.isr.committed - {broker})

    def _proposed(self, members: Members) -> IsrProposal:
        assert isinstance(self.isr, Committed), self.isr
        isr = tuple(
            IsrMember(it, self._life(it), self._incarnation_of(it))
            for it in self._replicas
            if it in members
        )
        proposal = IsrProposal(self.leader_epoch, self.partition_epoch, isr)
        self.isr = ChangeInFlight(self.isr.committed, proposal)
        return proposal

    def _life(self, broker: BrokerId) -> BrokerEpoch:
        follower = self._followers.get(broker)
        return follower.broker_epoch if follower else NO_BROKER_EPOCH

    def _known(self, broker: BrokerId) -> Incarnation:
        return self._incarnations.get(broker, FIRST_INCARNATION)

    def _incarnation_of(self, broker: BrokerId) -> Incarnation:
        """As it has fetched last, or as it is a member."""
        if broker == self._me:
            return self._incarnation
        found = self._followers[broker].incarnation
        return self._known(broker) if found is None else found

    def _members_behind(self) -> list[BrokerId]:
        return [
            broker
            for broker, follower in self._followers.items()
            if broker in self.isr.committed and follower.end_offset != self.log_end_offset
        ]

    def _advanced(self, now: Millis) -> LeaderEffects:
        """Moves the high watermark as far as it may go, and says who is served by that."""
        if len(self.isr.committed) < self.min_isr:
            return NOTHING
        high_watermark = self._smallest_end(now) if self._followers else self.log_end_offset
        if high_watermark is None or high_watermark <= self.high_watermark:
            return NOTHING
        self.high_watermark = high_watermark
        return LeaderEffects(
            high_watermark=high_watermark,
            verdicts=tuple(map(self._verdict, self._producers.reached(high_watermark))),
        )

    def _smallest_end(self, now: Millis) -> Offset | None:
        """Of the maximal ISR, and of those about to join: or it would run away from them."""
        smallest = self.log_end_offset
        maximal = self.isr.maximal
        for broker, follower in self._followers.items():
            end = follower.end_offset
            if end is not None and end >= smallest:
                continue
            if broker not in maximal and not self._is_joining(follower, now):
                continue
            if end is None:
                return None
            smallest = end
        return smallest

    def _deleted(self) -> tuple[Ticket, ...]:
        """Moves the low watermark, and says who waited for that."""
        smallest, may_lead = self.log_start_offset, self.isr.maximal.union(self._eligible)
        for broker, follower in self._followers.items():
            if not follower.eligible and broker not in may_lead:
                continue  # it deletes the same when it comes back, before it may lead
            start = follower.log_start_offset
            if start is None:
                return ()
            smallest = min(smallest, start)
        self.low_watermark = smallest
        return self._at_low_watermark.reached(smallest)

    def _and_deleted(self, effects: LeaderEffects) -> LeaderEffects:
        """Who may lead is another, so the low watermark may be, too."""
        woken = self._deleted()
        return replace(effects, wake=effects.wake + woken) if woken else effects

    def _is_joining(self, follower: FollowerProgress, now: Millis) -> bool:
        return follower.eligible and follower.is_caught_up(
            self.log_end_offset, now, self._settings.lag_max
        )

    def _verdict(self, ticket: Ticket) -> Verdict:
        return Verdict(ticket, self.verdict)


def _check_replica(me: BrokerId, leadership: Leadership) -> None:
    if me not in leadership.replicas:
        raise NotAReplica(f"broker {me} shall lead, but the replicas are {leadership.replicas}")
