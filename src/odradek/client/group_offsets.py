"""A group's committed offsets: OffsetCommit and OffsetFetch, built and read."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.client.errors import Refused, check
from odradek.client.offsets import Position
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


def committed_request(
    group: str, partitions: Iterable[TopicPartition] | None
) -> OffsetFetchRequest:
    """Where a group is; None: everywhere that it has committed."""
    rows = [
        OffsetFetchRequestTopics(name, partition_indexes=them)
        for name, them in by_topic(partitions or ()).items()
    ]
    wanted = OffsetFetchRequestGroup(group, topics=None if partitions is None else rows)
    return OffsetFetchRequest(groups=[wanted])


def read_committed(answer: OffsetFetchResponse) -> dict[TopicPartition, Position]:
    """The positions; a partition for which nothing was committed is not among them."""
    (group,) = answer.groups
    check(group.error_code)
    found = {}
    for topic in group.topics:
        for row in topic.partitions:
            partition = TopicPartition(topic.name, row.partition_index)
            check(row.error_code, about=str(partition))
            if row.committed_offset >= 0:
                epoch = LeaderEpoch(row.committed_leader_epoch)
                found[partition] = Position(Offset(row.committed_offset), epoch)
    return found
