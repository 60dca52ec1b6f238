"""What a leader knows of one follower: it learns it from the follower's fetches alone.

A fetch from an offset says that everything below it is in the follower's log. A follower is caught
up if it reaches the leader's end often enough: at a fetch that asks for the leader's present end,
or for what was its end at the fetch before (then it was in sync at that time; a follower that is
always one batch behind a busy leader stays in sync).
"""

from typing import NamedTuple

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


class FollowerFetch(NamedTuple):
    """A fetch that the log has accepted: its offset is within the log, and did not diverge."""

    broker: BrokerId
    offset: Offset
    leader_epoch: LeaderEpoch | None  # in which the follower believes; None: it does not say
    eligible: bool = True  # its broker is alive, in this life, and not shutting down
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    log_start_offset: Offset | None = None  # of the follower's log; None: it does not say
    incarnation: Incarnation = FIRST_INCARNATION  # of the follower's log


class FollowerProgress:
    """One follower, as of its last fetch."""

    __slots__ = (
        "advanced_at",
        "broker_epoch",
        "caught_up_at",
        "eligible",
        "end_offset",
        "fetched_at",
        "incarnation",
        "leader_end_then",
        "log_start_offset",
    )

    def __init__(self, caught_up_at: Millis | None, since: Millis) -> None:
        self.end_offset: Offset | None = None  # None: it has not fetched in this leadership
        self.log_start_offset: Offset | None = None  # None: it did not say, or has not fetched
        self.eligible = False  # to join the ISR
        self.broker_epoch = NO_BROKER_EPOCH
        self.incarnation: Incarnation | None = None  # of its log; None: it has not fetched
        self.fetched_at: Millis | None = None
        self.leader_end_then: Offset | None = None  # the leader's end at that fetch
        self.caught_up_at = caught_up_at  # when it last was in sync; None: never
        self.advanced_at = since  # when its end was last another one, or it was first heard of

    def fetched(self, fetch: FollowerFetch, leader_end: Offset, now: Millis) -> None:
        """Takes note of a fetch."""
        if fetch.offset >= leader_end:
            self.caught_up_at = now
        elif self.leader_end_then is not None and fetch.offset >= self.leader_end_then:
            self.caught_up_at = later(self.caught_up_at, self.fetched_at)
        if fetch.offset != self.end_offset:
            self.advanced_at = now
        self.end_offset = fetch.offset
        self.log_start_offset = fetch.log_start_offset
        self.eligible = fetch.eligible
        self.broker_epoch = fetch.broker_epoch
        self.incarnation = fetch.incarnation
        self.fetched_at = now
        self.leader_end_then = leader_end

    def on_append(self, leader_end: Offset, now: Millis) -> None:
        """The leader's log grows beyond this end: a follower that had reached it was in sync then.

        In a fetch session it need not have said so for long: an unchanged position is not repeated.
        """
        if self.end_offset == leader_end:
            self.caught_up_at = self.fetched_at = now
            self.leader_end_then = leader_end

    def is_caught_up(self, leader_end: Offset, now: Millis, lag_max: Millis) -> bool:
        """Whether it is in sync: at the end, or was so not too long ago."""
        if self.end_offset == leader_end:
            return True
        return self.caught_up_at is not None and now - self.caught_up_at <= lag_max

    def begin_leadership(self, leader_end: Offset, caught_up_at: Millis | None) -> None:
        """The same leader was elected again: its log never diverged, so ends of members hold.

        The times do not. A follower that is not in sync must fetch before it can be: it may have
        left because it lost its log, and have another one by now.
        """
        if caught_up_at is None:
            self.forget_end()
        self.leader_end_then = leader_end
        self.fetched_at = caught_up_at
        self.caught_up_at = caught_up_at

    def forget_end(self) -> None:
        """Another may have led meanwhile, and what it had then was cut: it must fetch first."""
        self.end_offset = None


def later(one: Millis | None, other: Millis | None) -> Millis | None:
    """The later of two moments, of which either may never have been."""
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)
