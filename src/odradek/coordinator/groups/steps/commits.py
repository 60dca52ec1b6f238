"""OffsetCommit and OffsetDelete: positions come and go.

A member commits under the number of its generation, and only while that is the current one. A
consumer that assigns its partitions itself, or a tool, says no generation (-1), and may commit as
long as the group has no members.
"""

from typing import Final

from odradek.coordinator.decision import Call, Entry, Turn
from odradek.coordinator.groups.errors import (
    GroupIdNotFound,
    IllegalGeneration,
    InvalidGroupId,
    NonEmptyGroup,
    RebalanceInProgress,
    UnknownMemberId,
)
from odradek.coordinator.groups.groups import Groups
from odradek.coordinator.groups.states import CompletingRebalance, Empty
from odradek.coordinator.groups.subscription import CONSUMER
from odradek.coordinator.groups.values import CommittedOffset, OffsetKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Timestamp
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

NOT_FOUND_SINCE: Final = 9  # OffsetCommit; before, clients know ILLEGAL_GENERATION only
TIMESTAMP_MAX: Final = (1 << 63) - 1


def commit(groups: Groups, call: Call, turn: Turn) -> None:
    """Records for all partitions whose note is short enough; answered when they are committed."""
    request: OffsetCommitRequest = call.request
    _check(groups, call, turn)
    topics = [_commit_topic(groups, request, topic, turn) for topic in request.topics]
    turn.answer(call.ticket, OffsetCommitResponse(topics=topics))


def _check(groups: Groups, call: Call, turn: Turn) -> None:
    request: OffsetCommitRequest = call.request
    generation, group = request.generation_id_or_member_epoch, groups.live.get(request.group_id)
    if group is None or isinstance(group.state, Empty):
        if generation < 0:
            return
        if groups.exists(request.group_id):
            raise UnknownMemberId
        raise GroupIdNotFound if call.version >= NOT_FOUND_SINCE else IllegalGeneration
    member = group.identify(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration
    if isinstance(group.state, CompletingRebalance):
        raise RebalanceInProgress  # its assignment is not committed yet: it has nothing to commit
    groups.keep_alive(group, member, turn.now)


def _commit_topic(
    groups: Groups, request: OffsetCommitRequest, topic: OffsetCommitRequestTopic, turn: Turn
) -> OffsetCommitResponseTopic:
    partitions = []
    for partition in topic.partitions:
        code = ErrorCode.NONE
        if len(partition.committed_metadata or "") > groups.settings.metadata_chars_max:
            code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            about = TopicPartition(topic.name, partition.partition_index)
            value = _value(request, partition, turn.now.wall, groups.topic_id(topic.name))
            turn.records.append(Entry(OffsetKey(request.group_id, about), value))
        partitions.append(OffsetCommitResponsePartition(partition.partition_index, code))
    return OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions)


def _value(
    request: OffsetCommitRequest,
    partition: OffsetCommitRequestPartition,
    now: Timestamp,
    topic_id: TopicId | None,
) -> CommittedOffset:
    """Old clients may say when it was committed (v1), and for how long it shall be kept (v2-4)."""
    epoch, stamped = partition.committed_leader_epoch, partition.commit_timestamp
    keep = request.retention_time_ms
    return CommittedOffset(
        Offset(partition.committed_offset),
        LeaderEpoch(epoch) if epoch >= 0 else None,
        partition.committed_metadata or "",
        Timestamp(stamped) if stamped >= 0 else now,
        Timestamp(min(now + keep, TIMESTAMP_MAX)) if keep >= 0 else None,
        topic_id,
    )


def delete(groups: Groups, call: Call, turn: Turn) -> None:
    """Positions that no member reads from are forgotten."""
    request: OffsetDeleteRequest = call.request
    if not request.group_id:
        raise InvalidGroupId
    if not groups.exists(request.group_id):
        raise GroupIdNotFound
    group = groups.live.get(request.group_id)
    lives = group is not None and not isinstance(group.state, Empty)
    if lives and group is not None and group.protocol_type != CONSUMER:
        raise NonEmptyGroup  # there is no telling what its members read
    read = group.topics() if lives and group is not None else frozenset[str]()
    topics = []
    for topic in request.topics:
        subscribed = read is None or topic.name in read
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
        topics.append(_delete_topic(groups, request, topic, (code, turn)))
    turn.answer(call.ticket, OffsetDeleteResponse(topics=topics))


def _delete_topic(
    groups: Groups,
    request: OffsetDeleteRequest,
    topic: OffsetDeleteRequestTopic,
    verdict: tuple[ErrorCode, Turn],
) -> OffsetDeleteResponseTopic:
    code, turn = verdict
    partitions = []
    for partition in topic.partitions:
        about = TopicPartition(topic.name, partition.partition_index)
        key = OffsetKey(request.group_id, about)
        if not code and may_have_offset(groups, key):
            turn.records.append(Entry(key, None))
        partitions.append(OffsetDeleteResponsePartition(partition.partition_index, code))
    return OffsetDeleteResponseTopic(topic.name, partitions)


def may_have_offset(groups: Groups, key: OffsetKey) -> bool:
    """Whether there is a position, or will be: the tombstone goes behind what is in flight."""
    ledger = groups.ledger
    return ledger.find(key) is not None or key in groups.in_flight or ledger.undecided(key)


def keys_of(groups: Groups, group_id: str) -> list[OffsetKey]:
    """Every partition of which the group has a position, or will have one; each once."""
    found = [OffsetKey(group_id, about) for about in groups.ledger.offsets.get(group_id, ())]
    moving = [key for key in groups.in_flight.keys(group_id) if isinstance(key, OffsetKey)]
    return list(dict.fromkeys((*found, *moving, *groups.ledger.undecided_of(group_id))))
