"""Heartbeat and LeaveGroup, and the silence of those who send neither."""

from typing import assert_never

from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.groups import answers
from odradek.coordinator.groups.errors import (
    IllegalGeneration,
    InvalidGroupId,
    RebalanceInProgress,
    UnknownMemberId,
)
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Groups, Timer
from odradek.coordinator.groups.members import Member
from odradek.coordinator.groups.states import (
    CompletingRebalance,
    Dead,
    Empty,
    PreparingRebalance,
    Stable,
)
from odradek.coordinator.groups.steps.rebalance import complete_if_all_joined, membership_changed
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

SEVERAL_SINCE = 3  # before, LeaveGroup is about one member, and answers with one code


def heartbeat(groups: Groups, call: Call, turn: Turn) -> None:
    """The member lives; the answer may send it to join again."""
    request: HeartbeatRequest = call.request
    if not request.group_id:
        raise InvalidGroupId
    group, member = groups.member(request.group_id, request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGeneration
    groups.keep_alive(group, member, turn.now)
    match group.state:
        case PreparingRebalance():
            raise RebalanceInProgress
        case CompletingRebalance() | Stable():
            turn.answer(call.ticket, HeartbeatResponse())
        case Empty() | Dead():
            raise AssertionError(group.id)  # it has no members, and one has been found
        case never:
            assert_never(never)


def leave(groups: Groups, call: Call, turn: Turn) -> None:
    """Members go, by themselves or by an operator's hand, who may name static ones alone."""
    request: LeaveGroupRequest = call.request
    if not request.group_id:
        raise InvalidGroupId
    several = call.version >= SEVERAL_SINCE
    leavers = request.members if several else [MemberIdentity(request.member_id)]
    group = groups.live.get(request.group_id)
    before = 0 if group is None else len(group.members)
    responses = [_leave_one(groups, group, one, turn) for one in leavers]
    if several:
        turn.answer(call.ticket, LeaveGroupResponse(members=responses))
    else:
        turn.answer(call.ticket, LeaveGroupResponse(error_code=responses[0].error_code))
    if group is not None and any(not response.error_code for response in responses):
        _after_departure(groups, group, turn, pending_only=len(group.members) == before)


def on_silence(groups: Groups, timer: Timer, turn: Turn) -> None:
    """A session has run out. Who waits for an answer is alive, unless it is new: it might be gone.

    We do not hear of a connection that closed while its request waits.
    """
    group = groups.live.get(timer.group)
    if group is None:
        return
    member = group.members.get(timer.member)
    if member is not None:
        waits = member.joining is not None or member.syncing is not None
        if waits and not member.unheard:
            return
        _refuse(group, member, turn)
    group.remove(timer.member)
    _after_departure(groups, group, turn, pending_only=member is None)


def _leave_one(
    groups: Groups, group: Group | None, leaver: MemberIdentity, turn: Turn
) -> MemberResponse:
    try:
        if group is None:
            raise UnknownMemberId
        _depart(groups, group, leaver, turn)
    except BrokerError as error:
        code = error.code
    else:
        code = ErrorCode.NONE
    return MemberResponse(leaver.member_id, leaver.group_instance_id, code)


def _depart(groups: Groups, group: Group, leaver: MemberIdentity, turn: Turn) -> None:
    member_id = leaver.member_id
    if not member_id:
        member_id = group.static.get(leaver.group_instance_id or "", "")
    if member_id not in group.pending:
        _refuse(group, group.identify(member_id, leaver.group_instance_id), turn)
    groups.forget_member(group, member_id)


def _after_departure(groups: Groups, group: Group, turn: Turn, *, pending_only: bool) -> None:
    match group.state:
        case Stable() | CompletingRebalance() if not pending_only:
            membership_changed(groups, group, turn)
        case PreparingRebalance():
            complete_if_all_joined(groups, group, turn)
        case _:
            groups.lay_to_rest(group)


def _refuse(group: Group, member: Member, turn: Turn) -> None:
    """A member that is removed is told so, if it waits: one that still lives joins anew."""
    joining, syncing = group.end_join(member), member.syncing
    if joining is not None:
        turn.answer(joining, answers.join_refused(ErrorCode.UNKNOWN_MEMBER_ID))
    if syncing is not None:
        turn.answer(syncing, answers.sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
        member.syncing = None
