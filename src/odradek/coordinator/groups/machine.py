"""The rules of groups as a machine that stands on a shard: every event finds its rule here."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from odradek.coordinator.decision import Call, Decision, Entry, Moment, Note, Turn
from odradek.coordinator.errors import after_failed_append
from odradek.coordinator.groups import answers
from odradek.coordinator.groups.groups import (
    SWEEP,
    Cause,
    Groups,
    Ring,
    Timer,
    TopicIds,
    Written,
    unknown,
)
from odradek.coordinator.groups.requests import (
    MAY_WAIT,
    DeleteGroup,
    DescribeGroup,
    FetchOffsets,
)
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.steps import (
    admin,
    commits,
    expiry,
    fetching,
    joining,
    leaving,
    rebalance,
    syncing,
    transactional_commits,
)
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import Millis
from odradek.ports import Random
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.offset_commit import OffsetCommitRequest
from odradek.wire.messages.offset_delete import OffsetDeleteRequest
from odradek.wire.messages.sync_group import SyncGroupRequest
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from odradek.wire.schema import Struct

Rule = Callable[[Groups, Call, Turn], None]

RULES: Final[dict[type, Rule]] = {
    JoinGroupRequest: joining.join,
    SyncGroupRequest: syncing.sync,
    HeartbeatRequest: leaving.heartbeat,
    LeaveGroupRequest: leaving.leave,
    OffsetCommitRequest: commits.commit,
    TxnOffsetCommitRequest: transactional_commits.commit,
    OffsetDeleteRequest: commits.delete,
    FetchOffsets: fetching.fetch,
    DescribeGroup: admin.describe,
    DeleteGroup: admin.delete,
}


class GroupMachine:
    """The groups of one partition of `__consumer_offsets`."""

    def __init__(
        self, settings: GroupSettings, random: Random, topic_id: TopicIds = unknown
    ) -> None:
        self.groups = Groups(settings, random, topic_id)
        self.timers = self.groups.timers
        self.in_flight = self.groups.in_flight

    def decide(self, call: Call, now: Moment) -> Decision:
        """What follows from a request. A rule that refuses has answered and written nothing."""
        turn = Turn(now)
        kind = getattr(call.request, "KIND", type(call.request))  # decoded structs have a twin
        try:
            RULES[kind](self.groups, call, turn)
        except BrokerError:
            assert not turn.answers, call
            assert not turn.records, call
            raise
        return turn.decision()

    def may_wait(self, request: Any) -> bool:
        """Whether such a request is ever left without an answer."""
        return isinstance(request, MAY_WAIT)

    def waits_to_be_loaded(self, request: Any) -> bool:
        """Members that only say that they live go on, so others are not to wait before them."""
        del request
        return False

    def expire(self, timer: Hashable, now: Moment) -> Iterable[Decision]:
        """What follows from a timer that has rung."""
        assert isinstance(timer, Timer), timer
        if timer == SWEEP:
            return expiry.sweep(self.groups, now)
        turn, group = Turn(now), self.groups.live.get(timer.group)
        if group is not None:
            match timer.ring:
                case Ring.SESSION:
                    leaving.on_silence(self.groups, timer, turn)
                case Ring.JOIN:
                    rebalance.on_join_timer(self.groups, group, turn)
                case Ring.SYNC:
                    rebalance.on_sync_timer(self.groups, group, turn)
        return (turn.decision(),)

    def replay(self, offset: Offset, entry: Entry) -> None:
        """Believes a committed record."""
        self.groups.ledger.replay(offset, entry)

    def replay_end(self, producer: ProducerId, *, committed: bool) -> None:
        """Believes, or forgets, the offsets of a transaction."""
        self.groups.ledger.replay_end(producer, committed=committed)

    def activated(self, now: Moment) -> Iterable[Decision]:
        """Groups with members live on: their sessions begin anew.

        A group that is now larger than it may be rebalances, and its last members are left out.
        """
        groups = self.groups
        interval = groups.settings.retention_check_interval
        groups.timers.set(SWEEP, Millis(now.monotonic + interval))
        for group_id, stored in groups.ledger.groups.items():
            if not stored.members:
                continue
            group = groups.revive(group_id)
            for member in group.members.values():
                groups.keep_alive(group, member, now)
            if len(group.members) > groups.settings.members_max:
                turn = Turn(now)
                rebalance.prepare(groups, group, turn)
                yield turn.decision()

    def settled(self, note: Note, now: Moment) -> Iterable[Decision]:
        """A group's record is committed."""
        assert isinstance(note, Written), note
        turn, group = Turn(now), self.groups.live.get(note.group)
        if group is None:
            return (turn.decision(),)
        match note.cause:
            case Cause.ASSIGNED:
                rebalance.on_assigned(self.groups, group, note.generation, turn)
            case Cause.REPLACED:
                assert note.replacement is not None, note
                joining.on_replaced(self.groups, group, note.replacement, turn)
            case Cause.EMPTIED | Cause.DELETED:
                self.groups.lay_to_rest(group)
        return (turn.decision(),)

    def failed(self, note: Note, code: ErrorCode, now: Moment) -> Iterable[Decision]:
        """A group's record is not in the log, or will be there too late."""
        assert isinstance(note, Written), note
        turn, group = Turn(now), self.groups.live.get(note.group)
        if group is None:
            return (turn.decision(),)
        failure = (code, turn)
        match note.cause:
            case Cause.ASSIGNED:
                rebalance.on_assigning_failed(self.groups, group, note.generation, failure)
            case Cause.REPLACED:
                assert note.replacement is not None, note
                joining.on_replacing_failed(self.groups, group, note.replacement, failure)
            case Cause.EMPTIED | Cause.DELETED:
                pass  # the sweep finds it
        return (turn.decision(),)

    def refuse(self, call: Call, code: ErrorCode) -> Struct:
        """The response that says no more than this."""
        return answers.refusal(call.request, code)

    def translate(self, request: Any, code: ErrorCode) -> ErrorCode:
        """The error with which this request is answered when its append fails."""
        told = after_failed_append(code)
        is_commit = isinstance(request, OffsetCommitRequest | TxnOffsetCommitRequest)
        if is_commit and told is ErrorCode.UNKNOWN_SERVER_ERROR:
            return ErrorCode.INVALID_COMMIT_OFFSET_SIZE  # the batch was too large
        return told

    def forget_topics(self, topics: Iterable[str], now: Moment) -> Iterable[Decision]:
        """These topics are deleted."""
        return expiry.forget_topics(self.groups, topics, now)
