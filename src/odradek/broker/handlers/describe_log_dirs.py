"""DescribeLogDirs (key 35), versions 0 to 5.

What lies in each log dir of this broker, and how large it is; a dir that has failed says so. One
that hangs has the same error, and its replicas: they are there, and cannot be reached. v2
flexible. v3 an error for all. v4 the size of the disk, and what is left of it (KIP-827).
v5 whether it is cordoned (KIP-1066), which Kafka 3.9 does not know.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.logs.room import is_in_reach, room_of
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.logs.log import PartitionLog
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

ERROR_SINCE: Final = 3
Wanted = Mapping[TopicPartition, None]
"""Partitions, once each and in the order of the request."""


async def handle(
    services: Services, pending: PendingRequest, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Each dir in the order of the setting."""
    del pending
    wanted = None
    if request.topics is not None:
        wanted = dict.fromkeys(
            TopicPartition(topic.topic, number)
            for topic in request.topics
            for number in topic.partitions
        )
    async with asyncio.TaskGroup() as tasks:  # one that hangs holds up no other
        results = [
            tasks.create_task(_result(services, log_dir, wanted))
            for log_dir in services.replicas.dirs.dirs
        ]
    return DescribeLogDirsResponse(results=[it.result() for it in results])


async def _result(
    services: Services, log_dir: LogDir, wanted: Wanted | None
) -> DescribeLogDirsResult:
    if log_dir.is_offline:
        return DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, log_dir.name)
    result = DescribeLogDirsResult(
        log_dir=log_dir.name,
        is_cordoned=log_dir.is_cordoned,
        topics=_topics(services, log_dir, wanted),
    )
    room = await room_of(services.replicas.logs, log_dir)
    if room is not None:
        result.usable_bytes, result.total_bytes = room
    elif not is_in_reach(services.replicas.logs, log_dir):
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    return result


def _topics(
    services: Services, log_dir: LogDir, wanted: Wanted | None
) -> list[DescribeLogDirsTopic]:
    rows: dict[str, list[DescribeLogDirsPartition]] = {}
    for found, is_future in _logs(log_dir, wanted):
        lag = _lag(services, found, is_future=is_future)
        row = DescribeLogDirsPartition(found.partition.partition, found.size, lag, is_future)
        rows.setdefault(found.partition.topic, []).append(row)
    return [DescribeLogDirsTopic(name, partitions) for name, partitions in rows.items()]


def _logs(log_dir: LogDir, wanted: Wanted | None) -> Iterator[tuple[PartitionLog, bool]]:
    """Few of many are looked up: who watches a move asks for them again and again."""
    for table, is_future in ((log_dir.logs, False), (log_dir.futures, True)):
        names = table if wanted is None else (it for it in wanted if it in table)
        yield from ((table[it], is_future) for it in names)


def _lag(services: Services, found: PartitionLog, *, is_future: bool) -> int:
    """What a replica has to fetch still, and what a copy has to copy; -1: that is not known."""
    if not is_future:
        return max(found.high_watermark - found.log_end_offset, 0)
    current = services.replicas.dirs.get(found.partition)
    return -1 if current is None else current.log_end_offset - found.log_end_offset


def refuse(
    request: DescribeLogDirsRequest, version: int, code: ErrorCode, message: str
) -> DescribeLogDirsResponse:
    """The code, where there is a place for it."""
    del request, message
    return DescribeLogDirsResponse(error_code=code if version >= ERROR_SINCE else ErrorCode.NONE)


API: Final = Api(
    key=35, versions=range(6), handle=handle, refuse=refuse, needs=(Whole(Operation.DESCRIBE),)
)
