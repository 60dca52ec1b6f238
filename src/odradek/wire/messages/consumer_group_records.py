"""Records of __consumer_offsets: ConsumerGroupMetadata, ConsumerGroupPartitionMetadata, ConsumerGroupMemberMetadata, ConsumerGroupTargetAssignmentMetadata, ConsumerGroupTargetAssignmentMember, ConsumerGroupCurrentMemberAssignment, ConsumerGroupRegularExpression.

Generated from `codegen/messages/consumer_group_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BYTES,
    DEFAULT,
    INT8,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Buffer,
    Field,
    RecordKey,
    RecordValue,
    Struct,
)


class ConsumerGroupMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 3

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ConsumerGroupMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("epoch", "metadata_hash")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 3

    FIELDS = (
        Field("epoch", INT32),
        Field("metadata_hash", INT64, tag=0),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


class ConsumerGroupPartitionMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 4

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class PartitionMetadata(Struct):
    """Of `TopicMetadata.partition_metadata`."""

    __slots__ = ("partition", "racks")

    FIELDS = (
        Field("partition", INT32),
        Field("racks", Array(STRING)),
    )

    def __init__(
        self,
        partition: int = 0,
        racks: Sequence[str] = (),
    ) -> None:
        self.partition = partition
        self.racks = racks


class TopicMetadata(Struct):
    """Of `ConsumerGroupPartitionMetadataValue.topics`."""

    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    FIELDS = (
        Field("topic_id", UUID),
        Field("topic_name", STRING),
        Field("num_partitions", INT32),
        Field("partition_metadata", Array(PartitionMetadata)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: Sequence[PartitionMetadata] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = partition_metadata


class ConsumerGroupPartitionMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("topics",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 4

    FIELDS = (Field("topics", Array(TopicMetadata)),)

    def __init__(
        self,
        topics: Sequence[TopicMetadata] = (),
    ) -> None:
        self.topics = topics


class ConsumerGroupMemberMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 5

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


class ClassicProtocol(Struct):
    """Of `ClassicMemberMetadata.supported_protocols`."""

    __slots__ = ("name", "metadata")

    FIELDS = (
        Field("name", STRING),
        Field("metadata", BYTES),
    )

    def __init__(
        self,
        name: str = "",
        metadata: Buffer = b"",
    ) -> None:
        self.name = name
        self.metadata = metadata


class ClassicMemberMetadata(Struct):
    """Of `ConsumerGroupMemberMetadataValue.classic_member_metadata`."""

    __slots__ = ("session_timeout_ms", "supported_protocols")

    FIELDS = (
        Field("session_timeout_ms", INT32),
        Field("supported_protocols", Array(ClassicProtocol)),
    )

    def __init__(
        self,
        session_timeout_ms: int = 0,
        supported_protocols: Sequence[ClassicProtocol] = (),
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols = supported_protocols


class ConsumerGroupMemberMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "instance_id",
        "rack_id",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "rebalance_timeout_ms",
        "server_assignor",
        "classic_member_metadata",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 5

    FIELDS = (
        Field("instance_id", STRING, null=(0, 32767)),
        Field("rack_id", STRING, null=(0, 32767)),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topic_names", Array(STRING)),
        Field("subscribed_topic_regex", STRING, null=(0, 32767)),
        Field("rebalance_timeout_ms", INT32, default=-1),
        Field("server_assignor", STRING, null=(0, 32767)),
        Field("classic_member_metadata", ClassicMemberMetadata, null=(0, 32767), tag=0),
    )

    def __init__(
        self,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = DEFAULT,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata = (
            ClassicMemberMetadata()
            if classic_member_metadata is DEFAULT
            else classic_member_metadata
        )


class ConsumerGroupTargetAssignmentMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 6

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ConsumerGroupTargetAssignmentMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 6

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


class ConsumerGroupTargetAssignmentMemberKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 7

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


class TopicPartition(Struct):
    """Of `ConsumerGroupTargetAssignmentMemberValue.topic_partitions`."""

    __slots__ = ("topic_id", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions


class ConsumerGroupTargetAssignmentMemberValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("topic_partitions",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 7

    FIELDS = (Field("topic_partitions", Array(TopicPartition)),)

    def __init__(
        self,
        topic_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class ConsumerGroupCurrentMemberAssignmentKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 8

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


class TopicPartitions(Struct):
    """Of `ConsumerGroupCurrentMemberAssignmentValue.assigned_partitions` and `ConsumerGroupCurrentMemberAssignmentValue.partitions_pending_revocation`."""

    __slots__ = ("topic_id", "partitions", "assignment_epochs")

    FIELDS = (
        Field("topic_id", UUID),
        Field("partitions", Array(INT32)),
        Field("assignment_epochs", Array(INT32), null=(0, 32767), tag=0),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        partitions: Sequence[int] = (),
        assignment_epochs: Sequence[int] | None = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions = partitions
        self.assignment_epochs = assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "member_epoch",
        "previous_member_epoch",
        "state",
        "assigned_partitions",
        "partitions_pending_revocation",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 8

    FIELDS = (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned_partitions", Array(TopicPartitions)),
        Field("partitions_pending_revocation", Array(TopicPartitions)),
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: Sequence[TopicPartitions] = (),
        partitions_pending_revocation: Sequence[TopicPartitions] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = assigned_partitions
        self.partitions_pending_revocation = partitions_pending_revocation


class ConsumerGroupRegularExpressionKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "regular_expression")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 16

    FIELDS = (
        Field("group_id", STRING),
        Field("regular_expression", STRING),
    )

    def __init__(
        self,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression


class ConsumerGroupRegularExpressionValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("topics", "version", "timestamp")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 16

    FIELDS = (
        Field("topics", Array(STRING)),
        Field("version", INT64),
        Field("timestamp", INT64),
    )

    def __init__(
        self,
        topics: Sequence[str] = (),
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = topics
        self.version = version
        self.timestamp = timestamp
