"""ListOffsets (key 2), versions 0 to 9.

Where a log begins (-2, -4), where a reader would find it to end (-1), the record with the greatest
timestamp (-3), or the first record that is at least so new. A consumer finds nothing beyond what it
could read; a follower finds the end of the log. Nothing found is offset -1 with timestamp -1.
v2 isolation levels. v4 leader epochs. v6 flexible. v7 the greatest timestamp. v8 the beginning on
the broker's own disks (-4). v9 the end on another storage (-5), of which there is none.
Version 0 gets lists of offsets, with one in each.
"""

from functools import partial
from typing import Final, NamedTuple

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.old_formats import as_lists_of_offsets
from odradek.broker.handlers.replica_requests import check_replica
from odradek.broker.jobs import off_loop
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Timestamp
from odradek.storage.logs.view import LogView
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
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
SINCE: Final = {GREATEST: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""The places in a log that a version is the first to know."""
EPOCH_SINCE: Final = 4
NO_TIMESTAMP: Final = Timestamp(-1)
READ_COMMITTED: Final = 1


class Reading(NamedTuple):
    """Who asks."""

    is_follower: bool
    committed_only: bool

    def end_of(self, led: LeadingReplica) -> Offset:
        """The first offset that this reader would not be given."""
        if self.is_follower:
            return led.log.log_end_offset
        return led.log.last_stable_offset if self.committed_only else led.log.high_watermark


class NotServed(BrokerError):
    """A place in the log that this version of the request does not know, or we do not have."""

    code = ErrorCode.UNSUPPORTED_VERSION


async def handle(
    services: Services, pending: PendingRequest, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    """Each partition has its own outcome."""
    if not pending.version:
        pending.rewrite = as_lists_of_offsets
    if request.replica_id >= 0:
        check_replica(services, pending)
    reader = Reading(request.replica_id >= 0, request.isolation_level == READ_COMMITTED)
    topics = []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            row = ListOffsetsPartitionResponse(wanted.partition_index)
            try:
                if wanted.timestamp < EARLIEST and pending.version < SINCE.get(
                    wanted.timestamp, pending.version + 1
                ):
                    raise NotServed(f"timestamp {wanted.timestamp} in version {pending.version}")
                partition = TopicPartition(topic.name, wanted.partition_index)
                epoch = wanted.current_leader_epoch
                led = services.replicas.led(partition, None if epoch < 0 else LeaderEpoch(epoch))
                found = await _find(services, led, wanted, reader)
                if found is not None:
                    row.timestamp, row.offset = found.timestamp, found.offset
                    if pending.version >= EPOCH_SINCE:
                        row.leader_epoch = led.log.epochs.epoch_at(found.offset)
            except BrokerError as error:
                row.error_code = error.code
            rows.append(row)
        topics.append(ListOffsetsTopicResponse(topic.name, partitions=rows))
    return ListOffsetsResponse(topics=topics)


async def _find(
    services: Services, led: LeadingReplica, wanted: ListOffsetsPartition, reader: Reading
) -> TimestampedOffset | None:
    log, timestamp = led.log, wanted.timestamp
    if timestamp in {EARLIEST, EARLIEST_LOCAL}:
        return TimestampedOffset(NO_TIMESTAMP, log.log_start_offset)
    if timestamp == LATEST_TIERED:
        return None
    if timestamp == LATEST:
        if not reader.is_follower:
            led.leader.check_end_is_known()
        return TimestampedOffset(NO_TIMESTAMP, reader.end_of(led))
    logs = services.replicas.logs
    with logs.watched(log):
        if timestamp == GREATEST:
            found = await off_loop(logs.worker_of(log), LogView(log).newest, of=log)
        else:
            look = partial(LogView(log).offset_at, Timestamp(timestamp))
            found = await off_loop(logs.worker_of(log), look, of=log)
    if found is not None and found.offset < reader.end_of(led):
        return found
    if not reader.is_follower:
        led.leader.check_end_is_known()  # it may be committed, and a new leader not know yet
    return None


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


API: Final = Api(
    key=2,
    versions=range(10),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.DESCRIBE, ResourceType.TOPIC, "topics", "name", "topics"),),
)
