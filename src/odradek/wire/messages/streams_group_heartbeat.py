"""StreamsGroupHeartbeat (key 88), version 0, flexible from 0.

Generated from `codegen/messages/streams_group_heartbeat.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    DEFAULT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    Array,
    Field,
    Request,
    Response,
    Struct,
)


class KeyValue(Struct):
    """Of `StreamsGroupHeartbeatRequest.client_tags` and `TopicInfo.topic_configs`."""

    __slots__ = ("key", "value")

    FIELDS = (
        Field("key", STRING),
        Field("value", STRING),
    )

    def __init__(
        self,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value


class TopicInfo(Struct):
    """Of `Subtopology.state_changelog_topics` and `Subtopology.repartition_source_topics`."""

    __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

    FIELDS = (
        Field("name", STRING),
        Field("partitions", INT32),
        Field("replication_factor", INT16),
        Field("topic_configs", Array(KeyValue)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: Sequence[KeyValue] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs = topic_configs


class CopartitionGroup(Struct):
    """Of `Subtopology.copartition_groups`."""

    __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")

    FIELDS = (
        Field("source_topics", Array(INT16)),
        Field("source_topic_regex", Array(INT16)),
        Field("repartition_source_topics", Array(INT16)),
    )

    def __init__(
        self,
        source_topics: Sequence[int] = (),
        source_topic_regex: Sequence[int] = (),
        repartition_source_topics: Sequence[int] = (),
    ) -> None:
        self.source_topics = source_topics
        self.source_topic_regex = source_topic_regex
        self.repartition_source_topics = repartition_source_topics


class Subtopology(Struct):
    """Of `Topology.subtopologies`."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "source_topic_regex",
        "state_changelog_topics",
        "repartition_sink_topics",
        "repartition_source_topics",
        "copartition_groups",
    )

    FIELDS = (
        Field("subtopology_id", STRING),
        Field("source_topics", Array(STRING)),
        Field("source_topic_regex", Array(STRING)),
        Field("state_changelog_topics", Array(TopicInfo)),
        Field("repartition_sink_topics", Array(STRING)),
        Field("repartition_source_topics", Array(TopicInfo)),
        Field("copartition_groups", Array(CopartitionGroup)),
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        source_topic_regex: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_sink_topics: Sequence[str] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
        copartition_groups: Sequence[CopartitionGroup] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = source_topics
        self.source_topic_regex = source_topic_regex
        self.state_changelog_topics = state_changelog_topics
        self.repartition_sink_topics = repartition_sink_topics
        self.repartition_source_topics = repartition_source_topics
        self.copartition_groups = copartition_groups


class Topology(Struct):
    """Of `StreamsGroupHeartbeatRequest.topology`."""

    __slots__ = ("epoch", "subtopologies")

    FIELDS = (
        Field("epoch", INT32),
        Field("subtopologies", Array(Subtopology)),
    )

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


class TaskIds(Struct):
    """Of `StreamsGroupHeartbeatRequest.active_tasks` and `StreamsGroupHeartbeatRequest.standby_tasks` and `StreamsGroupHeartbeatRequest.warmup_tasks` and `StreamsGroupHeartbeatResponse.active_tasks` and `StreamsGroupHeartbeatResponse.standby_tasks` and `StreamsGroupHeartbeatResponse.warmup_tasks`."""

    __slots__ = ("subtopology_id", "partitions")

    FIELDS = (
        Field("subtopology_id", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = partitions


class Endpoint(Struct):
    """Of `StreamsGroupHeartbeatRequest.user_endpoint` and `EndpointToPartitions.user_endpoint`."""

    __slots__ = ("host", "port")

    FIELDS = (
        Field("host", STRING),
        Field("port", UINT16),
    )

    def __init__(
        self,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.host = host
        self.port = port


class TaskOffset(Struct):
    """Of `StreamsGroupHeartbeatRequest.task_offsets` and `StreamsGroupHeartbeatRequest.task_end_offsets`."""

    __slots__ = ("subtopology_id", "partition", "offset")

    FIELDS = (
        Field("subtopology_id", STRING),
        Field("partition", INT32),
        Field("offset", INT64),
    )

    def __init__(
        self,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset


class StreamsGroupHeartbeatRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "endpoint_information_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "shutdown_application",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 88

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
        Field("member_epoch", INT32),
        Field("endpoint_information_epoch", INT32),
        Field("instance_id", STRING, default=None, null=(0, 32767)),
        Field("rack_id", STRING, default=None, null=(0, 32767)),
        Field("rebalance_timeout_ms", INT32, default=-1),
        Field("topology", Topology, default=None, null=(0, 32767)),
        Field("active_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("standby_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("warmup_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("process_id", STRING, default=None, null=(0, 32767)),
        Field("user_endpoint", Endpoint, default=None, null=(0, 32767)),
        Field("client_tags", Array(KeyValue), default=None, null=(0, 32767)),
        Field("task_offsets", Array(TaskOffset), default=None, null=(0, 32767)),
        Field("task_end_offsets", Array(TaskOffset), default=None, null=(0, 32767)),
        Field("shutdown_application", BOOL),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] | None = None,
        task_offsets: Sequence[TaskOffset] | None = None,
        task_end_offsets: Sequence[TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application


class Status(Struct):
    """Of `StreamsGroupHeartbeatResponse.status`."""

    __slots__ = ("status_code", "status_detail")

    FIELDS = (
        Field("status_code", INT8),
        Field("status_detail", STRING),
    )

    def __init__(
        self,
        status_code: int = 0,
        status_detail: str = "",
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail


class TopicPartition(Struct):
    """Of `EndpointToPartitions.active_partitions` and `EndpointToPartitions.standby_partitions`."""

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


class EndpointToPartitions(Struct):
    """Of `StreamsGroupHeartbeatResponse.partitions_by_user_endpoint`."""

    __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")

    FIELDS = (
        Field("user_endpoint", Endpoint),
        Field("active_partitions", Array(TopicPartition)),
        Field("standby_partitions", Array(TopicPartition)),
    )

    def __init__(
        self,
        user_endpoint: Endpoint = DEFAULT,
        active_partitions: Sequence[TopicPartition] = (),
        standby_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.user_endpoint = Endpoint() if user_endpoint is DEFAULT else user_endpoint
        self.active_partitions = active_partitions
        self.standby_partitions = standby_partitions


class StreamsGroupHeartbeatResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "member_id",
        "member_epoch",
        "heartbeat_interval_ms",
        "acceptable_recovery_lag",
        "task_offset_interval_ms",
        "status",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "endpoint_information_epoch",
        "partitions_by_user_endpoint",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 88

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("member_id", STRING),
        Field("member_epoch", INT32),
        Field("heartbeat_interval_ms", INT32),
        Field("acceptable_recovery_lag", INT32),
        Field("task_offset_interval_ms", INT32),
        Field("status", Array(Status), null=(0, 32767)),
        Field("active_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("standby_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("warmup_tasks", Array(TaskIds), default=None, null=(0, 32767)),
        Field("endpoint_information_epoch", INT32),
        Field(
            "partitions_by_user_endpoint",
            Array(EndpointToPartitions),
            default=None,
            null=(0, 32767),
        ),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag: int = 0,
        task_offset_interval_ms: int = 0,
        status: Sequence[Status] | None = (),
        active_tasks: Sequence[TaskIds] | None = None,
        standby_tasks: Sequence[TaskIds] | None = None,
        warmup_tasks: Sequence[TaskIds] | None = None,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: Sequence[EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.task_offset_interval_ms = task_offset_interval_ms
        self.status = status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
