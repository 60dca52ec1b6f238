"""ReadShareGroupStateSummary (key 87), versions 0 to 1, flexible from 0.

Generated from `codegen/messages/read_share_group_state_summary.txt` by `python -m codegen`.
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
    """Of `ReadStateSummaryData.partitions`."""

    __slots__ = ("partition", "leader_epoch")

    FIELDS = (
        Field("partition", INT32),
        Field("leader_epoch", INT32),
    )

    def __init__(
        self,
        partition: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch


class ReadStateSummaryData(Struct):
    """Of `ReadShareGroupStateSummaryRequest.topics`."""

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


class ReadShareGroupStateSummaryRequest(Request):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("group_id", "topics")

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 87

    FIELDS = (
        Field("group_id", STRING),
        Field("topics", Array(ReadStateSummaryData)),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: Sequence[ReadStateSummaryData] = (),
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class PartitionResult(Struct):
    """Of `ReadStateSummaryResult.partitions`."""

    __slots__ = (
        "partition",
        "error_code",
        "error_message",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
    )

    FIELDS = (
        Field("partition", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("state_epoch", INT32),
        Field("leader_epoch", INT32),
        Field("start_offset", INT64),
        Field("delivery_complete_count", INT32, since=1, default=-1, ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count


class ReadStateSummaryResult(Struct):
    """Of `ReadShareGroupStateSummaryResponse.results`."""

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


class ReadShareGroupStateSummaryResponse(Response):
    """Versions 0 to 1, flexible from 0."""

    __slots__ = ("results",)

    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 0
    KEY = 87

    FIELDS = (Field("results", Array(ReadStateSummaryResult)),)

    def __init__(
        self,
        results: Sequence[ReadStateSummaryResult] = (),
    ) -> None:
        self.results = results
