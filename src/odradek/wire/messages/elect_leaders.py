"""ElectLeaders (key 43), versions 0 to 2, flexible from 2.

Generated from `codegen/messages/elect_leaders.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    STRING,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class TopicPartitions(Struct):
    """Of `ElectLeadersRequest.topic_partitions`."""

    __slots__ = ("topic", "partitions")

    FIELDS = (
        Field("topic", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic = topic
        self.partitions = partitions


class ElectLeadersRequest(Request):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("election_type", "topic_partitions", "timeout_ms", "force")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 43

    FIELDS = (
        Field("election_type", INT8, since=1),
        Field("topic_partitions", Array(TopicPartitions), null=(0, 32767)),
        Field("timeout_ms", INT32, default=60000),
        Field("force", BOOL, since=2, tag=10000, ignorable=True),
    )

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: Sequence[TopicPartitions] | None = (),
        timeout_ms: int = 60000,
        force: bool = False,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = topic_partitions
        self.timeout_ms = timeout_ms
        self.force = force


class PartitionResult(Struct):
    """Of `ReplicaElectionResult.partition_result`."""

    __slots__ = ("partition_id", "error_code", "error_message")

    FIELDS = (
        Field("partition_id", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


class ReplicaElectionResult(Struct):
    """Of `ElectLeadersResponse.replica_election_results`."""

    __slots__ = ("topic", "partition_result")

    FIELDS = (
        Field("topic", STRING),
        Field("partition_result", Array(PartitionResult)),
    )

    def __init__(
        self,
        topic: str = "",
        partition_result: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic = topic
        self.partition_result = partition_result


class ElectLeadersResponse(Response):
    """Versions 0 to 2, flexible from 2."""

    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")

    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 2
    KEY = 43

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16, since=1),
        Field("replica_election_results", Array(ReplicaElectionResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: Sequence[ReplicaElectionResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = replica_election_results
