"""DescribeTopicPartitions (key 75), version 0.

As Metadata, in pieces: topics in the order of their names, from a cursor on, and so many partitions
at most; the answer says where to go on (KIP-966). There are no eligible leader replicas here, which
is an empty list: Java's admin client cannot bear null.
"""

from typing import Final

from odradek.broker.access.authorizer import ALL_ON
from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.metadata import partition_row
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once
from odradek.config.rows.network import MAX_REQUEST_PARTITION_SIZE_LIMIT
from odradek.metadata.image import TopicImage
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID
from odradek.model.names import INTERNAL_TOPICS, topic_name_fault
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

TOPIC, DESCRIBE = ResourceType.TOPIC, Operation.DESCRIBE


def handle(
    services: Services, pending: PendingRequest, request: DescribeTopicPartitionsRequest
) -> Steps[None] | None:
    """As many partitions as fit."""
    steps = _steps(services, pending, request)
    return at_once(steps) if len(request.topics) <= ROWS_IN_A_SLICE else steps


def _steps(
    services: Services, pending: PendingRequest, request: DescribeTopicPartitionsRequest
) -> Steps[None]:
    image, cursor = services.cluster.image, request.cursor
    names = sorted({topic.name for topic in request.topics} or image.topics.keys())
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
    most = services.settings.broker[MAX_REQUEST_PARTITION_SIZE_LIMIT]
    left = max(1, min(request.response_partition_limit, most))
    response = DescribeTopicPartitionsResponse(topics=[])
    rows: list[DescribeTopicPartitionsResponseTopic] = []
    access, client = services.access, pending.connection
    for seen, name in enumerate(names, 1):
        if not seen % ROWS_IN_A_SLICE:
            yield
        if access is not None and not access.may(client, DESCRIBE, TOPIC, name):
            if request.topics:
                rows.append(DescribeTopicPartitionsResponseTopic(REFUSALS[TOPIC], name))
            continue
        topic = image.topics.get(name)
        if topic is None:
            rows.append(_missing(name))
            continue
        if not left:
            response.next_cursor = Cursor(name, 0)
            break
        first = cursor.partition_index if cursor and cursor.topic_name == name else 0
        numbers = [number for number in topic.partitions if number >= first]
        rows.append(_topic(services, topic, numbers[:left]))
        if access is not None:
            rows[-1].topic_authorized_operations = access.operations(client, TOPIC, name)
        if len(numbers) > left:
            response.next_cursor = Cursor(name, numbers[left])
            break
        left -= len(numbers)
    response.topics = rows
    pending.answer(response)


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    fault = topic_name_fault(name)
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if fault else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(code, name)


def _topic(
    services: Services, topic: TopicImage, numbers: list[int]
) -> DescribeTopicPartitionsResponseTopic:
    partitions = []
    for number in numbers:
        row = partition_row(services, number, topic.partitions[number])
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                row.error_code,
                number,
                row.leader_id,
                row.leader_epoch,
                row.replica_nodes,
                row.isr_nodes,
                eligible_leader_replicas=(),
                last_known_elr=(),
                offline_replicas=row.offline_replicas,
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        ErrorCode.NONE,
        topic.name,
        NO_TOPIC_ID if topic.topic_id is None else topic.topic_id,
        topic.name in INTERNAL_TOPICS,
        partitions,
        ALL_ON[TOPIC],
    )


def refuse(
    request: DescribeTopicPartitionsRequest, version: int, code: ErrorCode, message: str
) -> DescribeTopicPartitionsResponse:
    """The code for each topic."""
    del version, message
    return DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponseTopic(code, it.name) for it in request.topics]
    )


API: Final = Api(
    key=75,
    versions=range(1),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(
            DESCRIBE,
            TOPIC,
            "that topic is refused; left out where all are asked for",
        ),
    ),
)
