"""OffsetFetch: where a group is. It reads the ledger, and so nothing that could still be lost.

A position in a topic that was deleted is none in the topic that has its name now: no coordinator
may have been there to remove it.
"""

from collections.abc import Iterable

from odradek.coordinator.decision import Call, Turn
from odradek.coordinator.groups.groups import Groups
from odradek.coordinator.groups.requests import FetchOffsets
from odradek.coordinator.groups.values import OffsetKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, NO_OFFSET
from odradek.wire.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)


def fetch(groups: Groups, call: Call, turn: Turn) -> None:
    """The positions that were asked for, or all; a group that does not exist has none."""
    request: FetchOffsets = call.request
    partitions: Iterable[TopicPartition]
    if request.partitions is None:
        recorded = groups.ledger.offsets.get(request.group_id, {})
        partitions = [
            about
            for about, it in recorded.items()
            if not groups.is_of_earlier_topic(about.topic, it.committed)
        ]
    else:
        partitions = request.partitions
    topics: dict[str, list[OffsetFetchResponsePartitions]] = {}
    for about in partitions:
        topics.setdefault(about.topic, []).append(_find(groups, request, about))
    turn.answer(
        call.ticket,
        OffsetFetchResponseGroup(
            request.group_id,
            [OffsetFetchResponseTopics(name, partitions=found) for name, found in topics.items()],
        ),
    )


def _find(
    groups: Groups, request: FetchOffsets, about: TopicPartition
) -> OffsetFetchResponsePartitions:
    key = OffsetKey(request.group_id, about)
    code, committed = ErrorCode.NONE, groups.ledger.find(key)
    if request.require_stable and (key in groups.in_flight or groups.ledger.undecided(key)):
        code, committed = ErrorCode.UNSTABLE_OFFSET_COMMIT, None
    if committed is None or groups.is_of_earlier_topic(about.topic, committed):
        return OffsetFetchResponsePartitions(about.partition, NO_OFFSET, NO_LEADER_EPOCH, "", code)
    epoch = NO_LEADER_EPOCH if committed.leader_epoch is None else committed.leader_epoch
    return OffsetFetchResponsePartitions(
        about.partition, committed.offset, epoch, committed.metadata
    )
