"""AssignReplicasToDirs (key 73), version 0, flexible from 0.

Generated from `codegen/messages/assign_replicas_to_dirs.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class RequestPartitionData(Struct):
    """Of `RequestTopicData.partitions`."""

    __slots__ = ("partition_index",)

    FIELDS = (Field("partition_index", INT32),)

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class RequestTopicData(Struct):
    """Of `RequestDirectoryData.topics`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(RequestPartitionData)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[RequestPartitionData] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class RequestDirectoryData(Struct):
    """Of `AssignReplicasToDirsRequest.directories`."""

    __slots__ = ("id", "topics")

    FIELDS = (
        Field("id", UUID),
        Field("topics", Array(RequestTopicData)),
    )

    def __init__(
        self,
        id: bytes = NO_UUID,
        topics: Sequence[RequestTopicData] = (),
    ) -> None:
        self.id = id
        self.topics = topics


class AssignReplicasToDirsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("broker_id", "broker_epoch", "directories")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 73

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, default=-1),
        Field("directories", Array(RequestDirectoryData)),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: Sequence[RequestDirectoryData] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories = directories


class ResponsePartitionData(Struct):
    """Of `ResponseTopicData.partitions`."""

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


class ResponseTopicData(Struct):
    """Of `ResponseDirectoryData.topics`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(ResponsePartitionData)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[ResponsePartitionData] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ResponseDirectoryData(Struct):
    """Of `AssignReplicasToDirsResponse.directories`."""

    __slots__ = ("id", "topics")

    FIELDS = (
        Field("id", UUID),
        Field("topics", Array(ResponseTopicData)),
    )

    def __init__(
        self,
        id: bytes = NO_UUID,
        topics: Sequence[ResponseTopicData] = (),
    ) -> None:
        self.id = id
        self.topics = topics


class AssignReplicasToDirsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "directories")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 73

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("directories", Array(ResponseDirectoryData)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        directories: Sequence[ResponseDirectoryData] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.directories = directories
