"""ListOffsets (key 2), versions 1 to 7.

Where a log begins (-2), where a reader would find it to end (-1), the record with the greatest
timestamp (-3), or the first record that is at least so new. Nothing found is offset -1 with
timestamp -1. v2 isolation levels. v4 leader epochs. v6 flexible. v7 the greatest timestamp.
Version 0 is named for the sake of old clients, and not served.
"""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.jobs import off_loop
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.model.units import Timestamp
from odradek.storage.segments.segment import TimestampedOffset
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
GREATEST: Final = -3
GREATEST_SINCE: Final = 7
EPOCH_SINCE: Final = 4
READ_COMMITTED: Final = 1


class NotServed(BrokerError):
    """A place in the log that this version of the request does not know, or we do not have."""

    code = ErrorCode.UNSUPPORTED_VERSION


async def handle(
    services: Services, pending: PendingRequest, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    """Each partition has its own outcome."""
    committed_only = request.isolation_level == READ_COMMITTED
    topics = []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            row = ListOffsetsPartitionResponse(wanted.partition_index)
            try:
                partition = TopicPartition(topic.name, wanted.partition_index)
                epoch = wanted.current_leader_epoch
                led = services.replicas.led(partition, None if epoch < 0 else LeaderEpoch(epoch))
                await _find(services, led, wanted, row, pending.version, committed_only)
            except BrokerError as error:
                row.error_code = error.code
            rows.append(row)
        topics.append(ListOffsetsTopicResponse(topic.name, partitions=rows))
    return ListOffsetsResponse(topics=topics)


async def _find(  # noqa: PLR0917 - what one partition is asked
    services: Services,
    led: LeadingReplica,
    wanted: ListOffsetsPartition,
    row: ListOffsetsPartitionResponse,
    version: int,
    committed_only: bool,  # noqa: FBT001 - as the request has it
) -> None:
    log, timestamp = led.log, wanted.timestamp
    found: TimestampedOffset | None
    if timestamp == EARLIEST:
        found = TimestampedOffset(Timestamp(-1), log.log_start_offset)
    elif timestamp == LATEST:
        led.leader.check_end_is_known()
        end = log.last_stable_offset if committed_only else log.high_watermark
        found = TimestampedOffset(Timestamp(-1), end)
    elif timestamp == GREATEST and version >= GREATEST_SINCE:
        found = await off_loop(services.replicas.logs.worker_of(led.log), log.newest)
    elif timestamp < 0:
        raise NotServed(f"timestamp {timestamp} in version {version}")
    else:
        led.leader.check_end_is_known()
        worker = services.replicas.logs.worker_of(led.log)
        found = await off_loop(worker, lambda: log.offset_at(Timestamp(timestamp)))
        if found is not None and found.offset >= log.high_watermark:
            found = None
    if found is not None:
        row.timestamp, row.offset = found.timestamp, found.offset
        if version >= EPOCH_SINCE:
            row.leader_epoch = log.epochs.epoch_at(found.offset)


def refuse(
    request: ListOffsetsRequest, version: int, code: ErrorCode, message: str
) -> ListOffsetsResponse:
    """The code for each partition."""
    del version, message
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(it.partition_index, code)
                    for it in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


API: Final = Api(key=2, versions=range(1, 8), handle=handle, refuse=refuse, offered_from=0)
