"""DescribeProducers (key 61), version 0.

The producers that a partition remembers, with the transaction each has open, if any (KIP-664).
"""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def handle(services: Services, pending: PendingRequest, request: DescribeProducersRequest) -> None:
    """Each partition has its own outcome."""
    topics = []
    for topic in request.topics:
        rows = []
        for number in topic.partition_indexes:
            row = PartitionResponse(number)
            try:
                row.active_producers = _producers(
                    services.replicas.led(TopicPartition(topic.name, number))
                )
            except BrokerError as error:
                row.error_code, row.error_message = error.code, str(error)
            rows.append(row)
        topics.append(TopicResponse(topic.name, rows))
    pending.answer(DescribeProducersResponse(topics=topics))


def _producers(led: LeadingReplica) -> list[ProducerState]:
    return [
        ProducerState(
            producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.timestamp,
            entry.coordinator_epoch,
            entry.transaction_start,
        )
        for producer_id, entry in sorted(led.log.producers.entries.items())
    ]


def refuse(
    request: DescribeProducersRequest, version: int, code: ErrorCode, message: str
) -> DescribeProducersResponse:
    """The code for each partition."""
    del version
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [PartitionResponse(number, code, message) for number in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


API: Final = Api(key=61, versions=range(1), handle=handle, refuse=refuse)
