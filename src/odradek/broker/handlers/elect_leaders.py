"""ElectLeaders (key 43), versions 0 to 2: preferred or unclean elections on demand (KIP-460).

The controller elects; the answer waits until this broker has heard of the new leaders, or the
client's patience ends. v1 unclean elections. v2 flexible, with a tagged field of ours: `force`.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.controller.events import ElectionAsked, ElectionType
from odradek.controller.topics import InvalidRequest
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

TYPE_SINCE: Final = 1


async def handle(
    services: Services, pending: PendingRequest, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    """Each partition has its own outcome."""
    kind = ElectionType.PREFERRED
    if pending.version >= TYPE_SINCE:
        if request.election_type not in {it.value for it in ElectionType}:
            raise InvalidRequest(f"election type {request.election_type}: 0 and 1 are known")
        kind = ElectionType(request.election_type)
    outcomes: dict[TopicPartition, BrokerError | None] = await services.controller.ask(
        ElectionAsked(kind, _partitions(request), is_forced=request.force)
    )
    elected = [partition for partition, error in outcomes.items() if error is None]
    try:
        async with asyncio.timeout(max(request.timeout_ms, 0) / 1_000):
            await services.cluster.has_leaders(elected, preferred=kind is ElectionType.PREFERRED)
    except TimeoutError:
        outcomes |= {it: _TimedOutError(f"{it}: not every leader is known yet") for it in elected}
    return ElectLeadersResponse(replica_election_results=_results(outcomes))


class _TimedOutError(BrokerError):
    code = ErrorCode.REQUEST_TIMED_OUT


def _partitions(request: ElectLeadersRequest) -> list[TopicPartition] | None:
    if request.topic_partitions is None:
        return None
    return [
        TopicPartition(row.topic, number)
        for row in request.topic_partitions
        for number in row.partitions
    ]


def _results(
    outcomes: Mapping[TopicPartition, BrokerError | None],
) -> list[ReplicaElectionResult]:
    topics: dict[str, list[PartitionResult]] = {}
    for partition, error in outcomes.items():
        row = PartitionResult(partition.partition, ErrorCode.NONE, None)
        if error is not None:
            row.error_code, row.error_message = error.code, str(error)
        topics.setdefault(partition.topic, []).append(row)
    return [ReplicaElectionResult(name, rows) for name, rows in topics.items()]


def refuse(
    request: ElectLeadersRequest, version: int, code: ErrorCode, message: str
) -> ElectLeadersResponse:
    """The code for the whole; before version 1 for each partition."""
    if version >= TYPE_SINCE:
        return ElectLeadersResponse(error_code=code)
    rows = [
        ReplicaElectionResult(
            row.topic, [PartitionResult(number, code, message) for number in row.partitions]
        )
        for row in request.topic_partitions or ()
    ]
    return ElectLeadersResponse(replica_election_results=rows)


API: Final = Api(
    key=43, versions=range(3), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
