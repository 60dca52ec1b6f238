"""InitializeShareGroupState (key 83), version 0, flexible from 0.

Generated from `codegen/messages/initialize_share_group_state.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    INT64,
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
    """Of `InitializeStateData.partitions`."""

    __slots__ = ("partition", "state_epoch", "start_offset")

    FIELDS = (
        Field("partition", INT32),
        Field("state_epoch", INT32),
        Field("start_offset", INT64),
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        start_offset: int = 0,
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.start_offset = start_offset


class InitializeStateData(Struct):
    """Of `InitializeShareGroupStateRequest.topics`."""

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


class InitializeShareGroupStateRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 83

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(InitializeStateData)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[InitializeStateData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class PartitionResult(Struct):
    """Of `InitializeStateResult.partitions`."""

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


class InitializeStateResult(Struct):
    """Of `InitializeShareGroupStateResponse.results`."""

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


class InitializeShareGroupStateResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("results",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 83

    FIELDS = (Field("results", Array(InitializeStateResult)),)

    def __init__(
        self,
        results: Sequence[InitializeStateResult] = (),
    ) -> None:
        self.results = results
