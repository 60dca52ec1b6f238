"""Produce (key 0), versions 0 to 13, flexible from 9.

Generated from `codegen/messages/produce.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    RECORDS,
    STRING,
    UUID,
    Array,
    Field,
    Records,
    Request,
    Response,
    Struct,
)


class PartitionProduceData(Struct):
    """Of `TopicProduceData.partition_data`."""

    __slots__ = ("index", "records")

    FIELDS = (
        Field("index", INT32),
        Field("records", RECORDS, null=(0, 32767)),
    )

    def __init__(
        self,
        index: int = 0,
        records: Records | None = None,
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Struct):
    """Of `ProduceRequest.topic_data`."""

    __slots__ = ("name", "topic_id", "partition_data")

    FIELDS = (
        Field("name", STRING, until=12, ignorable=True),
        Field("topic_id", UUID, since=13, ignorable=True),
        Field("partition_data", Array(PartitionProduceData)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partition_data: Sequence[PartitionProduceData] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = partition_data


class ProduceRequest(Request):
    """Versions 0 to 13, flexible from 9."""

    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")

    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9
    KEY = 0

    FIELDS = (
        Field("transactional_id", STRING, since=3, default=None, null=(3, 32767)),
        Field("acks", INT16),
        Field("timeout_ms", INT32),
        Field("topic_data", Array(TopicProduceData)),
    )

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: Sequence[TopicProduceData] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = topic_data


class BatchIndexAndErrorMessage(Struct):
    """Of `PartitionProduceResponse.record_errors`."""

    __slots__ = ("batch_index", "batch_index_error_message")

    FIELDS = (
        Field("batch_index", INT32),
        Field("batch_index_error_message", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Struct):
    """Of `PartitionProduceResponse.current_leader`."""

    __slots__ = ("leader_id", "leader_epoch")

    FIELDS = (
        Field("leader_id", INT32, default=-1),
        Field("leader_epoch", INT32, default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionProduceResponse(Struct):
    """Of `TopicProduceResponse.partition_responses`."""

    __slots__ = (
        "index",
        "error_code",
        "base_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
        "error_message",
        "current_leader",
    )

    FIELDS = (
        Field("index", INT32),
        Field("error_code", INT16),
        Field("base_offset", INT64),
        Field("log_append_time_ms", INT64, since=2, default=-1, ignorable=True),
        Field("log_start_offset", INT64, since=5, default=-1, ignorable=True),
        Field("record_errors", Array(BatchIndexAndErrorMessage), since=8, ignorable=True),
        Field("error_message", STRING, since=8, default=None, null=(8, 32767), ignorable=True),
        Field("current_leader", LeaderIdAndEpoch, since=10, tag=0),
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: Sequence[BatchIndexAndErrorMessage] = (),
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = record_errors
        self.error_message = error_message
        self.current_leader = current_leader


class TopicProduceResponse(Struct):
    """Of `ProduceResponse.responses`."""

    __slots__ = ("name", "topic_id", "partition_responses")

    FIELDS = (
        Field("name", STRING, until=12, ignorable=True),
        Field("topic_id", UUID, since=13, ignorable=True),
        Field("partition_responses", Array(PartitionProduceResponse)),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        partition_responses: Sequence[PartitionProduceResponse] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = partition_responses


class NodeEndpoint(Struct):
    """Of `ProduceResponse.node_endpoints`."""

    __slots__ = ("node_id", "host", "port", "rack")

    FIELDS = (
        Field("node_id", INT32),
        Field("host", STRING),
        Field("port", INT32),
        Field("rack", STRING, default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class ProduceResponse(Response):
    """Versions 0 to 13, flexible from 9."""

    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")

    VERSIONS = range(0, 14)
    FLEXIBLE_FROM = 9
    KEY = 0

    FIELDS = (
        Field("responses", Array(TopicProduceResponse)),
        Field("throttle_time_ms", INT32, since=1, ignorable=True),
        Field("node_endpoints", Array(NodeEndpoint), since=10, tag=0),
    )

    def __init__(
        self,
        responses: Sequence[TopicProduceResponse] = (),
        throttle_time_ms: int = 0,
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.responses = responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = node_endpoints
