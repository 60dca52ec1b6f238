"""OffsetCommit (key 8), versions 1 to 9; 0 is named for the sake of old clients.

A group's positions are written to `__consumer_offsets`, and answered once they are committed there.
v1 members of a generation. v2 how long to keep it (to v4). v6 leader epochs. v7 static members.
v8 flexible. v9 GROUP_ID_NOT_FOUND (KIP-848).
A partition that does not exist is refused, the others are committed.
Skipped: v0, which keeps offsets in ZooKeeper; v10, which names topics by their ids.
"""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.handlers.group_parts import put_together, refuse_one, take_out_unknown
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

KINDS: Final = (
    lambda name: OffsetCommitResponseTopic(name=name),
    OffsetCommitResponsePartition,
)


def handle(services: Services, pending: PendingRequest, request: OffsetCommitRequest) -> None:
    """Once what could be committed is."""
    unknown = take_out_unknown(services.cluster.image, request)

    def tell(found: list[OffsetCommitResponse]) -> None:
        response = found[0] if found else OffsetCommitResponse()
        response.topics = put_together(response.topics, unknown, KINDS)
        pending.answer(response)

    parts = ((request.group_id, request),) if request.topics else ()
    services.groups.ask(pending, parts, tell)


API: Final = Api(key=8, versions=range(1, 10), handle=handle, refuse=refuse_one, offered_from=0)
