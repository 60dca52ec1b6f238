"""What this broker hosts of each partition, and what the controller's requests make of it.

One table has an entry for each partition: Starting while its log is made or its leader epoch is
written, then Leading or Following; Offline once its log dir has failed. The controller's requests
change it by two pure decisions, which are fenced by leader epoch and partition epoch: a request
that was overtaken by a later one changes nothing (replication facts: KIP-320, KIP-380, KIP-570).

Taking a role and having its epoch on the disk are two moments: an entry is Starting in between,
serves no request, and may be replaced by a newer request without waiting for the disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from odradek.broker.partitions.replicas.following_replica import FollowingReplica
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch
from odradek.replication.errors import NotLeaderOrFollower
from odradek.replication.leadership import Leadership
from odradek.storage.errors import LogDirOffline

EPOCH_DURING_DELETION: Final = LeaderEpoch(-2)
"""StopReplica names it for a topic that is being deleted: it is newer than every other."""


class UnknownPartition(BrokerError):
    """No topic or partition of this name is known here."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class LeaderAndIsrState(NamedTuple):
    """What a LeaderAndIsr request says of one partition."""

    partition: TopicPartition
    topic_id: TopicId
    leader: BrokerId | None
    leadership: Leadership
    is_new: bool = False  # it never had a log anywhere, so none can be missing
    must_be_whole: bool = False  # a leader whose log lost records refuses: others may have them
    removing: tuple[BrokerId, ...] = ()  # they shall go


class StopState(NamedTuple):
    """What a StopReplica request says of one partition."""

    leader_epoch: LeaderEpoch
    delete: bool
    topic_id: TopicId = NO_TOPIC_ID  # Kafka's controllers do not say
    aside: bool = False  # it goes out of the way, and stays on the disk: to be kept


@dataclass(frozen=True, slots=True)
class Starting:
    """The state was accepted; its log is being made, or its leader epoch written."""

    state: LeaderAndIsrState


@dataclass(frozen=True, slots=True)
class Leading:
    """This broker is the leader."""

    state: LeaderAndIsrState
    replica: LeadingReplica


@dataclass(frozen=True, slots=True)
class Following:
    """Another broker is the leader, or none is."""

    state: LeaderAndIsrState
    replica: FollowingReplica


@dataclass(frozen=True, slots=True)
class Offline:
    """The log is in a log dir that has failed, or may be."""

    state: LeaderAndIsrState
    is_lost: bool = False  # no disk has the log, and the next request makes it
    had_log: bool = False  # which was lost, even if a controller takes the replica for a new one


@dataclass(frozen=True, slots=True)
class Stopped:
    """No role: this broker shuts down, or its log lost records, and so it does not lead."""

    state: LeaderAndIsrState
    has_refused: bool = False  # this state, whichever controller asks for it


Hosted = Starting | Leading | Following | Offline | Stopped


class Role(Enum):
    """What a LeaderAndIsr state asks for, once it is accepted."""

    LEAD = "begin to lead, or lead in another epoch"
    LEAD_ON = "lead in the same epoch, with another ISR"
    FOLLOW = "begin to follow, or follow in another epoch"


def decide_role(hosted: Hosted | None, state: LeaderAndIsrState, me: BrokerId) -> Role | ErrorCode:
    """What becomes of one state of a LeaderAndIsr request, or why it is refused.

    A failed dir is told before any epoch is compared: a controller that repeats the current epoch
    learns in this way which replicas are offline, and likewise who has refused to lead: the answer
    may have reached a controller that is one no more.
    """
    if isinstance(hosted, Offline):
        if not hosted.is_lost:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if state.leadership.leader_epoch >= hosted.state.leadership.leader_epoch:
            hosted = None
    if me not in state.leadership.replicas:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    role = Role.LEAD if state.leader == me else Role.FOLLOW
    if hosted is None:
        return role
    if is_of_another_topic(hosted.state.topic_id, state.topic_id):
        return ErrorCode.INCONSISTENT_TOPIC_ID
    known, asked = hosted.state.leadership, state.leadership
    if asked.leader_epoch > known.leader_epoch:
        return role
    if isinstance(hosted, Stopped) and hosted.has_refused and asked[:2] >= known[:2]:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    is_newer = asked[:2] > known[:2]
    if is_newer and isinstance(hosted, Leading | Starting) and role is Role.LEAD:
        return Role.LEAD_ON
    return ErrorCode.STALE_CONTROLLER_EPOCH


def decide_stop(hosted: Hosted | None, leader_epoch: LeaderEpoch) -> ErrorCode | None:
    """Why a StopReplica of this epoch is refused; None if it is obeyed.

    A request that names no epoch, as old controllers send it, is obeyed.
    """
    if isinstance(hosted, Offline) and not hosted.is_lost:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if hosted is None or leader_epoch in {EPOCH_DURING_DELETION, NO_LEADER_EPOCH}:
        return None
    if leader_epoch < hosted.state.leadership.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return None


def is_of_another_topic(known: TopicId, asked: TopicId) -> bool:
    """Whether both are known, and differ: the name was given to another topic since."""
    return NO_TOPIC_ID not in {known, asked} and known != asked


def not_led(partition: TopicPartition, hosted: Hosted | None, *, exists: bool) -> BrokerError:
    """Why this broker does not serve as the leader of a partition.

    What exists, as far as this broker was told, is led by another broker, or its state is still on
    the way to this one: a client then looks for the leader, where it gives up what is unknown.
    """
    match hosted:
        case None if exists:
            return NotLeaderOrFollower(f"{partition} is not hosted here")
        case None:
            return UnknownPartition(f"{partition} is not known here")
        case Offline():
            return LogDirOffline(f"{partition} is in a log dir that is offline")
        case Starting():
            return NotLeaderOrFollower(f"{partition} is not ready yet")
        case _:
            return NotLeaderOrFollower(f"{partition} is led by broker {hosted.state.leader}")


class HostedPartitions:
    """The table. `leading` finds the entry of a produce request by what the request has."""

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, Hosted] = {}
        self._leading: dict[tuple[bytes, int], LeadingReplica] = {}
        self._led: dict[TopicPartition, LeadingReplica] = {}
        self.led = self._led.get
        """The replica, if this broker leads."""
        self.leading = self._leading.get
        """Likewise, by number and name, as bytes that may be wrong."""

    def __getitem__(self, partition: TopicPartition) -> Hosted | None:
        """The entry, if there is one."""
        return self._by_partition.get(partition)

    def __setitem__(self, partition: TopicPartition, hosted: Hosted) -> None:
        """Replaces the entry."""
        self._by_partition[partition] = hosted
        name = (partition.topic.encode(), partition.partition)
        if isinstance(hosted, Leading):
            self._leading[name] = self._led[partition] = hosted.replica
        else:
            self._leading.pop(name, None)
            self._led.pop(partition, None)

    def __iter__(self) -> Iterator[TopicPartition]:
        """Every partition that has an entry."""
        return iter(tuple(self._by_partition))

    def pop(self, partition: TopicPartition) -> None:
        """Removes the entry, if there is one."""
        self._by_partition.pop(partition, None)
        self._leading.pop((partition.topic.encode(), partition.partition), None)
        self._led.pop(partition, None)

    def all_leading(self) -> list[LeadingReplica]:
        """Every replica that leads."""
        return list(self._leading.values())

    @property
    def offline_count(self) -> int:
        """How many replicas are in a log dir that has failed."""
        return sum(isinstance(it, Offline) for it in self._by_partition.values())

    @property
    def some_are_lost(self) -> bool:
        """Whether a replica waits for a request that has its log made."""
        return any(isinstance(it, Offline) and it.is_lost for it in self._by_partition.values())

    def all_following(self) -> list[FollowingReplica]:
        """Every replica that follows."""
        return [it.replica for it in self._by_partition.values() if isinstance(it, Following)]
