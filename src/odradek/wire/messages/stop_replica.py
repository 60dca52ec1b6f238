"""StopReplica (key 5), versions 0 to 4, flexible from 2.

Generated from `codegen/messages/stop_replica.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
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


class StopReplicaPartitionV0(Struct):
    """Of `StopReplicaRequest.ungrouped_partitions`."""

    __slots__ = ("topic_name", "partition_index")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partition_index", INT32),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class StopReplicaTopicV1(Struct):
    """Of `StopReplicaRequest.topics`."""

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


class StopReplicaPartitionState(Struct):
    """Of `StopReplicaTopicState.partition_states`."""

    __slots__ = ("partition_index", "leader_epoch", "delete_partition")

    FIELDS = (
        Field("partition_index", INT32),
        Field("leader_epoch", INT32, default=-1),
        Field("delete_partition", BOOL),
    )

    def __init__(
        self,
        partition_index: int = 0,
        leader_epoch: int = -1,
        delete_partition: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.leader_epoch = leader_epoch
        self.delete_partition = delete_partition


class StopReplicaTopicState(Struct):
    """Of `StopReplicaRequest.topic_states`."""

    __slots__ = ("topic_name", "partition_states", "topic_id")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partition_states", Array(StopReplicaPartitionState)),
        Field("topic_id", UUID, since=3, tag=10000, ignorable=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_states: Sequence[StopReplicaPartitionState] = (),
        topic_id: bytes = NO_UUID,
    ) -> None:
        self.topic_name = topic_name
        self.partition_states = partition_states
        self.topic_id = topic_id


class StopReplicaRequest(Request):
    """Versions 0 to 4, flexible from 2."""

    __slots__ = (
        "controller_id",
        "is_kraft_controller",
        "controller_epoch",
        "broker_epoch",
        "delete_partitions",
        "ungrouped_partitions",
        "topics",
        "topic_states",
    )

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 2
    KEY = 5

    FIELDS = (
        Field("controller_id", INT32),
        Field("is_kraft_controller", BOOL, since=4),
        Field("controller_epoch", INT32),
        Field("broker_epoch", INT64, since=1, default=-1, ignorable=True),
        Field("delete_partitions", BOOL, until=2),
        Field("ungrouped_partitions", Array(StopReplicaPartitionV0), until=0),
        Field("topics", Array(StopReplicaTopicV1), since=1, until=2),
        Field("topic_states", Array(StopReplicaTopicState), since=3),
    )

    def __init__(
        self,
        controller_id: int = 0,
        is_kraft_controller: bool = False,
        controller_epoch: int = 0,
        broker_epoch: int = -1,
        delete_partitions: bool = False,
        ungrouped_partitions: Sequence[StopReplicaPartitionV0] = (),
        topics: Sequence[StopReplicaTopicV1] = (),
        topic_states: Sequence[StopReplicaTopicState] = (),
    ) -> None:
        self.controller_id = controller_id
        self.is_kraft_controller = is_kraft_controller
        self.controller_epoch = controller_epoch
        self.broker_epoch = broker_epoch
        self.delete_partitions = delete_partitions
        self.ungrouped_partitions = ungrouped_partitions
        self.topics = topics
        self.topic_states = topic_states


class StopReplicaPartitionError(Struct):
    """Of `StopReplicaResponse.partition_errors`."""

    __slots__ = ("topic_name", "partition_index", "error_code")

    FIELDS = (
        Field("topic_name", STRING),
        Field("partition_index", INT32),
        Field("error_code", INT16),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.error_code = error_code


class StopReplicaResponse(Response):
    """Versions 0 to 4, flexible from 2."""

    __slots__ = ("error_code", "partition_errors")

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 2
    KEY = 5

    FIELDS = (
        Field("error_code", INT16),
        Field("partition_errors", Array(StopReplicaPartitionError)),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_errors: Sequence[StopReplicaPartitionError] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_errors = partition_errors
