"""StreamsGroupDescribe (key 89), version 0, flexible from 0.

Generated from `codegen/messages/streams_group_describe.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BOOL,
    DEFAULT,
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


class StreamsGroupDescribeRequest(Request):
    """Version 0, flexible from 0."""

    __slots__ = ("group_ids", "include_authorized_operations")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 89

    FIELDS = (
        Field("group_ids", Array(STRING)),
        Field("include_authorized_operations", BOOL),
    )

    def __init__(
        self,
        group_ids: Sequence[str] = (),
        include_authorized_operations: bool = False,
    ) -> None:
        self.group_ids = group_ids
        self.include_authorized_operations = include_authorized_operations


class KeyValue(Struct):
    """Of `Member.client_tags` and `TopicInfo.topic_configs`."""

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


class Subtopology(Struct):
    """Of `Topology.subtopologies`."""

    __slots__ = (
        "subtopology_id",
        "source_topics",
        "repartition_sink_topics",
        "state_changelog_topics",
        "repartition_source_topics",
    )

    FIELDS = (
        Field("subtopology_id", STRING),
        Field("source_topics", Array(STRING)),
        Field("repartition_sink_topics", Array(STRING)),
        Field("state_changelog_topics", Array(TopicInfo)),
        Field("repartition_source_topics", Array(TopicInfo)),
    )

    def __init__(
        self,
        subtopology_id: str = "",
        source_topics: Sequence[str] = (),
        repartition_sink_topics: Sequence[str] = (),
        state_changelog_topics: Sequence[TopicInfo] = (),
        repartition_source_topics: Sequence[TopicInfo] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics = source_topics
        self.repartition_sink_topics = repartition_sink_topics
        self.state_changelog_topics = state_changelog_topics
        self.repartition_source_topics = repartition_source_topics


class Topology(Struct):
    """Of `DescribedGroup.topology`."""

    __slots__ = ("epoch", "subtopologies")

    FIELDS = (
        Field("epoch", INT32),
        Field("subtopologies", Array(Subtopology), default=None, null=(0, 32767)),
    )

    def __init__(
        self,
        epoch: int = 0,
        subtopologies: Sequence[Subtopology] | None = None,
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies


class Endpoint(Struct):
    """Of `Member.user_endpoint`."""

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
    """Of `Member.task_offsets` and `Member.task_end_offsets`."""

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


class TaskIds(Struct):
    """Of `Assignment.active_tasks` and `Assignment.standby_tasks` and `Assignment.warmup_tasks`."""

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


class Assignment(Struct):
    """Of `Member.assignment` and `Member.target_assignment`."""

    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

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


class Member(Struct):
    """Of `DescribedGroup.members`."""

    __slots__ = (
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "topology_epoch",
        "process_id",
        "user_endpoint",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "assignment",
        "target_assignment",
        "is_classic",
    )

    FIELDS = (
        Field("member_id", STRING),
        Field("member_epoch", INT32),
        Field("instance_id", STRING, default=None, null=(0, 32767)),
        Field("rack_id", STRING, default=None, null=(0, 32767)),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("topology_epoch", INT32),
        Field("process_id", STRING),
        Field("user_endpoint", Endpoint, default=None, null=(0, 32767)),
        Field("client_tags", Array(KeyValue)),
        Field("task_offsets", Array(TaskOffset)),
        Field("task_end_offsets", Array(TaskOffset)),
        Field("assignment", Assignment),
        Field("target_assignment", Assignment),
        Field("is_classic", BOOL),
    )

    def __init__(
        self,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: Sequence[KeyValue] = (),
        task_offsets: Sequence[TaskOffset] = (),
        task_end_offsets: Sequence[TaskOffset] = (),
        assignment: Assignment = DEFAULT,
        target_assignment: Assignment = DEFAULT,
        is_classic: bool = False,
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.assignment = Assignment() if assignment is DEFAULT else assignment
        self.target_assignment = Assignment() if target_assignment is DEFAULT else target_assignment
        self.is_classic = is_classic


class DescribedGroup(Struct):
    """Of `StreamsGroupDescribeResponse.groups`."""

    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "topology",
        "members",
        "authorized_operations",
    )

    FIELDS = (
        Field("error_code", INT16),
        Field("error_message", STRING, default=None, null=(0, 32767)),
        Field("group_id", STRING),
        Field("group_state", STRING),
        Field("group_epoch", INT32),
        Field("assignment_epoch", INT32),
        Field("topology", Topology, default=None, null=(0, 32767)),
        Field("members", Array(Member)),
        Field("authorized_operations", INT32, default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members = members
        self.authorized_operations = authorized_operations


class StreamsGroupDescribeResponse(Response):
    """Version 0, flexible from 0."""

    __slots__ = ("throttle_time_ms", "groups")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    KEY = 89

    FIELDS = (
        Field("throttle_time_ms", INT32),
        Field("groups", Array(DescribedGroup)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = groups
