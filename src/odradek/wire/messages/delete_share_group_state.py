"""DeleteShareGroupState (key 86), version 0, flexible from 0.

Generated from `codegen/messages/delete_share_group_state.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class PartitionData(Struct):
    """Of `DeleteStateData.partitions`."""

    __slots__ = ("partition",)

    FIELDS = (Field("partition", INT32),)

    def __init__(
        self,
        partition: int = 0,
    ) -> None:
        self.partition = partition


class DeleteStateData(Struct):
    """Of `DeleteShareGroupStateRequest.topics`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(PartitionData)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class DeleteShareGroupStateRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 86

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(DeleteStateData)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[DeleteStateData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class PartitionResult(Struct):
    """Of `DeleteStateResult.partitions`."""

    __slots__ = ("partition", "error_code", "error_message")

    FIELDS = (
        Field("partition", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message


class DeleteStateResult(Struct):
    """Of `DeleteShareGroupStateResponse.results`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(PartitionResult)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class DeleteShareGroupStateResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("results",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 86

    FIELDS = (Field("results", Array(DeleteStateResult)),)

    def __init__(
        self,
        results: Sequence[DeleteStateResult] = (),
    ) -> None:
        self.results = results
