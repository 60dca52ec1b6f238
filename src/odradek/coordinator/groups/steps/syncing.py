"""SyncGroup: the leader brings what everybody gets, everybody else asks for it.

The leader's assignment is opaque to the coordinator: bytes for each member. Who is not a member
is passed over, who was forgotten gets nothing.
"""

from typing import assert_never

from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.groups import answers
from odradek.coordinator.groups.errors import (
    IllegalGeneration,
    InconsistentGroupProtocol,
    InvalidGroupId,
    RebalanceInProgress,
)
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Cause, Groups
from odradek.coordinator.groups.members import Member
from odradek.coordinator.groups.states import (
    CompletingRebalance,
    Dead,
    Empty,
    PreparingRebalance,
    Stable,
)
from odradek.coordinator.groups.steps.rebalance import collected, write
from odradek.model.errors import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupRequest


def sync(groups: Groups, call: Call, turn: Turn) -> None:
    """The member's assignment, now or when it is committed."""
    request: SyncGroupRequest = call.request
    if not request.group_id:
        raise InvalidGroupId
    group, member = groups.member(request.group_id, request.member_id, request.group_instance_id)
    _check(group, request)
    match group.state:
        case PreparingRebalance():
            raise RebalanceInProgress
        case CompletingRebalance() as state:
            _await(groups, group, member, (call, turn))
            if group.leader == member.id and state.storing is None:
                state.storing = _assignments(group, request)
                write(group, turn, Cause.ASSIGNED)
        case Stable():
            collected(groups, group, member.id)
            groups.keep_alive(group, member, turn.now)
            turn.answer(call.ticket, answers.synced(group, member))
        case Empty() | Dead():
            raise AssertionError(group.id)  # it has no members, and one has been found
        case never:
            assert_never(never)


def _check(group: Group, request: SyncGroupRequest) -> None:
    if request.generation_id != group.generation:
        raise IllegalGeneration
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        raise InconsistentGroupProtocol
    if request.protocol_name not in {None, group.protocol} and group.protocol is not None:
        raise InconsistentGroupProtocol


def _await(groups: Groups, group: Group, member: Member, asks: tuple[Call, Turn]) -> None:
    call, turn = asks
    if member.syncing is not None:  # on a connection that it has given up
        turn.answer(member.syncing, answers.sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
    member.syncing = call.ticket
    collected(groups, group, member.id)


def _assignments(group: Group, request: SyncGroupRequest) -> dict[str, bytes]:
    given = {
        one.member_id: bytes(one.assignment)
        for one in request.assignments
        if one.member_id in group.members
    }
    return {member_id: given.get(member_id, b"") for member_id in group.members}
