"""A group's committed offsets: OffsetCommit and OffsetFetch, built and read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.client.errors import Refused, check
from odradek.client.records.offsets import Position
from odradek.model.ids import TopicPartition, by_topic
from odradek.model.positions import LeaderEpoch, Offset
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)


class Committer(NamedTuple):
    """Who commits: a member in its generation, or somebody for a group that has no members."""

    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None  # of a static member


def commit_request(
    group: str, positions: Mapping[TopicPartition, Position], who: Committer
) -> OffsetCommitRequest:
    """Moves a group."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition, (offset, leader_epoch) in sorted(positions.items()):
        row = OffsetCommitRequestPartition(
            partition.partition, offset, leader_epoch, committed_metadata=""
        )
        topics.setdefault(partition.topic, []).append(row)
    rows = [OffsetCommitRequestTopic(name, partitions=them) for name, them in topics.items()]
    return OffsetCommitRequest(group, *who, topics=rows)


def check_commit(answer: OffsetCommitResponse) -> None:
    """Raises the first refusal."""
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code:
                raise Refused(row.error_code, about=f"{topic.name}-{row.partition_index}")


class Note(NamedTuple):
    """What a group has committed: a position, and the text beside it."""

    position: int
    metadata: str


def committed_request(
    group: str, partitions: Iterable[TopicPartition] | None, *, stable: bool = False
) -> OffsetFetchRequest:
    """Where a group is; None: everywhere that it has committed.

    `stable`: what a transaction commits that has not ended is refused, in a way that passes.
    """
    rows = [
        OffsetFetchRequestTopics(name, partition_indexes=them)
        for name, them in by_topic(partitions or ()).items()
    ]
    wanted = OffsetFetchRequestGroup(group, topics=None if partitions is None else rows)
    return OffsetFetchRequest(groups=[wanted], require_stable=stable)


def check_committed(answer: OffsetFetchResponse) -> None:
    """Raises the first refusal."""
    (group,) = answer.groups
    check(group.error_code)
    for topic in group.topics:
        for row in topic.partitions:
            check(row.error_code, about=f"{topic.name}-{row.partition_index}")


def read_committed(answer: OffsetFetchResponse) -> dict[TopicPartition, Position]:
    """The positions; a partition for which nothing was committed is not among them."""
    return {
        partition: Position(Offset(row.committed_offset), LeaderEpoch(row.committed_leader_epoch))
        for partition, row in _rows(answer)
    }


def read_notes(answer: OffsetFetchResponse) -> dict[TopicPartition, Note]:
    """Likewise, with the texts."""
    return {
        partition: Note(row.committed_offset, row.metadata or "")
        for partition, row in _rows(answer)
    }


def _rows(
    answer: OffsetFetchResponse,
) -> Iterator[tuple[TopicPartition, OffsetFetchResponsePartitions]]:
    check_committed(answer)
    (group,) = answer.groups
    for topic in group.topics:
        for row in topic.partitions:
            if row.committed_offset >= 0:
                yield TopicPartition(topic.name, row.partition_index), row
