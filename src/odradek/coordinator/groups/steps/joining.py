"""JoinGroup: who may come in, under which id, and whether the group must rebalance for it.

A new dynamic member is first given an id and asked to come back with it (v4, KIP-394): otherwise
every retry of a client that lost the answer would leave a member behind without a client. A new
static member is known by its name, and takes the place of the one that had it.
"""

from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.errors import CoordinatorBusy, after_failed_append
from odradek.coordinator.groups import answers
from odradek.coordinator.groups.errors import (
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    UnknownMemberId,
)
from odradek.coordinator.groups.group import Group
from odradek.coordinator.groups.groups import Cause, Groups, Replacement, Ring, Timer
from odradek.coordinator.groups.members import Member, Protocol, bytes_kept
from odradek.coordinator.groups.settings import (
    CLIENT_ID_KEPT_CHARS,
    GROUP_BYTES_MAX,
    LIVE_GROUPS_MAX,
    NEW_MEMBER_TIMEOUT_MS,
    PENDING_MEMBERS_MAX,
)
from odradek.coordinator.groups.states import (
    CompletingRebalance,
    Empty,
    PreparingRebalance,
    Stable,
)
from odradek.coordinator.groups.steps.rebalance import (
    complete_if_all_joined,
    membership_changed,
    prepare,
    write,
)
from odradek.coordinator.groups.subscription import topics_of
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Millis
from odradek.wire.messages.join_group import JoinGroupRequest

MEMBER_ID_REQUIRED_SINCE = 4
SKIP_ASSIGNMENT_SINCE = 9


def join(groups: Groups, call: Call, turn: Turn) -> None:
    """Checks what can be checked without the group, then lets the member in or refuses it."""
    request: JoinGroupRequest = call.request
    settings = groups.settings
    if not request.group_id:
        raise InvalidGroupId
    if (
        not settings.session_timeout_min
        <= request.session_timeout_ms
        <= (settings.session_timeout_max)
    ):
        raise InvalidSessionTimeout
    if request.member_id and request.group_id not in groups.live:
        raise UnknownMemberId
    if request.group_id not in groups.live and len(groups.live) >= LIVE_GROUPS_MAX:
        raise CoordinatorBusy
    protocols = _protocols(request)
    group = groups.revive(request.group_id)
    member = group.members.get(request.member_id)
    try:
        if not _has_room(groups, group, member):
            _turn_away(groups, group, call, turn)
        else:
            _check(group, member, request, protocols)
            come = _join_again if request.member_id else _join_new
            come(groups, group, call, (protocols, turn))
    except BrokerError:
        groups.lay_to_rest(group)
        raise
    complete_if_all_joined(groups, group, turn)
    groups.lay_to_rest(group)


def _turn_away(groups: Groups, group: Group, call: Call, turn: Turn) -> None:
    """The group is full. A member that comes too late, for it was made smaller, is none now."""
    groups.forget_member(group, call.request.member_id)
    turn.answer(call.ticket, answers.join_refused(GroupMaxSizeReached.code))


def _check(
    group: Group, member: Member | None, request: JoinGroupRequest, offered: tuple[Protocol, ...]
) -> None:
    before = 0 if member is None else bytes_kept(member.protocols)
    if group.bytes_kept - before + bytes_kept(offered) > GROUP_BYTES_MAX:
        raise GroupMaxSizeReached
    if not group.supports(request.protocol_type, offered):
        raise InconsistentGroupProtocol


def _has_room(groups: Groups, group: Group, member: Member | None) -> bool:
    """During a rebalance those count who have joined: the last to come are left out."""
    match group.state:
        case Empty():
            return True
        case PreparingRebalance():
            waits = member is not None and member.joining is not None
            return waits or group.joined < groups.settings.members_max
        case _:
            return member is not None or len(group.members) < groups.settings.members_max


Offer = tuple[tuple[Protocol, ...], Turn]


def _join_new(groups: Groups, group: Group, call: Call, offer: Offer) -> None:
    request: JoinGroupRequest = call.request
    instance_id = request.group_instance_id
    if instance_id is not None:
        member_id = _new_member_id(groups, instance_id)
        holder = group.static.get(instance_id)
        if holder is None:
            _add(groups, group, call, (member_id, offer))
        else:
            _replace(groups, group, call, (group.members[holder], member_id, offer))
        return
    member_id = _new_member_id(groups, call.caller.client_id)
    if call.version < MEMBER_ID_REQUIRED_SINCE:
        _add(groups, group, call, (member_id, offer))
        return
    if len(group.pending) >= PENDING_MEMBERS_MAX:
        raise GroupMaxSizeReached
    _, turn = offer
    group.pending[member_id] = None
    deadline = turn.now.monotonic + request.session_timeout_ms
    groups.timers.set(Timer(Ring.SESSION, group.id, member_id), Millis(deadline))
    turn.answer(call.ticket, answers.join_refused(ErrorCode.MEMBER_ID_REQUIRED, member_id))


def _join_again(groups: Groups, group: Group, call: Call, offer: Offer) -> None:
    request: JoinGroupRequest = call.request
    protocols, turn = offer
    if request.member_id in group.pending and request.group_instance_id is None:
        _add(groups, group, call, (request.member_id, offer))
        return
    member = group.identify(request.member_id, request.group_instance_id)
    unchanged = member.protocols == protocols
    match group.state:
        case CompletingRebalance() if unchanged:
            settled = True  # it has lost the answer
        case Stable() if unchanged and group.leader != member.id:
            settled = True  # the leader alone may ask for a rebalance without saying why
        case _:
            settled = False
    if settled:
        groups.keep_alive(group, member, turn.now)
        turn.answer(call.ticket, answers.joined(group, member))
        return
    _update(group, member, call, offer)
    membership_changed(groups, group, turn)


def _add(groups: Groups, group: Group, call: Call, entrant: tuple[str, Offer]) -> None:
    request: JoinGroupRequest = call.request
    member_id, (protocols, turn) = entrant
    if not group.members:
        group.protocol_type = request.protocol_type
    member = Member(
        member_id,
        request.group_instance_id,
        call.caller,
        _rebalance_timeout(request),
        Millis(request.session_timeout_ms),
        protocols,
        unheard=True,
    )
    group.add(member)
    group.await_join(member, call.ticket)
    if isinstance(group.state, PreparingRebalance) and group.state.initial is not None:
        group.state.initial.newcomers = True
    deadline = turn.now.monotonic + NEW_MEMBER_TIMEOUT_MS
    groups.timers.set(Timer(Ring.SESSION, group.id, member_id), Millis(deadline))
    membership_changed(groups, group, turn)


def _update(group: Group, member: Member, call: Call, offer: Offer) -> None:
    """The member waits for the next generation, with what it says now."""
    request: JoinGroupRequest = call.request
    protocols, turn = offer
    group.update(member, protocols)
    member.rebalance_timeout = _rebalance_timeout(request)
    member.session_timeout = Millis(request.session_timeout_ms)
    earlier = group.end_join(member)
    if earlier is not None:  # on a connection that it has given up
        turn.answer(earlier, answers.join_refused(ErrorCode.REBALANCE_IN_PROGRESS, member.id))
    group.await_join(member, call.ticket)


def _replace(groups: Groups, group: Group, call: Call, entrant: tuple[Member, str, Offer]) -> None:
    """A process comes under the name of another, which is fenced from now on.

    In a stable group nothing else changes if the group would choose the same protocol, and the
    topics are the same: the newcomer goes on with the assignment that it finds.
    """
    member, new_id, offer = entrant
    protocols, turn = offer
    _fence(group, member, turn)
    groups.timers.cancel(Timer(Ring.SESSION, group.id, member.id))
    before, leader = topics_of(member.metadata(group.protocol)), group.leader or ""
    group.replace(member, new_id, call.caller)
    _update(group, member, call, (protocols, turn))
    groups.keep_alive(group, member, turn.now)
    if not isinstance(group.state, Stable):
        if isinstance(group.state, CompletingRebalance):
            prepare(groups, group, turn)  # the leader is about to assign to the id before
        return
    same_topics = topics_of(member.metadata(group.protocol)) == before
    if group.choose_protocol() == group.protocol and same_topics:
        how = Replacement(member.id, leader, call.version >= SKIP_ASSIGNMENT_SINCE)
        write(group, turn, Cause.REPLACED, how)
    else:
        prepare(groups, group, turn)


def _fence(group: Group, member: Member, turn: Turn) -> None:
    """Tells a process that waits for an answer that another has taken its place."""
    joining, syncing = group.end_join(member), member.syncing
    if joining is not None:
        turn.answer(joining, answers.join_refused(ErrorCode.FENCED_INSTANCE_ID, member.id))
    if syncing is not None:
        turn.answer(syncing, answers.sync_refused(ErrorCode.FENCED_INSTANCE_ID))
        member.syncing = None


def on_replaced(groups: Groups, group: Group, how: Replacement, turn: Turn) -> None:
    """The new holder of a static name is committed: it goes on where the one before stopped.

    If the group rebalances meanwhile, it has joined already, and is answered with the others.
    """
    member = group.members.get(how.member)
    if member is None or member.joining is None or not isinstance(group.state, Stable):
        return
    leads, ticket = group.leader == member.id, group.end_join(member)
    assert ticket is not None, member
    groups.keep_alive(group, member, turn.now)
    if how.may_skip:
        turn.answer(ticket, answers.joined(group, member, skip_assignment=leads))
    else:  # it cannot be told to assign nothing, so it hears that the one before leads
        turn.answer(ticket, answers.joined(group, member, leader=how.leader))


def on_replacing_failed(
    groups: Groups, group: Group, how: Replacement, failure: tuple[ErrorCode, Turn]
) -> None:
    """The new holder must try again; who held the name before stays fenced."""
    code, turn = failure
    member = group.members.get(how.member)
    if member is None or member.joining is None or not isinstance(group.state, Stable):
        return
    ticket = group.end_join(member)
    assert ticket is not None, member
    groups.keep_alive(group, member, turn.now)
    turn.answer(ticket, answers.join_refused(after_failed_append(code)))


def _protocols(request: JoinGroupRequest) -> tuple[Protocol, ...]:
    """What the member knows, each once; bytes of our own, for the frame is let go."""
    found: dict[str, bytes] = {}
    for protocol in request.protocols:
        found.setdefault(protocol.name, bytes(protocol.metadata))
    return tuple(Protocol(name, metadata) for name, metadata in found.items())


def _rebalance_timeout(request: JoinGroupRequest) -> Millis:
    """Version 0 has none: there it is the session timeout."""
    if request.rebalance_timeout_ms < 0:
        return Millis(request.session_timeout_ms)
    return Millis(request.rebalance_timeout_ms)


def _new_member_id(groups: Groups, prefix: str) -> str:
    """As Kafka's: who it is, and 128 random bits in the form of a UUID of version 4."""
    data = bytearray(groups.random.bytes(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    parts = (text[:8], text[8:12], text[12:16], text[16:20], text[20:])
    return "-".join((prefix[:CLIENT_ID_KEPT_CHARS], *parts))
