"""The state that all rules share: the ledger, the groups with members, timers, settings."""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from odradek.coordinator.deadlines import Deadlines
from odradek.coordinator.decision import Moment
from odradek.coordinator.groups.errors import UnknownMemberId
from odradek.coordinator.groups.group import Group, revived
from odradek.coordinator.groups.ledger import Ledger
from odradek.coordinator.groups.members import Member
from odradek.coordinator.groups.settings import GroupSettings
from odradek.coordinator.groups.states import Dead, Empty
from odradek.coordinator.groups.values import CommittedOffset, GroupKey
from odradek.coordinator.in_flight import InFlight
from odradek.model.ids import TopicId
from odradek.model.units import Millis
from odradek.ports import Random


class Ring(Enum):
    """What a timer is for."""

    SESSION = "a member was silent for too long, or did not come back with its id"
    JOIN = "no more waiting for members to join"
    SYNC = "no more waiting for members to collect their assignment"
    SWEEP = "time to look for offsets that have expired"


class Timer(NamedTuple):
    """One timer; the group and the member are empty where it is about neither."""

    ring: Ring
    group: str = ""
    member: str = ""


SWEEP: Final = Timer(Ring.SWEEP)


class Cause(Enum):
    """Why a group was written."""

    ASSIGNED = "a generation is stable once it is committed"
    REPLACED = "a static member changed hands"
    EMPTIED = "the last member has gone"
    DELETED = "an operator deleted it"


class Replacement(NamedTuple):
    """A static member changed hands: how the new holder is to be told."""

    member: str
    leader: str  # before the change
    may_skip: bool  # whether it knows that a leader can be told to assign nothing


class Written(NamedTuple):
    """What becomes of a group when its record is committed, depends on what it was written for."""

    cause: Cause
    group: str
    generation: int
    replacement: Replacement | None = None


TopicIds = Callable[[str], TopicId | None]
"""The id of the topic that has a name now, as far as this broker has heard."""


def unknown(topic: str) -> TopicId | None:
    """Of no topic the id is known."""
    del topic
    return None


class Groups:
    """Everything known of the groups of one partition.

    A group with members in the ledger lives: only a group that is empty there may have no `Group`.
    """

    __slots__ = (
        "in_flight",
        "ledger",
        "live",
        "random",
        "settings",
        "timers",
        "to_sweep",
        "topic_id",
    )

    def __init__(
        self, settings: GroupSettings, random: Random, topic_id: TopicIds = unknown
    ) -> None:
        self.settings = settings
        self.topic_id = topic_id
        self.random = random
        self.ledger = Ledger()
        self.live: dict[str, Group] = {}
        self.timers = Deadlines()
        self.in_flight = InFlight()
        self.to_sweep: list[str] = []  # groups in which expired offsets are still to be looked for

    def exists(self, group_id: str) -> bool:
        """Whether there is such a group, alive or on paper."""
        return group_id in self.live or self.ledger.knows(group_id)

    def is_of_earlier_topic(self, topic: str, committed: CommittedOffset) -> bool:
        """Whether it was committed in another topic of this name, which was deleted since.

        A topic that is not known may be one that cannot be read: what is committed in it stays.
        """
        known = self.topic_id(topic)
        return None not in {known, committed.topic_id} and known != committed.topic_id

    def revive(self, group_id: str) -> Group:
        """The group as it lives; if it does not, it begins to with what was written of it."""
        group = self.live.get(group_id)
        if group is None:
            group = revived(group_id, self.ledger.groups.get(group_id))
            self.live[group_id] = group
        return group

    def member(
        self, group_id: str, member_id: str, instance_id: str | None
    ) -> tuple[Group, Member]:
        """The member that asks, or an error that says why none with that id may."""
        group = self.live.get(group_id)
        if group is None:
            raise UnknownMemberId
        return group, group.identify(member_id, instance_id)

    def lay_to_rest(self, group: Group) -> None:
        """Drops the state in memory of a group without members that is stored as it is."""
        if not isinstance(group.state, Empty) or group.pending or group.members:
            return
        stored = self.ledger.groups.get(group.id)
        if GroupKey(group.id) in self.in_flight or (stored is not None and stored.members):
            return
        group.state = Dead()
        del self.live[group.id]

    def keep_alive(self, group: Group, member: Member, now: Moment) -> None:
        """The member was heard of: its session begins anew."""
        timer = Timer(Ring.SESSION, group.id, member.id)
        self.timers.set(timer, Millis(now.monotonic + member.session_timeout))

    def forget_member(self, group: Group, member_id: str) -> None:
        """The member, or who was to become one, is gone, and so is its timer."""
        group.remove(member_id)
        self.timers.cancel(Timer(Ring.SESSION, group.id, member_id))
