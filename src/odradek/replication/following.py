"""The follower of one partition: what it asks its leader for, and what it does with the answers.

It reads its own log, and changes nothing: `FollowerEffects` say what the shell does to the log,
and the shell says when that is done. While it is being done the follower asks for nothing.

    AskingEpochEnd ◀─── (leader without truncation on fetch) ──┐
       │  ▲ └──truncate, ask again (KIP-279)──▶ Applying       │
       │  └────────────────────────────────────────┘           │
       ▼                                                       │
    Fetching ──records, or a diverging epoch──▶ Applying ──────┤
       │  ▲                                                    │
       │  └────────────────────────────────────────────────────┘
       ├─out of range─▶ AskingLatest ─▶ AskingEarliest ─▶ Applying or Fetching
       └─a cut below the start of this log──▶ AskingEarliest ─▶ Applying

Where two logs part is decided by leader epochs, never by the high watermark (KIP-101): each fetch
names the epoch of the last record, and the leader answers where its own log left that epoch
(KIP-595). The end of an epoch that only one of the two logs knows proves nothing, so the smaller
of both epochs is compared, in as many rounds as it takes (KIP-279). Every question names the
current leader epoch, and an answer counts only for the epoch it was asked in (KIP-320).

Invariants: the high watermark is never above the end of the log, and goes back only with a
truncation; a fetch names the end of the log as it is on disk.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import (
    FIRST_INCARNATION,
    NO_LEADER_EPOCH,
    NO_OFFSET,
    Incarnation,
    LeaderEpoch,
    Offset,
)
from odradek.model.units import SECOND, Millis


class Epochs(Protocol):
    """Which leader epoch wrote which part of the follower's own log."""

    @property
    def latest(self) -> LeaderEpoch:
        """The epoch of the last record; -1 where no epoch is known."""
        ...

    def end_offset_for(
        self, leader_epoch: LeaderEpoch, log_end_offset: Offset
    ) -> tuple[LeaderEpoch, Offset]:
        """The largest epoch not above this one, and where it ended; (-1, -1): unknown."""
        ...


class ReplicaLog(Protocol):
    """The follower's own log, to be looked at."""

    @property
    def log_start_offset(self) -> Offset:
        """The first offset that can be read."""
        ...

    @property
    def log_end_offset(self) -> Offset:
        """The offset of the next record."""
        ...

    @property
    def high_watermark(self) -> Offset:
        """All below is committed."""
        ...

    @property
    def incarnation(self) -> Incarnation:
        """Another one since it has lost something that it had told of."""
        ...

    @property
    def epochs(self) -> Epochs:
        """The history of leader epochs."""
        ...


class FollowerState(NamedTuple):
    """What the controller says of a partition that this broker follows."""

    leader: BrokerId
    leader_epoch: LeaderEpoch


UNWRITTEN_MAX: Final = Millis(10 * SECOND)
"""What is fetched for a full disk is thrown away, and a disk stays full for long."""


class FollowerSettings(NamedTuple):
    """How a follower goes about it."""

    truncates_on_fetch: bool = True  # the leader serves Fetch v12: it answers diverging epochs
    backoff_min: Millis = Millis(20)  # after a first error: an election is over in no time
    backoff_max: Millis = Millis(SECOND)  # replica.fetch.backoff.ms
    unwritten_max: Millis = UNWRITTEN_MAX  # between appends for which the disk has no room


class EpochEnd(NamedTuple):
    """Where a log's records of an epoch end; (-1, -1) where its history cannot tell."""

    leader_epoch: LeaderEpoch
    end_offset: Offset


class Fetched(NamedTuple):
    """The leader's answer to a fetch of this partition."""

    error: ErrorCode
    high_watermark: Offset = NO_OFFSET
    log_start_offset: Offset = NO_OFFSET
    diverging: EpochEnd | None = None  # the logs have parted; there are no records then
    records: memoryview | None = None


class FetchPosition(NamedTuple):
    """What a fetch says of this partition: an unchanged one need not be said again."""

    leader_epoch: LeaderEpoch
    offset: Offset
    last_fetched_epoch: LeaderEpoch
    log_start_offset: Offset
    incarnation: Incarnation = FIRST_INCARNATION


# What it is at


@dataclass(frozen=True, slots=True)
class Fetching:
    """The log ends where the leader's has the same records."""


@dataclass(frozen=True, slots=True)
class AskingEpochEnd:
    """Asks where this epoch of its own log ends at the leader (OffsetForLeaderEpoch)."""

    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class AskingLatest:
    """The leader's log does not reach to the fetch offset: asks where it ends (ListOffsets)."""


@dataclass(frozen=True, slots=True)
class AskingEarliest:
    """It is not that: asks where the leader's log starts (ListOffsets)."""

    anew: bool = False  # of this log, nothing is left: it begins there in any case


@dataclass(frozen=True, slots=True)
class Failed:
    """Not followed any more, until the controller names another leadership."""

    error: ErrorCode


Resting = Fetching | AskingEpochEnd | AskingLatest | AskingEarliest | Failed


@dataclass(frozen=True, slots=True)
class Applying:
    """The shell changes the log; nothing is asked for until it has said so."""

    then: Resting | None  # None: as for a log that nothing is known of
    high_watermark: Offset | None = None  # the leader's, to be taken over behind the append
    log_start_offset: Offset = NO_OFFSET


State = Resting | Applying


@dataclass(frozen=True, slots=True)
class FollowerEffects:
    """What the shell does to the log, from top to bottom; at most one of the first three.

    After any of these three it calls `on_applied`, or `on_apply_failed`. A truncation needs the
    log for itself: no append is on its way and no reader is in it, and the recovery point in the
    dir's checkpoint is lowered before. The high watermark lasts by the periodic checkpoint.
    """

    truncate_to: Offset | None = None  # drop all batches that reach to this offset or beyond
    start_fully_at: Offset | None = None  # drop everything; the log begins anew at this offset
    append: memoryview | None = None  # whole batches, the last one perhaps cut off
    high_watermark: Offset | None = None  # to the log: up to here it may be read
    log_start_offset: Offset | None = None  # to the log: what is below may be deleted

    @property
    def changes_log(self) -> bool:
        """Whether the follower waits for `on_applied`."""
        return (
            self.truncate_to is not None
            or self.start_fully_at is not None
            or self.append is not None
        )


NOTHING: Final = FollowerEffects()

FETCHED_AGAIN: Final = frozenset({ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR})
"""Errors of an append after which the same records are fetched again: they may arrive whole, or
the disk may have room again. A log dir that has failed is taken out by the shell."""

ROUNDS_MAX: Final = 32
"""So many comparisons in a row go without a pause: two logs differ in fewer epochs than these."""


class Follower:
    """One replica that follows its leader, for one leader epoch."""

    __slots__ = (
        "_errors",
        "_log",
        "_rounds",
        "_settings",
        "_unwritten",
        "leader",
        "leader_epoch",
        "leader_high_watermark",
        "partition",
        "retry_at",
        "state",
        "topic_id",
    )

    def __init__(
        self,
        name: tuple[TopicPartition, TopicId],
        log: ReplicaLog,
        word: FollowerState,
        *,
        settings: FollowerSettings,
    ) -> None:
        self.partition, self.topic_id = name
        self.leader = word.leader
        self.leader_epoch = word.leader_epoch
        self.leader_high_watermark = NO_OFFSET  # as of the last answer; for figures
        self.retry_at: Millis | None = None  # None: at once
        self.state: State = Fetching()
        self._log = log
        self._settings = settings
        self._errors = 0  # in a row
        self._rounds = 0  # of comparison, since the last fetch that went well
        self._unwritten = 0  # appends for which there was no room, since the last that succeeded

    def begin(self) -> FollowerEffects:
        """The first thing to do under this leader: find out where the logs part.

        A log without any epoch has nothing to compare, and is cut at its high watermark, if it
        reaches beyond: ten thousand empty logs that get a leader ask no disk.
        """
        log = self._log
        if log.epochs.latest == NO_LEADER_EPOCH and log.high_watermark < log.log_end_offset:
            return self._cut_at_high_watermark()
        self.state = self._settled()
        return NOTHING

    # What it wants to ask

    @property
    def position(self) -> FetchPosition | None:
        """Where it fetches from; None while it does not."""
        match self.state:
            case Fetching():
                offset = self._log.log_end_offset
            case _:
                return None
        return FetchPosition(
            self.leader_epoch,
            offset,
            self._log.epochs.latest if self._settings.truncates_on_fetch else NO_LEADER_EPOCH,
            self._log.log_start_offset,
            self._log.incarnation,
        )

    def is_at(self, asked: FetchPosition) -> bool:
        """Whether it still fetches from there, and says the same."""
        if type(self.state) is not Fetching:
            return False
        log = self._log
        return (
            asked.offset == log.log_end_offset
            and asked.leader_epoch == self.leader_epoch
            and asked.log_start_offset == log.log_start_offset
            and asked.incarnation == log.incarnation
            and asked.last_fetched_epoch
            == (log.epochs.latest if self._settings.truncates_on_fetch else NO_LEADER_EPOCH)
        )

    @property
    def lag(self) -> int:
        """How many records the leader has committed that are missing here."""
        return max(self.leader_high_watermark - self._log.log_end_offset, 0)

    # The leader's answers

    def on_fetched(self, fetched: Fetched, now: Millis) -> FollowerEffects:
        """The answer to a fetch from where the follower still is."""
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE and isinstance(self.state, Fetching):
            self.state = AskingLatest()
            return NOTHING
        if fetched.error is not ErrorCode.NONE:
            return self._refused(fetched.error, now)
        assert isinstance(self.state, Fetching), self.state
        if fetched.diverging is not None:
            return self._compared(fetched.diverging, now)
        self._errors = self._rounds = 0
        self.retry_at = None
        self.leader_high_watermark = fetched.high_watermark
        if fetched.records:
            self.state = Applying(self.state, fetched.high_watermark, fetched.log_start_offset)
            return FollowerEffects(append=fetched.records)
        return self._committed(fetched.high_watermark, fetched.log_start_offset)

    def on_epoch_end(self, error: ErrorCode, end: EpochEnd, now: Millis) -> FollowerEffects:
        """The answer to where an epoch of this log ends at the leader."""
        assert isinstance(self.state, AskingEpochEnd), self.state
        if error is not ErrorCode.NONE:
            return self._refused(error, now)
        return self._compared(end, now)

    def on_offset(self, error: ErrorCode, offset: Offset, now: Millis) -> FollowerEffects:
        """The answer to where the leader's log ends, or starts."""
        if error is not ErrorCode.NONE:
            return self._refused(error, now)
        end = self._log.log_end_offset
        match self.state:
            case AskingLatest():
                if offset < end:
                    return self._truncate(offset, None)
                self.state = AskingEarliest()
                return NOTHING
            case AskingEarliest(anew):
                if anew or offset > end:
                    self.state = Applying(Fetching())
                    return FollowerEffects(start_fully_at=offset)
                # It is in range again, or the leader cannot compare: no loop without a pause.
                self.state = Fetching()
                return self._back_off(now)
            case _:
                raise AssertionError(self.state)

    # The shell's answers

    def on_applied(self) -> FollowerEffects:
        """The log has been changed as the effects said."""
        assert isinstance(self.state, Applying), self.state
        applied = self.state
        self.state = applied.then or self._settled()
        if applied.high_watermark is None:
            return NOTHING
        self._unwritten = 0
        return self._committed(applied.high_watermark, applied.log_start_offset)

    def on_apply_failed(self, error: ErrorCode, now: Millis) -> None:
        """The log could not be changed, and is as it was before."""
        assert isinstance(self.state, Applying), self.state
        was_append = self.state.high_watermark is not None
        if not was_append or error not in FETCHED_AGAIN:
            self.state = Failed(error)
            return
        self.state = self.state.then or self._settled()
        if error is ErrorCode.KAFKA_STORAGE_ERROR:
            self._rest(self._unwritten, self._settings.unwritten_max, now)
            self._unwritten += 1
        else:
            self._back_off(now)

    # How it is decided

    def _settled(self) -> Resting:
        """What comes next for a log that nothing is known against."""
        latest = self._log.epochs.latest
        if self._settings.truncates_on_fetch or latest == NO_LEADER_EPOCH:
            return Fetching()
        return AskingEpochEnd(latest)

    def _compared(self, theirs: EpochEnd, now: Millis) -> FollowerEffects:
        """The leader's log left an epoch at an offset: cuts what cannot be the same from there on.

        Where this log does not know that epoch, but knows a smaller one, the end of that one is as
        far as the logs may agree, and the leader is asked about it next (KIP-279).
        """
        self._rounds += 1
        self._errors, self.retry_at = 0, None
        if self._rounds > ROUNDS_MAX:
            self._back_off(now)
        end = self._log.log_end_offset
        if theirs.end_offset < 0:
            return self._cut_at_high_watermark()
        if theirs.leader_epoch == NO_LEADER_EPOCH:  # OffsetForLeaderEpoch v0 does not say it
            return self._truncate(min(theirs.end_offset, end), Fetching())
        mine = EpochEnd(*self._log.epochs.end_offset_for(theirs.leader_epoch, end))
        if mine.end_offset < 0:
            return self._truncate(min(theirs.end_offset, end), Fetching())
        if mine.leader_epoch == theirs.leader_epoch:
            return self._truncate(min(mine.end_offset, theirs.end_offset, end), Fetching())
        return self._truncate(min(mine.end_offset, end), None)

    def _cut_at_high_watermark(self) -> FollowerEffects:
        return self._truncate(self._log.high_watermark, Fetching())

    def _truncate(self, offset: Offset, then: Resting | None) -> FollowerEffects:
        """Also where the log ends there: an epoch that has no record yet is forgotten.

        A log of which nothing would be left begins where the leader's does. If it began at the cut,
        it would be in sync, and lead next, without what the leader has below it.
        """
        if offset < self._log.log_start_offset:
            self.state = AskingEarliest(anew=True)
            return NOTHING
        self.state = Applying(then)
        return FollowerEffects(truncate_to=offset)

    def _committed(self, high_watermark: Offset, log_start_offset: Offset) -> FollowerEffects:
        """What the leader has committed, as far as this log reaches."""
        before = self._log.high_watermark
        reached = max(min(high_watermark, self._log.log_end_offset), before)
        start = min(log_start_offset, reached)
        return FollowerEffects(
            high_watermark=reached if reached > before else None,
            log_start_offset=start if start > self._log.log_start_offset else None,
        )

    def _refused(self, error: ErrorCode, now: Millis) -> FollowerEffects:
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            self.state = Failed(error)  # the controller's next request names the new leader
            return NOTHING
        return self._back_off(now)

    def on_unanswered(self, now: Millis) -> None:
        """The leader did not answer, or left this partition out."""
        self._back_off(now)

    def _back_off(self, now: Millis) -> FollowerEffects:
        self._rest(self._errors, self._settings.backoff_max, now)
        self._errors += 1
        return NOTHING

    def _rest(self, errors: int, pause_max: Millis, now: Millis) -> None:
        """Each error in a row doubles the pause."""
        self.retry_at = Millis(now + min(self._settings.backoff_min << min(errors, 16), pause_max))
