"""OffsetForLeaderEpoch (key 23), versions 0 to 4.

Where a leadership ended: the first offset of the next one, or the end of the log. Consumers find
out with it whether what they have read was cut away (KIP-320). v1 the epoch that was found. v2 the
epoch the client knows. v3 the replica that asks. v4 flexible.
"""

from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.replica_requests import check_replica
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def handle(
    services: Services, pending: PendingRequest, request: OffsetForLeaderEpochRequest
) -> None:
    """Each partition has its own outcome."""
    if request.replica_id >= 0:
        check_replica(services, pending)
    topics = []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            partition = TopicPartition(topic.topic, wanted.partition)
            rows.append(_row(services, partition, wanted))
        topics.append(OffsetForLeaderTopicResult(topic.topic, rows))
    pending.answer(OffsetForLeaderEpochResponse(topics=topics))


def _row(
    services: Services, partition: TopicPartition, wanted: OffsetForLeaderPartition
) -> EpochEndOffset:
    current = wanted.current_leader_epoch
    row = EpochEndOffset(partition=wanted.partition)
    try:
        led = services.replicas.led(partition, None if current < 0 else LeaderEpoch(current))
        row.leader_epoch, row.end_offset = led.log.epochs.end_offset_for(
            LeaderEpoch(wanted.leader_epoch), led.log.log_end_offset
        )
    except BrokerError as error:
        row.error_code = error.code
    return row


def refuse(
    request: OffsetForLeaderEpochRequest, version: int, code: ErrorCode, message: str
) -> OffsetForLeaderEpochResponse:
    """The code for each partition."""
    del version, message
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic.topic, [EpochEndOffset(code, it.partition) for it in topic.partitions]
            )
            for topic in request.topics
        ]
    )


API: Final = Api(
    key=23,
    versions=range(5),
    handle=handle,
    refuse=refuse,
    needs=(
        Each(
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            "topics",
            "topic",
            "topics",
            Operation.CLUSTER_ACTION,
        ),
    ),
)
