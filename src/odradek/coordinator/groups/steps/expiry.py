"""What expires: offsets that are no longer in use, and groups without members and offsets.

An offset is kept for `offsets.retention.minutes`: counted from the time when the group lost its
last member; or from its commit, where there never were members, or where the members that there
are do not subscribe to its topic. What was committed in a topic goes when that is deleted; if no
coordinator could write that then, it is found here by the topic's id. All that is looked for at
intervals, some groups at a time.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from odradek.coordinator.decision import Decision, Entry, Moment, Turn
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import SWEEP, Cause, Groups
from odradek.coordinator.groups.settings import SWEEP_GROUPS, SWEEP_PAUSE_MS
from odradek.coordinator.groups.states import Empty, Stable
from odradek.coordinator.groups.steps.commits import keys_of
from odradek.coordinator.groups.steps.rebalance import write
from odradek.coordinator.groups.values import CommittedOffset, GroupKey, OffsetKey
from odradek.model.units import Millis, Timestamp


def sweep(groups: Groups, now: Moment) -> Iterator[Decision]:
    """Looks through some groups, and sets the timer for the next ones or for the next round."""
    if not groups.to_sweep:
        names = (*groups.ledger.names(), *groups.live)
        groups.to_sweep = list(dict.fromkeys(names))
    part = groups.to_sweep[-SWEEP_GROUPS:]
    del groups.to_sweep[-SWEEP_GROUPS:]
    interval = groups.settings.retention_check_interval
    wait = min(SWEEP_PAUSE_MS, interval) if groups.to_sweep else interval
    groups.timers.set(SWEEP, Millis(now.monotonic + wait))
    for group_id in part:
        turn = Turn(now)
        _sweep_group(groups, group_id, turn)
        yield turn.decision()


def forget_topics(groups: Groups, topics: Iterable[str], now: Moment) -> Iterator[Decision]:
    """The topics are deleted: offsets in them are removed."""
    gone, ledger = frozenset(topics), groups.ledger
    found = (
        group_id
        for group_id, offsets in ledger.offsets.items()
        if any(about.topic in gone for about in offsets)
    )
    pending = (key.subject for offsets in ledger.pending.values() for key in offsets)
    for group_id in dict.fromkeys((*found, *groups.in_flight.subjects(), *pending)):
        turn = Turn(now)
        turn.records.extend(
            Entry(key, None) for key in keys_of(groups, group_id) if key.partition.topic in gone
        )
        yield turn.decision()


def _sweep_group(groups: Groups, group_id: str, turn: Turn) -> None:
    group, offsets = groups.live.get(group_id), groups.ledger.offsets.get(group_id, {})
    expired = []
    rule = _rule(groups, group_id)
    for about, recorded in offsets.items():
        committed, now = recorded.committed, turn.now.wall
        is_over = groups.is_of_earlier_topic(about.topic, committed)
        if is_over or (rule is not None and rule.expired(about.topic, committed, now)):
            key = OffsetKey(group_id, about)
            # A tombstone shall not overtake a commit that is in flight, or still undecided.
            if key not in groups.in_flight and not groups.ledger.undecided(key):
                expired.append(Entry(key, None))
    turn.records.extend(expired)
    if groups.in_flight.keys(group_id) or groups.ledger.undecided_of(group_id):
        return
    if len(expired) == len(offsets):
        _sweep_membership(groups, group_id, group, turn)
    elif group is not None:
        _write_again(groups, group, turn)


def _sweep_membership(groups: Groups, group_id: str, group: Group | None, turn: Turn) -> None:
    """Without members and offsets there is no group."""
    if group is not None and (group.members or group.pending):
        return
    if group_id in groups.ledger.groups:
        turn.records.append(Entry(GroupKey(group_id), None))
    if group is not None:
        groups.lay_to_rest(group)


def _write_again(groups: Groups, group: Group, turn: Turn) -> None:
    """A group that lost its members, and could not be written then, is written now."""
    stored = groups.ledger.groups.get(group.id)
    if isinstance(group.state, Empty) and stored is not None and stored.members:
        write(group, turn, Cause.EMPTIED)
    else:
        groups.lay_to_rest(group)


class _Rule(NamedTuple):
    """From when the offsets of one group count, and which topics are exempt."""

    retention: Millis
    since: Timestamp | None  # None: each from its own commit
    in_use: frozenset[str]

    def expired(self, topic: str, committed: CommittedOffset, now: Timestamp) -> bool:
        """Whether the offset may go."""
        if topic in self.in_use:
            return False
        if committed.expires_at is not None:
            return now >= committed.expires_at
        since = committed.committed_at if self.since is None else self.since
        return now - since >= self.retention


def _rule(groups: Groups, group_id: str) -> _Rule | None:
    """None: while the group is as it is, all its offsets are kept."""
    group, stored = groups.live.get(group_id), groups.ledger.groups.get(group_id)
    retention = groups.settings.retention
    if group is not None and not isinstance(group.state, Empty):
        topics = group.topics() if isinstance(group.state, Stable) else None
        return None if topics is None else _Rule(retention, None, topics)
    if group is not None and group.since is not None:
        return _Rule(retention, group.since, frozenset())
    return _Rule(retention, None if stored is None else stored.since, frozenset())
