"""AlterReplicaLogDirs (key 34), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/alter_replica_log_dirs.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class AlterReplicaLogDirTopic(Struct):
    """Of `AlterReplicaLogDir.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AlterReplicaLogDir(Struct):
    """Of `AlterReplicaLogDirsRequest.dirs`."""

    __slots__ = ("path", "topics")

    FIELDS = (
        Field("path", STRING),
        Field("topics", Array(AlterReplicaLogDirTopic)),
    )

    def __init__(
        self,
        path: str = "",
        topics: Sequence[AlterReplicaLogDirTopic] = (),
    ) -> None:
        self.path = path
        self.topics = topics


class AlterReplicaLogDirsRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("dirs",)

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 34

    FIELDS = (Field("dirs", Array(AlterReplicaLogDir)),)

    def __init__(
        self,
        dirs: Sequence[AlterReplicaLogDir] = (),
    ) -> None:
        self.dirs = dirs


class AlterReplicaLogDirPartitionResult(Struct):
    """Of `AlterReplicaLogDirTopicResult.partitions`."""

    __slots__ = ("partition_index", "error_code")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AlterReplicaLogDirTopicResult(Struct):
    """Of `AlterReplicaLogDirsResponse.results`."""

    __slots__ = ("topic_name", "partitions")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partitions", Array(AlterReplicaLogDirPartitionResult)),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: Sequence[AlterReplicaLogDirPartitionResult] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions = partitions


class AlterReplicaLogDirsResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 34

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(AlterReplicaLogDirTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[AlterReplicaLogDirTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
