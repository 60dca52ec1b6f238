"""Questions for offsets, asked of the leaders: ListOffsets and OffsetForLeaderEpoch.

Built and read here, sent by the shells: one request for each leader. What a leader refuses is
listed with the partition; what it knows is noted all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from odradek.client.cluster_metadata import ClusterMetadata
from odradek.client.errors import Refused
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
CONSUMER: Final = -1  # as a replica id

V = TypeVar("V")


class Position(NamedTuple):
    """From where to read on: an offset, and the leader epoch of the record before it (-1: unknown).

    The epoch is what tells a log that was truncated from one that only grew.
    """

    offset: Offset
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH


class FoundOffset(NamedTuple):
    """What ListOffsets found; offset -1: no record is so young."""

    offset: Offset
    leader_epoch: LeaderEpoch
    timestamp: int


class EpochEnd(NamedTuple):
    """Where a leader epoch ends in the leader's log; -1 and -1: the leader cannot tell."""

    leader_epoch: LeaderEpoch
    end_offset: Offset


@dataclass(slots=True)
class Answers(Generic[V]):
    """What leaders know, and what they refuse to say."""

    found: dict[TopicPartition, V] = field(default_factory=dict)
    refused: dict[TopicPartition, Refused] = field(default_factory=dict)

    def note(self, partition: TopicPartition, code: int, value: V) -> None:
        """One row of an answer."""
        if code:
            self.refused[partition] = Refused(code, about=str(partition))
        else:
            self.found[partition] = value


def by_leader(
    metadata: ClusterMetadata, wanted: Mapping[TopicPartition, V]
) -> dict[BrokerId, dict[TopicPartition, V]]:
    """Which broker to ask for what; NoLeader if a partition has none."""
    found: dict[BrokerId, dict[TopicPartition, V]] = {}
    for partition, value in wanted.items():
        found.setdefault(metadata.leader(partition), {})[partition] = value
    return found


def list_offsets(
    metadata: ClusterMetadata, wanted: Mapping[TopicPartition, int], *, committed: bool = False
) -> ListOffsetsRequest:
    """For one leader: by partition EARLIEST, LATEST, MAX_TIMESTAMP or a timestamp.

    With `committed` LATEST is the last stable offset.
    """
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for partition, timestamp in wanted.items():
        row = ListOffsetsPartition(partition.partition, _epoch(metadata, partition), timestamp)
        topics.setdefault(partition.topic, []).append(row)
    rows = [ListOffsetsTopic(name, them) for name, them in topics.items()]
    return ListOffsetsRequest(CONSUMER, int(committed), rows)


def read_list_offsets(answer: ListOffsetsResponse, into: Answers[FoundOffset]) -> None:
    """Notes what one leader says."""
    for topic in answer.topics:
        for row in topic.partitions:
            value = FoundOffset(Offset(row.offset), LeaderEpoch(row.leader_epoch), row.timestamp)
            into.note(TopicPartition(topic.name, row.partition_index), row.error_code, value)


def epoch_ends(
    metadata: ClusterMetadata, wanted: Mapping[TopicPartition, LeaderEpoch]
) -> OffsetForLeaderEpochRequest:
    """For one leader: where these leader epochs end in its log."""
    topics: dict[str, list[OffsetForLeaderPartition]] = {}
    for partition, epoch in wanted.items():
        row = OffsetForLeaderPartition(partition.partition, _epoch(metadata, partition), epoch)
        topics.setdefault(partition.topic, []).append(row)
    rows = [OffsetForLeaderTopic(name, them) for name, them in topics.items()]
    return OffsetForLeaderEpochRequest(CONSUMER, rows)


def read_epoch_ends(answer: OffsetForLeaderEpochResponse, into: Answers[EpochEnd]) -> None:
    """Notes what one leader says."""
    for topic in answer.topics:
        for row in topic.partitions:
            value = EpochEnd(LeaderEpoch(row.leader_epoch), Offset(row.end_offset))
            into.note(TopicPartition(topic.topic, row.partition), row.error_code, value)


def _epoch(metadata: ClusterMetadata, partition: TopicPartition) -> LeaderEpoch:
    known = metadata.partition(partition)
    return known.leader_epoch if known is not None else NO_LEADER_EPOCH
