"""OffsetFetch (key 9), versions 1 to 9; 0 is named for the sake of old clients.

Where groups are. v2 all of a group's positions at once, errors of the whole group. v5 leader
epochs. v6 flexible. v7 rather an error than an offset that is about to change (KIP-447).
v8 many groups, which may live in different partitions of `__consumer_offsets` (KIP-709).
v9 members of the new protocol: not asked for here.
Skipped: v0, which reads offsets from ZooKeeper; v10, which names topics by their ids.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once
from odradek.coordinator.groups.requests import FetchOffsets
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import NO_LEADER_EPOCH, NO_OFFSET
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

DESCRIBE: Final = Operation.DESCRIBE
MANY_GROUPS_SINCE: Final = 8
GROUP_ERROR_SINCE: Final = 2  # before, each partition has it


def handle(
    services: Services, pending: PendingRequest, request: OffsetFetchRequest
) -> Steps[None] | None:
    """Each group where it lives."""
    steps = _steps(services, pending, request)
    is_large = pending.version >= MANY_GROUPS_SINCE and len(request.groups) > ROWS_IN_A_SLICE
    return steps if is_large else at_once(steps)


def _steps(services: Services, pending: PendingRequest, request: OffsetFetchRequest) -> Steps[None]:
    version, access, client = pending.version, services.access, pending.connection

    def may_ask(group: str) -> bool:
        return access is None or access.may(client, DESCRIBE, ResourceType.GROUP, group)

    def may_see(topic: str) -> bool:
        return access is None or access.may(client, DESCRIBE, ResourceType.TOPIC, topic)

    def answer(found: list[OffsetFetchResponseGroup]) -> None:
        if access is not None:
            found = [_as_allowed(may_see, *it) for it in zip(kept, found, strict=True)] + refused
        if version >= MANY_GROUPS_SINCE:
            pending.answer(OffsetFetchResponse(groups=found))
        else:
            pending.answer(_of_one(request, version, found[0]))

    stable = request.require_stable
    asked: Iterable[Any] = request.groups if version >= MANY_GROUPS_SINCE else (request,)
    kept, parts, refused = list[Any](), list[Any](), list[OffsetFetchResponseGroup]()
    code = REFUSALS[ResourceType.GROUP]
    for seen, one in enumerate(asked, 1):
        if not seen % ROWS_IN_A_SLICE:
            yield
        group = one.group_id
        if may_ask(group):
            kept.append(one)
            parts.append((group, FetchOffsets(group, _partitions(one.topics), stable)))
        else:
            refused.append(OffsetFetchResponseGroup(group, (), code))
    services.groups.ask(pending, parts, answer)


def _as_allowed(
    may_see: Callable[[str], bool], asked: Any, group: OffsetFetchResponseGroup
) -> OffsetFetchResponseGroup:
    """Topics that the client may not see are refused where it named them, and else left out."""
    if group.error_code:
        return group
    code, is_named = REFUSALS[ResourceType.TOPIC], asked.topics is not None
    topics = []
    for topic in group.topics:
        if may_see(topic.name):
            topics.append(topic)
        elif is_named:
            rows = [
                OffsetFetchResponsePartitions(
                    it.partition_index, NO_OFFSET, NO_LEADER_EPOCH, "", code
                )
                for it in topic.partitions
            ]
            topics.append(OffsetFetchResponseTopics(topic.name, partitions=rows))
    group.topics = topics
    return group


def _partitions(topics: Sequence[Any] | None) -> list[TopicPartition] | None:
    if topics is None:
        return None
    return [
        TopicPartition(topic.name, partition)
        for topic in topics
        for partition in topic.partition_indexes
    ]


def _of_one(
    request: OffsetFetchRequest, version: int, group: OffsetFetchResponseGroup
) -> OffsetFetchResponse:
    """What was said before there were several groups."""
    code = ErrorCode(group.error_code)
    if code and version < GROUP_ERROR_SINCE:
        return _refused_each(request, code)
    return OffsetFetchResponse(
        error_code=code,
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(
                        one.partition_index,
                        one.committed_offset,
                        one.committed_leader_epoch,
                        one.metadata,
                        one.error_code,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def _refused_each(request: OffsetFetchRequest, code: ErrorCode) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(one, NO_OFFSET, NO_LEADER_EPOCH, "", code)
                    for one in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def refuse(
    request: OffsetFetchRequest, version: int, code: ErrorCode, message: str
) -> OffsetFetchResponse:
    """The code for each group, or for each partition where there is no better place."""
    del message
    if version >= MANY_GROUPS_SINCE:
        groups = [OffsetFetchResponseGroup(one.group_id, (), code) for one in request.groups]
        return OffsetFetchResponse(groups=groups)
    if version >= GROUP_ERROR_SINCE:
        return OffsetFetchResponse(error_code=code)
    return _refused_each(request, code)


API: Final = Api(
    key=9,
    versions=range(1, 10),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(Operation.DESCRIBE, ResourceType.GROUP, "that group is refused"),
        Served(
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            "that topic is refused; left out where all are asked for",
        ),
    ),
    offered_from=0,
)
