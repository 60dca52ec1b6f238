"""Records of __consumer_offsets: LegacyOffsetCommit, OffsetCommit, GroupMetadata.

Generated from `codegen/messages/offset_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    BYTES,
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


class LegacyOffsetCommitKey(RecordKey):
    """Version 0."""

    __slots__ = ("group", "topic", "partition")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 0

    FIELDS = (
        Field("group", STRING),
        Field("topic", STRING),
        Field("partition", INT32),
    )

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


class LegacyOffsetCommitValue(RecordValue):
    """Version 0."""

    __slots__ = ("offset", "metadata", "commit_timestamp")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 0

    FIELDS = (
        Field("offset", INT64),
        Field("metadata", STRING),
        Field("commit_timestamp", INT64),
    )

    def __init__(
        self,
        offset: int = 0,
        metadata: str = "",
        commit_timestamp: int = 0,
    ) -> None:
        self.offset = offset
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp


class OffsetCommitKey(RecordKey):
    """Version 0."""

    __slots__ = ("group", "topic", "partition")

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 1

    FIELDS = (
        Field("group", STRING),
        Field("topic", STRING),
        Field("partition", INT32),
    )

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


class OffsetCommitValue(RecordValue):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = (
        "offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
    )

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    TOPIC = "__consumer_offsets"
    TYPE = 1

    FIELDS = (
        Field("offset", INT64),
        Field("leader_epoch", INT32, since=3, default=-1, ignorable=True),
        Field("metadata", STRING),
        Field("commit_timestamp", INT64),
        Field("expire_timestamp", INT64, since=1, until=1, default=-1, ignorable=True),
        Field("topic_id", UUID, since=4, tag=0, ignorable=True),
    )

    def __init__(
        self,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = NO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id


class GroupMetadataKey(RecordKey):
    """Version 0."""

    __slots__ = ("group",)

    VERSIONS = range(0, 1)
    TOPIC = "__consumer_offsets"
    TYPE = 2

    FIELDS = (Field("group", STRING),)

    def __init__(
        self,
        group: str = "",
    ) -> None:
        self.group = group


class MemberMetadata(Struct):
    """Of `GroupMetadataValue.members`."""

    __slots__ = (
        "member_id",
        "group_instance_id",
        "client_id",
        "client_host",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
        "assignment",
    )

    FIELDS = (
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=3, default=None, null=(3, 32767), ignorable=True),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("rebalance_timeout", INT32, since=1, default=-1, ignorable=True),
        Field("session_timeout", INT32),
        Field("subscription", BYTES),
        Field("assignment", BYTES),
    )

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: Buffer = b"",
        assignment: Buffer = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadataValue(RecordValue):
    """Versions 0 to 4, flexible from 4."""

    __slots__ = (
        "protocol_type",
        "generation",
        "protocol",
        "leader",
        "current_state_timestamp",
        "members",
    )

    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 4
    TOPIC = "__consumer_offsets"
    TYPE = 2

    FIELDS = (
        Field("protocol_type", STRING),
        Field("generation", INT32),
        Field("protocol", STRING, null=(0, 32767)),
        Field("leader", STRING, null=(0, 32767)),
        Field("current_state_timestamp", INT64, since=2, default=-1, ignorable=True),
        Field("members", Array(MemberMetadata)),
    )

    def __init__(
        self,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: Sequence[MemberMetadata] = (),
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = members
