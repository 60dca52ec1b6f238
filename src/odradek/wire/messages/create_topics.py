"""CreateTopics (key 19), versions 0 to 7, flexible from 5.

Generated from `codegen/messages/create_topics.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    INT8,
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


class CreatableReplicaAssignment(Struct):
    """Of `CreatableTopic.assignments`."""

    __slots__ = ("partition_index", "broker_ids")

    FIELDS = (
        Field("partition_index", INT32),
        Field("broker_ids", Array(INT32)),
    )

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = broker_ids


class CreatableTopicConfig(Struct):
    """Of `CreatableTopic.configs`."""

    __slots__ = ("name", "value")

    FIELDS = (
        Field("name", STRING),
        Field("value", STRING, null=(0, 32767)),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Struct):
    """Of `CreateTopicsRequest.topics`."""

    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")

    FIELDS = (
        Field("name", STRING),
        Field("num_partitions", INT32),
        Field("replication_factor", INT16),
        Field("assignments", Array(CreatableReplicaAssignment)),
        Field("configs", Array(CreatableTopicConfig)),
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Sequence[CreatableTopicConfig] = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = assignments
        self.configs = configs


class CreateTopicsRequest(Request):
    """Versions 0 to 7, flexible from 5."""

    __slots__ = ("topics", "timeout_ms", "validate_only")

    VERSIONS = range(0, 8)
    FLEXIBLE_FROM = 5
    KEY = 19

    FIELDS = (
        Field("topics", Array(CreatableTopic)),
        Field("timeout_ms", INT32, default=60000),
        Field("validate_only", BOOL, since=1),
    )

    def __init__(
        self,
        topics: Sequence[CreatableTopic] = (),
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreatableTopicConfigs(Struct):
    """Of `CreatableTopicResult.configs`."""

    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")

    FIELDS = (
        Field("name", STRING),
        Field("value", STRING, null=(0, 32767)),
        Field("read_only", BOOL),
        Field("config_source", INT8, default=-1, ignorable=True),
        Field("is_sensitive", BOOL),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreatableTopicResult(Struct):
    """Of `CreateTopicsResponse.topics`."""

    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )

    FIELDS = (
        Field("name", STRING),
        Field("topic_id", UUID, since=7, ignorable=True),
        Field("error_code", INT16),
        Field("error_message", STRING, since=1, null=(1, 32767), ignorable=True),
        Field("topic_config_error_code", INT16, since=5, tag=0, ignorable=True),
        Field("num_partitions", INT32, since=5, default=-1, ignorable=True),
        Field("replication_factor", INT16, since=5, default=-1, ignorable=True),
        Field("configs", Array(CreatableTopicConfigs), since=5, null=(5, 32767), ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: bytes = NO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Sequence[CreatableTopicConfigs] | None = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = configs


class CreateTopicsResponse(Response):
    """Versions 0 to 7, flexible from 5."""

    __slots__ = ("throttle_time_ms", "topics")

    VERSIONS = range(0, 8)
    FLEXIBLE_FROM = 5
    KEY = 19

    FIELDS = (
        Field("throttle_time_ms", INT32, since=2, ignorable=True),
        Field("topics", Array(CreatableTopicResult)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: Sequence[CreatableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = topics
