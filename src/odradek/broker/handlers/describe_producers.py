"""DescribeProducers (key 61), version 0.

The producers that a partition remembers, with the transaction each has open, if any (KIP-664). A
follower answers for its own copy: tools ask one broker for all that it holds.
"""

from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.storage.logs.log import PartitionLog
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
                found = _log_of(services, TopicPartition(topic.name, number))
                row.active_producers = _producers(found)
            except BrokerError as error:
                row.error_code, row.error_message = error.code, str(error)
            rows.append(row)
        topics.append(TopicResponse(topic.name, rows))
    pending.answer(DescribeProducersResponse(topics=topics))


def _log_of(services: Services, partition: TopicPartition) -> PartitionLog:
    followed = services.replicas.followed(partition)
    if followed is None or followed.log.lent_to is not None:
        return services.replicas.led(partition).log
    return followed.log


def _producers(found: PartitionLog) -> list[ProducerState]:
    return [
        ProducerState(
            producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.timestamp,
            entry.coordinator_epoch,
            entry.transaction_start,
        )
        for producer_id, entry in sorted(found.producers.entries.items())
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


API: Final = Api(
    key=61,
    versions=range(1),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.READ, ResourceType.TOPIC, "topics", "name", "topics"),),
)
