"""WriteShareGroupState (key 85), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/write_share_group_state.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
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


class StateBatch(Struct):
    """Of `PartitionData.state_batches`."""

    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    FIELDS = (
        Field("first_offset", INT64),
        Field("last_offset", INT64),
        Field("delivery_state", INT8),
        Field("delivery_count", INT16),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class PartitionData(Struct):
    """Of `WriteStateData.partitions`."""

    __slots__ = (
        "partition",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    FIELDS = (
        Field("partition", INT32),
        Field("state_epoch", INT32),
        Field("leader_epoch", INT32),
        Field("start_offset", INT64),
        Field("delivery_complete_count", INT32, since=1, default=-1, ignorable=True),
        Field("state_batches", Array(StateBatch)),
    )

    def __init__(
        self,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = state_batches


class WriteStateData(Struct):
    """Of `WriteShareGroupStateRequest.topics`."""

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


class WriteShareGroupStateRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 85

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(WriteStateData)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[WriteStateData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class PartitionResult(Struct):
    """Of `WriteStateResult.partitions`."""

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


class WriteStateResult(Struct):
    """Of `WriteShareGroupStateResponse.results`."""

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


class WriteShareGroupStateResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("results",)

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 85

    FIELDS = (Field("results", Array(WriteStateResult)),)

    def __init__(
        self,
        results: Sequence[WriteStateResult] = (),
    ) -> None:
        self.results = results
