"""OffsetDelete (key 47), version 0 (KIP-496).

Positions of a group are forgotten, unless a member of it reads the topic.
"""

from typing import Final

from odradek.broker.access.need import REFUSALS, Served, Whole
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.groups.group_parts import (
    Unknown,
    put_together,
    refuse_one,
    take_out_unknown,
)
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import at_once
from odradek.model.access import Operation, ResourceType
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

KINDS: Final = (OffsetDeleteResponseTopic, OffsetDeleteResponsePartition)


def handle(services: Services, pending: PendingRequest, request: OffsetDeleteRequest) -> None:
    """Once what could be forgotten is."""
    refused = _take_out_refused(services, pending, request)
    unknown = refused + at_once(take_out_unknown(services.cluster.image, request))

    def answer(found: list[OffsetDeleteResponse]) -> None:
        response = found[0]
        if not response.error_code:
            response.topics = at_once(put_together(response.topics, unknown, KINDS))
        pending.answer(response)

    services.groups.ask(pending, ((request.group_id, request),), answer)


def _take_out_refused(
    services: Services, pending: PendingRequest, request: OffsetDeleteRequest
) -> list[Unknown]:
    access, client = services.access, pending.connection
    if access is None:
        return []
    refused, kept, kind = [], [], ResourceType.TOPIC
    for topic in request.topics:
        if access.may(client, Operation.READ, kind, topic.name):
            kept.append(topic)
        else:
            numbers = [it.partition_index for it in topic.partitions]
            refused.append(Unknown(topic.name, numbers, REFUSALS[kind]))
    request.topics = kept
    return refused


API: Final = Api(
    key=47,
    versions=range(1),
    handle=handle,
    refuse=refuse_one,
    needs=(
        Whole(Operation.DELETE, ResourceType.GROUP, "group_id"),
        Served(Operation.READ, ResourceType.TOPIC, "that topic is refused"),
    ),
)
