"""A living group: who is in it, and what its members can agree on. Soft state, no rules of time.

Invariants: `votes[p]` members know protocol `p`. Every static name maps to a member. A group with
members has a leader, who is one of them. Only members are owed assignments (`unsynced`).
`joined` members have a ticket in `joining`; both counts are kept, for groups may be large.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from odradek.coordinator.decision import Caller, Ticket
from odradek.coordinator.groups.errors import FencedInstanceId, UnknownMemberId
from odradek.coordinator.groups.members import Member, Protocol, bytes_kept
from odradek.coordinator.groups.states import PREDECESSORS, Empty, Stable, State
from odradek.coordinator.groups.subscription import CONSUMER, topics_of_all
from odradek.coordinator.groups.values import StoredGroup, StoredMember
from odradek.model.units import Millis, Timestamp


class Group:
    """Members and generations of one group, while there are any."""

    __slots__ = (
        "bytes_kept",
        "generation",
        "id",
        "joined",
        "leader",
        "members",
        "pending",
        "protocol",
        "protocol_type",
        "since",
        "state",
        "static",
        "unsynced",
        "votes",
    )

    def __init__(self, group_id: str) -> None:
        self.id = group_id
        self.state: State = Empty()
        self.since: Timestamp | None = None  # when it came into its state
        self.generation = 0
        self.protocol_type = ""
        self.protocol: str | None = None  # of the current generation
        self.leader: str | None = None
        self.members: dict[str, Member] = {}  # as they came
        self.static: dict[str, str] = {}  # the member under each group instance id
        self.pending: dict[str, None] = {}  # ids that were given out and not come back yet
        self.unsynced: dict[str, None] = {}  # members that have not asked for their assignment
        self.votes: Counter[str] = Counter()
        self.joined = 0
        self.bytes_kept = 0

    def move(self, state: State, now: Timestamp) -> None:
        """Into the next state, if the table allows it."""
        assert type(self.state) in PREDECESSORS[type(state)], (self.id, self.state, state)
        self.state = state
        self.since = now

    # -- members ----------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """A member more; the first becomes the leader."""
        assert member.id not in self.members, member
        self.members[member.id] = member
        self._count_votes(member)
        if member.instance_id is not None:
            assert member.instance_id not in self.static, member
            self.static[member.instance_id] = member.id
        if self.leader is None:
            self.leader = member.id
        self.pending.pop(member.id, None)

    def remove(self, member_id: str) -> None:
        """A member or a pending one less; another becomes the leader if it was."""
        self.pending.pop(member_id, None)
        self.unsynced.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        assert member.joining is None, "a JoinGroup request still waits for its answer"
        assert member.syncing is None, "likewise"
        self._take_votes(member)
        if member.instance_id is not None:
            del self.static[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def update(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        """The member knows other protocols, or says other things under them."""
        self._take_votes(member)
        member.protocols = protocols
        self._count_votes(member)

    def replace(self, member: Member, new_id: str, caller: Caller) -> None:
        """Gives a static member another id: another process has come under its name."""
        assert member.instance_id is not None, member
        was_leader, was_unsynced = self.leader == member.id, member.id in self.unsynced
        self.remove(member.id)
        member.id, member.caller = new_id, caller
        self.add(member)
        if was_leader:
            self.leader = new_id
        if was_unsynced:
            self.unsynced[new_id] = None

    def identify(self, member_id: str, instance_id: str | None) -> Member:
        """The member that speaks; refused if it is none, or another goes under its name."""
        if instance_id is not None:
            holder = self.static.get(instance_id)
            if holder is None:
                raise UnknownMemberId
            if holder != member_id:
                raise FencedInstanceId
        member = self.members.get(member_id)
        if member is None:
            raise UnknownMemberId
        return member

    def await_join(self, member: Member, ticket: Ticket) -> None:
        """The member has joined, and waits for the others."""
        assert member.joining is None, member
        member.joining = ticket
        self.joined += 1

    def end_join(self, member: Member) -> Ticket | None:
        """Whom to answer, if the member waited; from now on it does not."""
        ticket, member.joining = member.joining, None
        self.joined -= ticket is not None
        return ticket

    def _count_votes(self, member: Member) -> None:
        self.votes.update(protocol.name for protocol in member.protocols)
        self.bytes_kept += bytes_kept(member.protocols)

    def _take_votes(self, member: Member) -> None:
        self.bytes_kept -= bytes_kept(member.protocols)
        for protocol in member.protocols:
            self.votes[protocol.name] -= 1
            if not self.votes[protocol.name]:
                del self.votes[protocol.name]

    # -- what they agree on -----------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Collection[Protocol]) -> bool:
        """Whether a member of this kind could agree with all the others."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        return self.protocol_type == protocol_type and any(
            self.votes[protocol.name] == len(self.members) for protocol in protocols
        )

    def choose_protocol(self) -> str:
        """What most members like best, among what all of them know; of two, the first named."""
        known_to_all = [name for name, votes in self.votes.items() if votes == len(self.members)]
        votes = Counter(member.vote(known_to_all) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def topics(self) -> frozenset[str] | None:
        """What its consumers subscribe to; None if that cannot be told."""
        if self.protocol_type != CONSUMER:
            return None
        return topics_of_all(member.metadata(self.protocol) for member in self.members.values())

    # -- who is there -----------------------------------------------------------------------------

    @property
    def all_joined(self) -> bool:
        """Whether all have joined: every member, and every client that was given a member id."""
        return self.joined == len(self.members) and not self.pending

    @property
    def rebalance_timeout(self) -> Millis:
        """The slowest member's."""
        return max(
            (member.rebalance_timeout for member in self.members.values()), default=Millis(0)
        )

    def elect_joined_leader(self) -> bool:
        """Makes one who has joined the leader, rather the old one; False if none has."""
        assert self.leader is not None, self.id
        if self.members[self.leader].joining is not None:
            return True
        first = next((one for one in self.members.values() if one.joining is not None), None)
        if first is not None:
            self.leader = first.id
        return first is not None

    # -- hard state -------------------------------------------------------------------------------

    def stored(self, assignments: Mapping[str, bytes] | None = None) -> StoredGroup:
        """What is written of it: with these assignments, or with those that members have."""
        members = tuple(
            StoredMember(
                member.id,
                member.instance_id,
                *member.caller,
                member.rebalance_timeout,
                member.session_timeout,
                member.metadata(self.protocol),
                member.assignment if assignments is None else assignments[member.id],
            )
            for member in self.members.values()
        )
        return StoredGroup(
            self.protocol_type, self.generation, self.protocol, self.leader, self.since, members
        )


def revived(group_id: str, stored: StoredGroup | None) -> Group:
    """A group as it was written: stable if it had members."""
    group = Group(group_id)
    if stored is None:
        return group
    group.generation, group.protocol_type = stored.generation, stored.protocol_type
    group.since = stored.since
    for member in stored.members:
        protocols = (Protocol(stored.protocol or "", member.subscription),)
        caller = Caller(member.client_id, member.client_host)
        timeouts = member.rebalance_timeout, member.session_timeout
        group.add(
            Member(member.id, member.instance_id, caller, *timeouts, protocols, member.assignment)
        )
    if group.members:
        group.protocol, group.state = stored.protocol, Stable()
        if stored.leader in group.members:
            group.leader = stored.leader
    return group
