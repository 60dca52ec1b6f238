"""CreatePartitions (key 37), versions 0 to 3, flexible from 2.

Generated from `codegen/messages/create_partitions.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import BOOL, INT16, INT32, STRING, Array, Field, Request, Response, Struct


class CreatePartitionsAssignment(Struct):
    """Of `CreatePartitionsTopic.assignments`."""

    __slots__ = ("broker_ids",)

    FIELDS = (Field("broker_ids", Array(INT32)),)

    def __init__(
        self,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.broker_ids = broker_ids


class CreatePartitionsTopic(Struct):
    """Of `CreatePartitionsRequest.topics`."""

    __slots__ = ("name", "count", "assignments")

    FIELDS = (
        Field("name", STRING),
        Field("count", INT32),
        Field("assignments", Array(CreatePartitionsAssignment), null=(0, 32767)),
    )

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: Sequence[CreatePartitionsAssignment] | None = (),
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = assignments


class CreatePartitionsRequest(Request):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("topics", "timeout_ms", "validate_only")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 37

    FIELDS = (
        Field("topics", Array(CreatePartitionsTopic)),
        Field("timeout_ms", INT32),
        Field("validate_only", BOOL),
    )

    def __init__(
        self,
        topics: Sequence[CreatePartitionsTopic] = (),
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreatePartitionsTopicResult(Struct):
    """Of `CreatePartitionsResponse.results`."""

    __slots__ = ("name", "error_code", "error_message")

    FIELDS = (
        Field("name", STRING),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message


class CreatePartitionsResponse(Response):
    """Versions 0 to 3, flexible from 2."""

    __slots__ = ("throttle_time_ms", "results")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 2
    KEY = 37

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("results", Array(CreatePartitionsTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: Sequence[CreatePartitionsTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
