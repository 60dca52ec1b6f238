"""OffsetCommit (key 8), versions 1 to 9; 0 is named for the sake of old clients.

A group's positions are written to `__consumer_offsets`, and answered once they are committed there.
v1 members of a generation. v2 how long to keep it (to v4). v6 leader epochs. v7 static members.
v8 flexible. v9 GROUP_ID_NOT_FOUND (KIP-848).
A partition that does not exist is refused, the others are committed.
Skipped: v0, which keeps offsets in ZooKeeper; v10, which names topics by their ids.
"""

from typing import Final

from odradek.broker.access.need import Each, Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import (
    Unknown,
    go_on,
    in_slices,
    put_together,
    refuse_one,
    take_out_unknown,
)
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import Steps
from odradek.config.rows import topic as topic_rows
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

RECORD_BYTES_MIN: Final = 40
"""Of one position in `__consumer_offsets`. Kafka refuses a commit that makes no whole batch."""
KINDS: Final = (
    lambda name: OffsetCommitResponseTopic(name=name),
    OffsetCommitResponsePartition,
)


def handle(
    services: Services, pending: PendingRequest, request: OffsetCommitRequest
) -> Steps[None] | None:
    """Once what could be committed is."""
    return in_slices(_steps(services, pending, request), request)


def _steps(
    services: Services, pending: PendingRequest, request: OffsetCommitRequest
) -> Steps[None]:
    unknown = yield from take_out_unknown(services.cluster.image, request)
    rows = sum(len(topic.partitions) for topic in request.topics)
    bytes_max = services.settings.topic(GROUP_METADATA_TOPIC)[topic_rows.MAX_MESSAGE_BYTES]
    if rows * RECORD_BYTES_MIN > bytes_max:
        code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        pending.answer(refuse_one(request, pending.version, code, code.sentence))
        return

    def answer(found: list[OffsetCommitResponse]) -> None:
        go_on(pending, _finish(pending, found[0] if found else OffsetCommitResponse(), unknown))

    parts = ((request.group_id, request),) if request.topics else ()
    services.groups.ask(pending, parts, answer)


def _finish(
    pending: PendingRequest, response: OffsetCommitResponse, unknown: list[Unknown]
) -> Steps[None]:
    response.topics = yield from put_together(response.topics, unknown, KINDS)
    pending.answer(response)


API: Final = Api(
    key=8,
    versions=range(1, 10),
    handle=handle,
    refuse=refuse_one,
    needs=(
        Whole(Operation.READ, ResourceType.GROUP, "group_id"),
        Each(Operation.READ, ResourceType.TOPIC, "topics", "name", "topics"),
    ),
    offered_from=0,
)
