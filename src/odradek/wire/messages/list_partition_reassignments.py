"""ListPartitionReassignments (key 46), version 0, flexible from 0.

Generated from `codegen/messages/list_partition_reassignments.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import INT16, INT32, STRING, Array, Field, Request, Response, Struct


class ListPartitionReassignmentsTopics(Struct):
    """Of `ListPartitionReassignmentsRequest.topics`."""

    __slots__ = ("name", "partition_indexes")

    FIELDS = (
        Field("name", STRING),
        Field("partition_indexes", Array(INT32)),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partition_indexes = partition_indexes


class ListPartitionReassignmentsRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("timeout_ms", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 46

    FIELDS = (
        Field("timeout_ms", INT32, default=60000),
        Field("topics", Array(ListPartitionReassignmentsTopics), default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: Sequence[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics


class OngoingPartitionReassignment(Struct):
    """Of `OngoingTopicReassignment.partitions`."""

    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    FIELDS = (
        Field("partition_index", INT32),
        Field("replicas", Array(INT32)),
        Field("adding_replicas", Array(INT32)),
        Field("removing_replicas", Array(INT32)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas
        self.adding_replicas = adding_replicas
        self.removing_replicas = removing_replicas


class OngoingTopicReassignment(Struct):
    """Of `ListPartitionReassignmentsResponse.topics`."""

    __slots__ = ("name", "partitions")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", Array(OngoingPartitionReassignment)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: Sequence[OngoingPartitionReassignment] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class ListPartitionReassignmentsResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 46

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
        Field("topics", Array(OngoingTopicReassignment)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: Sequence[OngoingTopicReassignment] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = topics
