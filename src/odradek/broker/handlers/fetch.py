"""Fetch (key 1), versions 0 to 17.

Reads batches: a consumer up to the high watermark, or up to the last stable offset where it asks
for what is committed; a follower up to the end of the log. Waits until there is enough, or the
client's patience ends. v4 record batches, isolation levels. v5 log start offset. v7 sessions
(KIP-227). v9 leader epochs (KIP-320). v10 zstd. v11 racks (KIP-392). v12 flexible; diverging epochs
(KIP-595). v13 topic ids (KIP-516). v15 broker epochs of followers (KIP-903). v16 the leader of what
was moved (KIP-951). v17 the directory of a follower's replica, which KRaft alone needs.
Versions 0 to 3 get message sets, in the formats from before Kafka 0.11 (`old_formats`).
"""

from functools import partial
from typing import Final

from odradek.broker.access.authorizer import NotAuthorized
from odradek.broker.access.need import Served
from odradek.broker.access.refusals import refused_in_slices
from odradek.broker.fetching.fetch_sessions import named_in
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.old_formats import BATCHES_SINCE, as_message_sets
from odradek.broker.handlers.replica_requests import check_replica
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import Steps, at_once
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicId
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

ERROR_SINCE: Final = 7


def handle(
    services: Services, pending: PendingRequest, request: FetchRequest
) -> Steps[None] | None:
    """Answers now or later."""
    state = request.replica_state
    if request.replica_id >= 0 or (state is not None and state.replica_id >= 0):
        try:
            check_replica(services, pending)
        except NotAuthorized:
            if not request.topics:
                raise
            steps = _refused(pending, request)
            return at_once(steps) if pending.slices is None else steps
    if pending.version < BATCHES_SINCE:
        pending.rewrite = as_message_sets(request, pending.version)
    services.fetches.begin(pending, request)
    return None


def _refused(pending: PendingRequest, request: FetchRequest) -> Steps[None]:
    refuse = partial(_each, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    answer = yield from refused_in_slices(refuse, request)
    assert answer is not None, "it is made of nothing but the request"
    pending.answer(answer)


def refuse(request: FetchRequest, version: int, code: ErrorCode, message: str) -> FetchResponse:
    """The code once; before there was a place for it, with every partition."""
    del message
    if version not in API.versions:
        code = ErrorCode.UNSUPPORTED_VERSION
    return FetchResponse(error_code=code) if version >= ERROR_SINCE else _each(request, code)


def _each(request: FetchRequest, code: ErrorCode) -> FetchResponse:
    """The code with every partition that the request names."""
    topics: dict[tuple[str, TopicId], list[PartitionData]] = {}
    for name, topic_id, number in named_in(request):
        row = PartitionData(number, code, high_watermark=-1, records=b"")
        topics.setdefault((name, topic_id), []).append(row)
    rows = [FetchableTopicResponse(*topic, partitions) for topic, partitions in topics.items()]
    return FetchResponse(responses=rows)


API: Final = Api(
    key=1,
    versions=range(18),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(Operation.READ, ResourceType.TOPIC, "that topic is refused"),
        Served(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "a follower is refused"),
    ),
)
