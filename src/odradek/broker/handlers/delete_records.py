"""DeleteRecords (key 21), versions 0 to 2.

Everything below an offset is gone: the log begins there from now on. -1 is the high watermark.
v2 flexible. A log that is only compacted keeps its records, and internal topics theirs.
"""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.jobs import off_loop
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import INTERNAL_TOPICS
from odradek.model.positions import NO_OFFSET, Offset
from odradek.model.units import Millis
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.retention import DeleteJob
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

UP_TO_HIGH_WATERMARK: Final = -1
LOOK_AGAIN: Final = Millis(20)


class InternalTopic(BrokerError):
    """Its records are ours to keep."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class KeptByPolicy(BrokerError):
    """The topic's clean-up policy deletes nothing by age or size, and so nobody does."""

    code = ErrorCode.POLICY_VIOLATION


class OutOfRange(BrokerError):
    """No record that may be deleted lies there: the high watermark is the bound."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class TooLate(BrokerError):
    """The log was being compacted for as long as the client has patience."""

    code = ErrorCode.REQUEST_TIMED_OUT


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse:
    """Each partition has its own outcome: where its log begins now."""
    deadline = Millis(services.doors.clock.monotonic() + max(request.timeout_ms, 0))
    topics = []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            row = DeleteRecordsPartitionResult(wanted.partition_index, NO_OFFSET)
            partition = TopicPartition(topic.name, wanted.partition_index)
            try:
                row.low_watermark = await _delete(services, partition, wanted.offset, deadline)
            except BrokerError as error:
                row.error_code = error.code
            rows.append(row)
        topics.append(DeleteRecordsTopicResult(topic.name, rows))
    return DeleteRecordsResponse(topics=topics)


async def _delete(
    services: Services, partition: TopicPartition, offset: int, deadline: Millis
) -> Offset:
    if partition.topic in INTERNAL_TOPICS:
        raise InternalTopic(f"{partition.topic} is internal")
    led = services.replicas.led(partition)
    if not led.log.config.delete:
        raise KeptByPolicy(f"{partition.topic} is only compacted")
    await _until_not_cleaned(services, led.log, deadline)
    led = services.replicas.led(partition)  # it may be another one by now
    log = led.log
    start = log.high_watermark if offset == UP_TO_HIGH_WATERMARK else Offset(offset)
    if not 0 <= start <= log.high_watermark:
        raise OutOfRange(f"offset {start}; the high watermark is {log.high_watermark}")
    if start > log.log_start_offset:
        await off_loop(services.replicas.logs.worker_of(led.log), DeleteJob(log, start).run)
    return log.log_start_offset


async def _until_not_cleaned(services: Services, log: PartitionLog, deadline: Millis) -> None:
    clock = services.doors.clock
    while log.being_cleaned:
        now = clock.monotonic()
        if now >= deadline:
            raise TooLate(f"{log.partition} is being compacted")
        await clock.sleep_until(Millis(min(now + LOOK_AGAIN, deadline)))


def refuse(
    request: DeleteRecordsRequest, version: int, code: ErrorCode, message: str
) -> DeleteRecordsResponse:
    """The code for each partition."""
    del version, message
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [
                    DeleteRecordsPartitionResult(one.partition_index, NO_OFFSET, code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


API: Final = Api(key=21, versions=range(3), handle=handle, refuse=refuse)
