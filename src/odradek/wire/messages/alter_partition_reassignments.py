"""AlterPartitionReassignments (key 45), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/alter_partition_reassignments.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import BOOL, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class ReassignablePartition(Struct):
    """Of `ReassignableTopic.partitions`."""

    __slots__ = ("partition_index", "replicas")

    FIELDS = (
        Field("partition_index", INT32),
        Field("replicas", Array(INT32), default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: Sequence[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Struct):
    """Of `AlterPartitionReassignmentsRequest.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(ReassignablePartition)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[ReassignablePartition] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AlterPartitionReassignmentsRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 45

    FIELDS = (
        Field("timeout_ms", INT32, default=60000),
        Field("allow_replication_factor_change", BOOL, since=1, default=True),
        Field("topics", Array(ReassignableTopic)),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: Sequence[ReassignableTopic] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = topics


class ReassignablePartitionResponse(Struct):
    """Of `ReassignableTopicResponse.partitions`."""

    __slots__ = ("partition_index", "error_code", "error_message")

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class ReassignableTopicResponse(Struct):
    """Of `AlterPartitionReassignmentsResponse.responses`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(ReassignablePartitionResponse)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[ReassignablePartitionResponse] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AlterPartitionReassignmentsResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = (
        "throttle_time_ms",
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
    )

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 45

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("allow_replication_factor_change", BOOL, since=1, default=True, ignorable=True),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("responses", Array(ReassignableTopicResponse)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: Sequence[ReassignableTopicResponse] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = responses
