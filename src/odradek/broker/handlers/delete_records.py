"""DeleteRecords (key 21), versions 0 to 2.

Everything below an offset is gone: the log begins there from now on. -1 is the high watermark.
v2 flexible. A log that is only compacted keeps its records, and internal topics theirs.
"""

import asyncio
from typing import Final

from odradek.broker.access.need import Each
from odradek.broker.handlers.api import Api
from odradek.broker.jobs import off_loop
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import INTERNAL_TOPICS
from odradek.model.positions import NO_OFFSET, Offset
from odradek.model.units import Millis
from odradek.replication.errors import NotLeaderOrFollower
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
    """The topic is only compacted: its records are not deleted by offset either."""

    code = ErrorCode.POLICY_VIOLATION


class OutOfRange(BrokerError):
    """No record that may be deleted lies there: the high watermark is the bound."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class TooLate(BrokerError):
    """A log was being compacted, or a follower did not follow, for as long as the client waits."""

    code = ErrorCode.REQUEST_TIMED_OUT


async def handle(
    services: Services,
    pending: PendingRequest,  # noqa: ARG001 - the signature of every handler
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse:
    """Each partition has its own outcome: where all its replicas that live begin now."""
    deadline = Millis(services.doors.clock.monotonic() + max(request.timeout_ms, 0))
    topics, work = [], []
    for topic in request.topics:
        rows = []
        for wanted in topic.partitions:
            row = DeleteRecordsPartitionResult(wanted.partition_index, NO_OFFSET)
            partition = TopicPartition(topic.name, wanted.partition_index)
            work.append(_carry_out(services, partition, (wanted.offset, deadline), row))
            rows.append(row)
        topics.append(DeleteRecordsTopicResult(topic.name, rows))
    await asyncio.gather(*work)  # side by side: their syncs go together
    return DeleteRecordsResponse(topics=topics)


async def _carry_out(
    services: Services,
    partition: TopicPartition,
    wanted: tuple[int, Millis],
    row: DeleteRecordsPartitionResult,
) -> None:
    offset, deadline = wanted
    try:
        led = await _delete(services, partition, offset, deadline)
        start = led.log.log_start_offset
        row.low_watermark = await _everywhere(services, led, start, deadline)
    except BrokerError as error:
        row.error_code = error.code


async def _delete(
    services: Services, partition: TopicPartition, offset: int, deadline: Millis
) -> LeadingReplica:
    if partition.topic in INTERNAL_TOPICS:
        raise InternalTopic(f"{partition.topic} is internal")
    led = services.replicas.led(partition)
    if not led.log.config.delete:
        raise KeptByPolicy(f"{partition.topic} is only compacted")
    logs = services.replicas.logs
    start = led.log.high_watermark if offset == UP_TO_HIGH_WATERMARK else Offset(offset)
    if not 0 <= start <= led.log.high_watermark:
        raise OutOfRange(f"offset {start}; the high watermark is {led.log.high_watermark}")
    while start > led.log.log_start_offset:
        before, log = led, led.log
        async with logs.starting_at(log, start):
            await _until_free(services, log, deadline)
            led = services.replicas.led(partition)  # it may be another one by now
            if led.log is log:
                await off_loop(logs.worker_of(log), DeleteJob(log, start).run, of=log)
                led.on_log_start()
            elif led is not before:
                raise NotLeaderOrFollower(f"{partition} has another log now")
    return led


async def _everywhere(
    services: Services, led: LeadingReplica, start: Offset, deadline: Millis
) -> Offset:
    """Waits until the records are gone from every replica that lives; where these begin."""
    waiting = _Waiting()
    waiter = led.await_low_watermark(start, waiting)
    if waiter is not None:
        timer = services.timers.at(deadline, waiting.wake)
        await waiting.future
        timer.cancel()
        waiter.give_up()
    if led.is_over:
        raise NotLeaderOrFollower(f"{led.partition} is led by another broker now")
    reached = led.leader.low_watermark
    if reached is None or reached < start:
        raise TooLate(f"not all replicas of {led.partition} begin at {start} yet")
    return reached


class _Waiting:
    """Waits for the low watermark, or for the end of the client's patience."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(self) -> None:
        """Either has come."""
        if not self.future.done():
            self.future.set_result(None)


async def _until_free(services: Services, log: PartitionLog, deadline: Millis) -> None:
    """Until it is neither compacted nor on its way to another dir, where nothing is noted yet."""
    clock = services.doors.clock
    while log.being_cleaned or log.is_held:
        now = clock.monotonic()
        if now >= deadline:
            raise TooLate(f"{log.partition} is being compacted, or moved to another log dir")
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


API: Final = Api(
    key=21,
    versions=range(3),
    handle=handle,
    refuse=refuse,
    needs=(Each(Operation.DELETE, ResourceType.TOPIC, "topics", "name", "topics"),),
)
