"""Records of __consumer_offsets: StreamsGroupMetadata, StreamsGroupMemberMetadata, StreamsGroupTargetAssignmentMetadata, StreamsGroupTargetAssignmentMember, StreamsGroupCurrentMemberAssignment, StreamsGroupTopology.

Generated from `codegen/messages/streams_group_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    Array,
    Field,
    RecordKey,
    RecordValue,
    Struct,
)


class StreamsGroupMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 17

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class LastAssignmentConfig(Struct):
    """Of `StreamsGroupMetadataValue.last_assignment_configs`."""

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


class StreamsGroupMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 17

    FIELDS = (
        Field("epoch", INT32),
        Field("metadata_hash", INT64),
        Field("validated_topology_epoch", INT32, default=-1, tag=0),
        Field("last_assignment_configs", Array(LastAssignmentConfig), null=(0, 32767), tag=1),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: Sequence[LastAssignmentConfig] | None = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = last_assignment_configs


class StreamsGroupMemberMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 19

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class Endpoint(Struct):
    """Of `StreamsGroupMemberMetadataValue.user_endpoint`."""

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


class KeyValue(Struct):
    """Of `StreamsGroupMemberMetadataValue.client_tags`."""

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


class StreamsGroupMemberMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "rebalance_timeout_ms",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 19

    FIELDS = (
        Field("instance_id", STRING, null=(0, 32767)),
        Field("rack_id", STRING, null=(0, 32767)),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("rebalance_timeout_ms", INT32, default=-1),
        Field("topology_epoch", INT32),
        Field("process_id", STRING),
        Field("user_endpoint", Endpoint, default=None, null=(0, 32767)),
        Field("client_tags", Array(KeyValue)),
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags


class StreamsGroupTargetAssignmentMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 20

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class StreamsGroupTargetAssignmentMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 20

    FIELDS = (
        Field("assignment_epoch", INT32),
        Field("assignment_timestamp", INT64, tag=0, ignorable=True),
    )

    def __init__(
        self,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp


class StreamsGroupTargetAssignmentMemberKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 21

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class TaskIds(Struct):
    """Of `StreamsGroupTargetAssignmentMemberValue.active_tasks` and `StreamsGroupTargetAssignmentMemberValue.standby_tasks` and `StreamsGroupTargetAssignmentMemberValue.warmup_tasks`."""

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


class StreamsGroupTargetAssignmentMemberValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 21

    FIELDS = (
        Field("active_tasks", Array(TaskIds)),
        Field("standby_tasks", Array(TaskIds)),
        Field("warmup_tasks", Array(TaskIds)),
    )

    def __init__(
        self,
        active_tasks: Sequence[TaskIds] = (),
        standby_tasks: Sequence[TaskIds] = (),
        warmup_tasks: Sequence[TaskIds] = (),
    ) -> None:
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks


class StreamsGroupCurrentMemberAssignmentKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 22

    FIELDS = (
        Field("group_id", STRING),
        Field("member_id", STRING),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class CurrentTaskIds(Struct):
    """Of `StreamsGroupCurrentMemberAssignmentValue.active_tasks` and `StreamsGroupCurrentMemberAssignmentValue.standby_tasks` and `StreamsGroupCurrentMemberAssignmentValue.warmup_tasks` and `StreamsGroupCurrentMemberAssignmentValue.active_tasks_pending_revocation` and `StreamsGroupCurrentMemberAssignmentValue.standby_tasks_pending_revocation` and `StreamsGroupCurrentMemberAssignmentValue.warmup_tasks_pending_revocation`."""

    __slots__ = ("subtopology_id", "partitions", "assignment_epochs")

    FIELDS = (
        Field("subtopology_id", STRING),
        Field("partitions", Array(INT32)),
        Field("assignment_epochs", Array(INT32), null=(0, 32767), tag=0),
    )

    def __init__(
        self,
        subtopology_id: str = "",
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions = partitions
        self.assignment_epochs = assignment_epochs


class StreamsGroupCurrentMemberAssignmentValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "active_tasks_pending_revocation",
        "standby_tasks_pending_revocation",
        "warmup_tasks_pending_revocation",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 22

    FIELDS = (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("active_tasks", Array(CurrentTaskIds)),
        Field("standby_tasks", Array(CurrentTaskIds)),
        Field("warmup_tasks", Array(CurrentTaskIds)),
        Field("active_tasks_pending_revocation", Array(CurrentTaskIds)),
        Field("standby_tasks_pending_revocation", Array(CurrentTaskIds)),
        Field("warmup_tasks_pending_revocation", Array(CurrentTaskIds)),
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: Sequence[CurrentTaskIds] = (),
        standby_tasks: Sequence[CurrentTaskIds] = (),
        warmup_tasks: Sequence[CurrentTaskIds] = (),
        active_tasks_pending_revocation: Sequence[CurrentTaskIds] = (),
        standby_tasks_pending_revocation: Sequence[CurrentTaskIds] = (),
        warmup_tasks_pending_revocation: Sequence[CurrentTaskIds] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.active_tasks_pending_revocation = active_tasks_pending_revocation
        self.standby_tasks_pending_revocation = standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation = warmup_tasks_pending_revocation


class StreamsGroupTopologyKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 23

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class TopicConfig(Struct):
    """Of `TopicInfo.topic_configs`."""

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
        Field("topic_configs", Array(TopicConfig)),
    )

    def __init__(
        self,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: Sequence[TopicConfig] = (),
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
    """Of `StreamsGroupTopologyValue.subtopologies`."""

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


class StreamsGroupTopologyValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("epoch", "subtopologies")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 23

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
