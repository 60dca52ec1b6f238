"""AlterReplicaLogDirs (key 34), versions 0 to 2: which log dir a replica shall stand in (KIP-113).

A replica that stands in that dir already is left there. Where it is unknown the dir is refused, or
the replica.
Skipped: to move a log to another dir while the broker runs; it is refused.
"""

from typing import Final

from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(
    services: Services, pending: PendingRequest, request: AlterReplicaLogDirsRequest
) -> None:
    """Each replica has its own outcome."""
    topics: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            rows = topics.setdefault(topic.name, [])
            for number in topic.partitions:
                code = _outcome(services, TopicPartition(topic.name, number), wanted.path)
                rows.append(AlterReplicaLogDirPartitionResult(number, code))
    pending.answer(
        AlterReplicaLogDirsResponse(
            results=[AlterReplicaLogDirTopicResult(name, rows) for name, rows in topics.items()]
        )
    )


def _outcome(services: Services, partition: TopicPartition, path: str) -> ErrorCode:
    dirs = services.replicas.dirs
    wanted = next((it for it in dirs.dirs if it.name == path), None)
    if wanted is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if wanted.is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR
    home = dirs.home_of(partition)
    if home is None:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return ErrorCode.NONE if home is wanted else ErrorCode.UNSUPPORTED_VERSION


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


API: Final = Api(key=34, versions=range(3), handle=handle, refuse=refuse)
