"""AlterReplicaLogDirs (key 34), versions 0 to 2: which log dir a replica shall stand in (KIP-113).

The answer says that a move has begun, not that it has ended. A replica that stands in that dir
already is left there, and a move elsewhere is given up. For one that this broker does not have the
dir is remembered until its log is made; the answer says that there is none.
"""

from typing import Final

import structlog

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

log = structlog.get_logger()


async def handle(
    services: Services, pending: PendingRequest, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Each replica has its own outcome."""
    del pending
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            rows = topics.setdefault(topic.name, [])
            for number in topic.partitions:
                code = await _move(services, TopicPartition(topic.name, number), wanted.path)
                rows.append(AlterReplicaLogDirPartitionResult(number, code))
    return AlterReplicaLogDirsResponse(
        results=[AlterReplicaLogDirTopicResult(name, rows) for name, rows in topics.items()]
    )


async def _move(services: Services, partition: TopicPartition, path: str) -> ErrorCode:
    try:
        is_moving = await services.replicas.move(partition, path)
    except BrokerError as error:
        log.debug("move.refused", partition=str(partition), target=path, error=str(error))
        return error.code
    if is_moving or services.replicas.dirs.dir_of(partition) is not None:
        return ErrorCode.NONE
    return ErrorCode.REPLICA_NOT_AVAILABLE


def refuse(
    request: AlterReplicaLogDirsRequest, version: int, code: ErrorCode, message: str
) -> AlterReplicaLogDirsResponse:
    """Each replica with the code."""
    del version, message
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic.name,
                [AlterReplicaLogDirPartitionResult(number, code) for number in topic.partitions],
            )
            for wanted in request.dirs
            for topic in wanted.topics
        ]
    )


API: Final = Api(
    key=34, versions=range(3), handle=handle, refuse=refuse, needs=(Whole(Operation.ALTER),)
)
