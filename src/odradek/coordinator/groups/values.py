"""What the records of `__consumer_offsets` say: the nouns of hard state."""

from dataclasses import dataclass
from typing import NamedTuple

from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis, Timestamp


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group's membership."""

    subject: str


@dataclass(frozen=True, slots=True)
class OffsetKey:
    """A group's position in one partition."""

    subject: str
    partition: TopicPartition


class StoredMember(NamedTuple):
    """A member of a generation that became stable."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: Millis
    session_timeout: Millis
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """The last generation that became stable, or that had no members."""

    protocol_type: str
    generation: int
    protocol: str | None  # None: no members
    leader: str | None
    since: Timestamp | None  # when it came into its state; None in records of long ago
    members: tuple[StoredMember, ...]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A position, with the note that the consumer left beside it."""

    offset: Offset
    leader_epoch: LeaderEpoch | None
    metadata: str
    committed_at: Timestamp
    expires_at: Timestamp | None = None  # as old clients ask for; else by the broker's rule
    topic_id: TopicId | None = None  # of the topic that had the name; None: it is not known
