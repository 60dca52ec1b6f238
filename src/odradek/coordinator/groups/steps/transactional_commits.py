"""TxnOffsetCommit: positions that count from the end of a producer's transaction on.

A consumer that reads and produces in one transaction names its member, generation and instance
(KIP-447), so one that was left behind by a rebalance commits nothing. Older clients name none: they
are fenced by their transactional id alone. Unlike a plain commit, one is taken while a rebalance is
being completed: its transaction began in the generation that it names.
"""

from odradek.coordinator.decision import Call, Entry, InTransaction, Turn
from odradek.coordinator.groups.errors import (
    IllegalGeneration,
    InvalidGroupId,
    NoProducer,
    UnknownMemberId,
)
from odradek.coordinator.groups.groups import Groups
from odradek.coordinator.groups.states import Empty
from odradek.coordinator.groups.values import CommittedOffset, OffsetKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def commit(groups: Groups, call: Call, turn: Turn) -> None:
    """Records in the producer's transaction; answered when they are committed to the log."""
    request: TxnOffsetCommitRequest = call.request
    _check(groups, request)
    turn.within = InTransaction(ProducerId(request.producer_id), request.producer_epoch)
    topics = [_commit_topic(groups, request, topic, turn) for topic in request.topics]
    turn.answer(call.ticket, TxnOffsetCommitResponse(topics=topics))


def _check(groups: Groups, request: TxnOffsetCommitRequest) -> None:
    if not request.group_id:
        raise InvalidGroupId
    if request.producer_id < 0 or request.producer_epoch < 0:
        raise NoProducer
    generation, group = request.generation_id, groups.live.get(request.group_id)
    if group is None or isinstance(group.state, Empty):
        if generation < 0:
            return
        raise UnknownMemberId if groups.exists(request.group_id) else IllegalGeneration
    if generation < 0 and not request.member_id and request.group_instance_id is None:
        return
    group.identify(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise IllegalGeneration


def _commit_topic(
    groups: Groups, request: TxnOffsetCommitRequest, topic: TxnOffsetCommitRequestTopic, turn: Turn
) -> TxnOffsetCommitResponseTopic:
    producer, partitions = ProducerId(request.producer_id), []
    for it in topic.partitions:
        code, note = ErrorCode.NONE, it.committed_metadata or ""
        if len(note) > groups.settings.metadata_chars_max:
            code = ErrorCode.OFFSET_METADATA_TOO_LARGE
        else:
            about = TopicPartition(topic.name, it.partition_index)
            value = CommittedOffset(
                Offset(it.committed_offset),
                LeaderEpoch(it.committed_leader_epoch) if it.committed_leader_epoch >= 0 else None,
                note,
                turn.now.wall,
                topic_id=groups.topic_id(topic.name),
            )
            turn.records.append(Entry(OffsetKey(request.group_id, about), value, producer))
        partitions.append(TxnOffsetCommitResponsePartition(it.partition_index, code))
    return TxnOffsetCommitResponseTopic(topic.name, partitions)
