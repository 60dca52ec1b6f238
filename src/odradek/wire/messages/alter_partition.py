"""AlterPartition (key 56), versions 0 to 3, flexible from 0.

Generated from `codegen/messages/alter_partition.txt` by `python -m codegen`.
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


class BrokerState(Struct):
    """Of `RequestPartitionData.new_isr_with_epochs`."""

    __slots__ = ("broker_id", "broker_epoch", "incarnation")

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, default=-1),
        Field("incarnation", INT64, since=3, tag=10000, ignorable=True),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        incarnation: int = 0,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.incarnation = incarnation


class RequestPartitionData(Struct):
    """Of `RequestTopicData.partitions`."""

    __slots__ = (
        "partition_index",
        "leader_epoch",
        "new_isr",
        "new_isr_with_epochs",
        "leader_recovery_state",
        "partition_epoch",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("leader_epoch", INT32),
        Field("new_isr", Array(INT32), until=2),
        Field("new_isr_with_epochs", Array(BrokerState), since=3),
        Field("leader_recovery_state", INT8, since=1),
        Field("partition_epoch", INT32),
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = 0,
        new_isr: Sequence[int] = (),
        new_isr_with_epochs: Sequence[BrokerState] = (),
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.new_isr = new_isr
        self.new_isr_with_epochs = new_isr_with_epochs
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch


class RequestTopicData(Struct):
    """Of `AlterPartitionRequest.topics`."""

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS = (
        Field("topic_name", STRING, until=1, ignorable=True),
        Field("topic_id", UUID, since=2, ignorable=True),
        Field("partitions", Array(RequestPartitionData)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[RequestPartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = partitions


class AlterPartitionRequest(Request):
    """Versions 0 to 3, flexible from 0."""

    __slots__ = ("broker_id", "broker_epoch", "topics")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 0
    KEY = 56

    FIELDS = (
        Field("broker_id", INT32),
        Field("broker_epoch", INT64, default=-1),
        Field("topics", Array(RequestTopicData)),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        topics: Sequence[RequestTopicData] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.topics = topics


class ResponsePartitionData(Struct):
    """Of `ResponseTopicData.partitions`."""

    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
        "isr",
        "leader_recovery_state",
        "partition_epoch",
        "eligible_min_isr",
        "eligible",
    )

    FIELDS = (
        Field("partition_index", INT32),
        Field("error_code", INT16),
        Field("leader_id", INT32),
        Field("leader_epoch", INT32),
        Field("isr", Array(INT32)),
        Field("leader_recovery_state", INT8, since=1, ignorable=True),
        Field("partition_epoch", INT32),
        Field("eligible_min_isr", INT32, tag=10000, ignorable=True),
        Field("eligible", Array(INT32), tag=10001, ignorable=True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        isr: Sequence[int] = (),
        leader_recovery_state: int = 0,
        partition_epoch: int = 0,
        eligible_min_isr: int = 0,
        eligible: Sequence[int] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.leader_recovery_state = leader_recovery_state
        self.partition_epoch = partition_epoch
        self.eligible_min_isr = eligible_min_isr
        self.eligible = eligible


class ResponseTopicData(Struct):
    """Of `AlterPartitionResponse.topics`."""

    __slots__ = ("topic_name", "topic_id", "partitions")

    FIELDS = (
        Field("topic_name", STRING, until=1, ignorable=True),
        Field("topic_id", UUID, since=2, ignorable=True),
        Field("partitions", Array(ResponsePartitionData)),
    )

    def __init__(
        self,
        topic_name: str = "",
        topic_id: bytes = NO_UUID,
        partitions: Sequence[ResponsePartitionData] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = partitions


class AlterPartitionResponse(Response):
    """Versions 0 to 3, flexible from 0."""

    __slots__ = ("throttle_time_ms", "error_code", "topics")

    VERSIONS = range(0, 4)
    FLEXIBLE_FROM = 0
    KEY = 56

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("topics", Array(ResponseTopicData)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: Sequence[ResponseTopicData] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics = topics
