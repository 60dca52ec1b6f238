"""From one generation to the next: everybody joins, a leader assigns, everybody collects.

These rules are told what happened to the membership, and move the group through its states. How a
member comes in or goes is decided in `joining` and `leaving`.
"""

from odradek.coordinator.decision import Entry, Turn
from odradek.coordinator.errors import after_failed_append
from odradek.coordinator.groups import answers
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Cause, Groups, Replacement, Ring, Timer, Written
from odradek.coordinator.groups.settings import NOBODY_JOINED_WAIT_MS
from odradek.coordinator.groups.states import (
    CompletingRebalance,
    Empty,
    InitialDelay,
    PreparingRebalance,
    Stable,
)
from odradek.coordinator.groups.values import GroupKey
from odradek.model.errors import ErrorCode
from odradek.model.units import Millis


def prepare(groups: Groups, group: Group, turn: Turn) -> None:
    """All members shall join anew. Those that wait for an assignment of the old turn are told."""
    if isinstance(group.state, CompletingRebalance):
        _refuse_syncs(groups, group, ErrorCode.REBALANCE_IN_PROGRESS, turn)
    group.unsynced.clear()
    groups.timers.cancel(Timer(Ring.SYNC, group.id))
    if isinstance(group.state, Empty):
        _begin_initial(groups, group, turn)
        return
    group.move(PreparingRebalance(), turn.now.wall)
    if group.all_joined:
        complete_join(groups, group, turn)
    else:
        _wait_for_joins(groups, group, turn, group.rebalance_timeout)


def membership_changed(groups: Groups, group: Group, turn: Turn) -> None:
    """A rebalance begins, or the one that is under way may now be complete."""
    if isinstance(group.state, PreparingRebalance):
        complete_if_all_joined(groups, group, turn)
    else:
        prepare(groups, group, turn)


def complete_if_all_joined(groups: Groups, group: Group, turn: Turn) -> None:
    """Ends early once all members have joined; a first generation waits for more members."""
    state = group.state
    if isinstance(state, PreparingRebalance) and state.initial is None and group.all_joined:
        complete_join(groups, group, turn)


def on_join_timer(groups: Groups, group: Group, turn: Turn) -> None:
    """Time is up for those who have not joined; unless this is the initial delay, and it goes on.

    It goes on for as long as members keep arriving, up to the group's rebalance timeout.
    """
    state = group.state
    assert isinstance(state, PreparingRebalance), group.id
    initial = state.initial
    if initial is None or not initial.newcomers or not initial.left:
        complete_join(groups, group, turn)
        return
    step = min(groups.settings.initial_rebalance_delay, initial.left)
    left = Millis(max(initial.left - initial.step, 0))
    state.initial = InitialDelay(step, left)
    _wait_for_joins(groups, group, turn, step)


def complete_join(groups: Groups, group: Group, turn: Turn) -> None:
    """The next generation, of those who have joined; static members may be away."""
    groups.timers.cancel(Timer(Ring.JOIN, group.id))
    for member in tuple(group.members.values()):
        if member.joining is None and member.instance_id is None:
            groups.forget_member(group, member.id)
    if group.members and not group.elect_joined_leader():
        _wait_for_joins(
            groups, group, turn, Millis(max(group.rebalance_timeout, NOBODY_JOINED_WAIT_MS))
        )
        return
    group.generation += 1
    group.unsynced.clear()
    if group.members:
        _begin_generation(groups, group, turn)
    else:
        group.protocol = None
        group.move(Empty(), turn.now.wall)
        write(group, turn, Cause.EMPTIED)


def _begin_generation(groups: Groups, group: Group, turn: Turn) -> None:
    group.protocol = group.choose_protocol()
    group.move(CompletingRebalance(), turn.now.wall)
    for member in group.members.values():
        ticket = group.end_join(member)
        if ticket is not None:
            turn.answer(ticket, answers.joined(group, member))
        member.unheard = False
        group.unsynced[member.id] = None
        groups.keep_alive(group, member, turn.now)
    deadline = turn.now.monotonic + group.rebalance_timeout
    groups.timers.set(Timer(Ring.SYNC, group.id), Millis(deadline))


def on_sync_timer(groups: Groups, group: Group, turn: Turn) -> None:
    """Members that joined, but have not collected their assignment, are given up."""
    if not group.unsynced:
        return
    for member_id in tuple(group.unsynced):
        groups.forget_member(group, member_id)
    prepare(groups, group, turn)


def collected(groups: Groups, group: Group, member_id: str) -> None:
    """The member has asked for its assignment."""
    group.unsynced.pop(member_id, None)
    if not group.unsynced:
        groups.timers.cancel(Timer(Ring.SYNC, group.id))


def on_assigned(groups: Groups, group: Group, generation: int, turn: Turn) -> None:
    """The assignments are committed: waiting SyncGroup requests are answered."""
    state = group.state
    if not isinstance(state, CompletingRebalance) or group.generation != generation:
        return  # a member came or went meanwhile
    assert state.storing is not None, group.id
    for member in group.members.values():
        member.assignment = state.storing[member.id]
    group.move(Stable(), turn.now.wall)
    for member in group.members.values():
        if member.syncing is not None:
            turn.answer(member.syncing, answers.synced(group, member))
            member.syncing = None
            groups.keep_alive(group, member, turn.now)


def on_assigning_failed(
    groups: Groups, group: Group, generation: int, failure: tuple[ErrorCode, Turn]
) -> None:
    """The assignments may not be in the log: no member gets one, and all must join again."""
    code, turn = failure
    if isinstance(group.state, CompletingRebalance) and group.generation == generation:
        slow = code is ErrorCode.REQUEST_TIMED_OUT
        told = ErrorCode.REBALANCE_IN_PROGRESS if slow else after_failed_append(code)
        _refuse_syncs(groups, group, told, turn)
        prepare(groups, group, turn)


def write(group: Group, turn: Turn, cause: Cause, replacement: Replacement | None = None) -> None:
    """The group as it is goes to the log; one record in a turn."""
    assert turn.note is None, turn.note
    storing = group.state.storing if isinstance(group.state, CompletingRebalance) else None
    turn.records.append(Entry(GroupKey(group.id), group.stored(storing)))
    turn.note = Written(cause, group.id, group.generation, replacement)


def _refuse_syncs(groups: Groups, group: Group, code: ErrorCode, turn: Turn) -> None:
    """Waiting SyncGroup requests are refused, and their members get time to join again."""
    for member in group.members.values():
        if member.syncing is not None:
            turn.answer(member.syncing, answers.sync_refused(code))
            member.syncing = None
            groups.keep_alive(group, member, turn.now)


def _begin_initial(groups: Groups, group: Group, turn: Turn) -> None:
    delay = groups.settings.initial_rebalance_delay
    left = Millis(max(group.rebalance_timeout - delay, 0))
    group.move(PreparingRebalance(InitialDelay(delay, left)), turn.now.wall)
    if delay:
        _wait_for_joins(groups, group, turn, delay)
    else:
        complete_join(groups, group, turn)


def _wait_for_joins(groups: Groups, group: Group, turn: Turn, wait: Millis) -> None:
    groups.timers.set(Timer(Ring.JOIN, group.id), Millis(turn.now.monotonic + wait))
