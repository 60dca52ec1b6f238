"""Records of __consumer_offsets: ShareGroupMemberMetadata, ShareGroupMetadata, ShareGroupTargetAssignmentMetadata, ShareGroupTargetAssignmentMember, ShareGroupCurrentMemberAssignment, ShareGroupStatePartitionMetadata.

Generated from `codegen/messages/share_group_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
    INT32,
    INT64,
    NO_UUID,
    STRING,
    UUID,
    Array,
    Field,
    RecordKey,
    RecordValue,
    Struct,
)


class ShareGroupMemberMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 10

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


class ShareGroupMemberMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 10

    FIELDS = (
        Field("rack_id", STRING, null=(0, 32767)),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topic_names", Array(STRING)),
    )

    def __init__(
        self,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: Sequence[str] = (),
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = subscribed_topic_names


class ShareGroupMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 11

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ShareGroupMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("epoch", "metadata_hash")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 11

    FIELDS = (
        Field("epoch", INT32),
        Field("metadata_hash", INT64),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


class ShareGroupTargetAssignmentMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 12

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ShareGroupTargetAssignmentMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("assignment_epoch", "assignment_timestamp")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 12

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


class ShareGroupTargetAssignmentMemberKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 13

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
    """Of `ShareGroupTargetAssignmentMemberValue.topic_partitions`."""

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


class ShareGroupTargetAssignmentMemberValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("topic_partitions",)

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 13

    FIELDS = (Field("topic_partitions", Array(TopicPartition)),)

    def __init__(
        self,
        topic_partitions: Sequence[TopicPartition] = (),
    ) -> None:
        self.topic_partitions = topic_partitions


class ShareGroupCurrentMemberAssignmentKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "member_id")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 14

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
    """Of `ShareGroupCurrentMemberAssignmentValue.assigned_partitions`."""

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


class ShareGroupCurrentMemberAssignmentValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 14

    FIELDS = (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned_partitions", Array(TopicPartitions)),
    )

    def __init__(
        self,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = assigned_partitions


class ShareGroupStatePartitionMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 15

    FIELDS = (Field("group_id", STRING),)

    def __init__(
        self,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class TopicPartitionsInfo(Struct):
    """Of `ShareGroupStatePartitionMetadataValue.initializing_topics` and `ShareGroupStatePartitionMetadataValue.initialized_topics`."""

    __slots__ = ("topic_id", "topic_name", "partitions")

    FIELDS = (
        Field("topic_id", UUID),
        Field("topic_name", STRING),
        Field("partitions", Array(INT32)),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        topic_name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = partitions


class TopicInfo(Struct):
    """Of `ShareGroupStatePartitionMetadataValue.deleting_topics`."""

    __slots__ = ("topic_id", "topic_name")

    FIELDS = (
        Field("topic_id", UUID),
        Field("topic_name", STRING),
    )

    def __init__(
        self,
        topic_id: bytes = NO_UUID,
        topic_name: str = "",
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name


class ShareGroupStatePartitionMetadataValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__consumer_offsets"
    TYPE = 15

    FIELDS = (
        Field("initializing_topics", Array(TopicPartitionsInfo)),
        Field("initialized_topics", Array(TopicPartitionsInfo)),
        Field("deleting_topics", Array(TopicInfo)),
    )

    def __init__(
        self,
        initializing_topics: Sequence[TopicPartitionsInfo] = (),
        initialized_topics: Sequence[TopicPartitionsInfo] = (),
        deleting_topics: Sequence[TopicInfo] = (),
    ) -> None:
        self.initializing_topics = initializing_topics
        self.initialized_topics = initialized_topics
        self.deleting_topics = deleting_topics
