"""What operators ask of groups: ListGroups, DescribeGroups, DeleteGroups."""

from collections.abc import Collection, Iterator

from odradek.coordinator.decision import Call, Entry, Turn
from odradek.coordinator.groups.errors import GroupIdNotFound, NonEmptyGroup
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Cause, Groups, Ring, Timer, Written
from odradek.coordinator.groups.requests import DeleteGroup, DescribeGroup
from odradek.coordinator.groups.states import Dead, Empty, Stable
from odradek.coordinator.groups.steps.commits import keys_of
from odradek.coordinator.groups.values import GroupKey
from odradek.model.errors import TEXT_CHARACTERS_MAX, ErrorCode
from odradek.wire.messages.delete_groups import DeletableGroupResult
from odradek.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from odradek.wire.messages.list_groups import ListedGroup

GROUP_TYPE = "Classic"
NOT_FOUND_SINCE = 6  # DescribeGroups (KIP-1043); before, a group that does not exist is dead


def list_groups(
    groups: Groups, states: Collection[str] = (), types: Collection[str] = ()
) -> Iterator[ListedGroup]:
    """All groups, or those in one of these states and of one of these types, in whatever case."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {kind.strip().lower() for kind in types}
    if wanted_types and GROUP_TYPE.lower() not in wanted_types:
        return
    ledger = groups.ledger
    for group_id in dict.fromkeys((*groups.live, *ledger.names())):
        group, stored = groups.live.get(group_id), ledger.groups.get(group_id)
        state = Empty.name if group is None else group.state.name
        if wanted_states and state.lower() not in wanted_states:
            continue
        kind = group.protocol_type if group else stored.protocol_type if stored else ""
        yield ListedGroup(group_id, kind, state, GROUP_TYPE)


def describe(groups: Groups, call: Call, turn: Turn) -> None:
    """Who is in the group; what they said and got is shown while it is stable."""
    request: DescribeGroup = call.request
    group, stored = (
        groups.live.get(request.group_id),
        groups.ledger.groups.get(request.group_id),
    )
    described = DescribedGroup(group_id=request.group_id)
    if group is not None:
        _describe(group, described)
    elif groups.exists(request.group_id):
        described.group_state = Empty.name
        described.protocol_type = "" if stored is None else stored.protocol_type
    else:
        described.group_state = Dead.name
        if call.version >= NOT_FOUND_SINCE:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            text = f"group {request.group_id!r} does not exist"
            described.error_message = text[:TEXT_CHARACTERS_MAX]
    turn.answer(call.ticket, described)


def _describe(group: Group, described: DescribedGroup) -> None:
    stable = isinstance(group.state, Stable)
    described.group_state = group.state.name
    described.protocol_type = group.protocol_type
    described.protocol_data = (group.protocol or "") if stable else ""
    described.members = [
        DescribedGroupMember(
            member.id,
            member.instance_id,
            member.caller.client_id,
            member.caller.host,
            member.metadata(group.protocol) if stable else b"",
            member.assignment if stable else b"",
        )
        for member in group.members.values()
    ]


def delete(groups: Groups, call: Call, turn: Turn) -> None:
    """A group without members is forgotten, with all its offsets."""
    request: DeleteGroup = call.request
    group_id, group = request.group_id, groups.live.get(request.group_id)
    moving = groups.in_flight.keys(group_id)
    if not groups.exists(group_id) and not moving:
        raise GroupIdNotFound
    if group is not None and not isinstance(group.state, Empty):
        raise NonEmptyGroup
    turn.records.extend(Entry(key, None) for key in keys_of(groups, group_id))
    if group_id in groups.ledger.groups or GroupKey(group_id) in moving:
        turn.records.append(Entry(GroupKey(group_id), None))
    turn.answer(call.ticket, DeletableGroupResult(group_id))
    if group is not None:
        _drop_pending(groups, group)
        if turn.records:
            turn.note = Written(Cause.DELETED, group_id, group.generation)
        else:
            groups.lay_to_rest(group)


def _drop_pending(groups: Groups, group: Group) -> None:
    """Who was given an id and comes back with it, will have to ask for another."""
    for member_id in group.pending:
        groups.timers.cancel(Timer(Ring.SESSION, group.id, member_id))
    group.pending.clear()
