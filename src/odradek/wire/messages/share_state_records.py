"""Records of __share_group_state: ShareSnapshot, ShareUpdate.

Generated from `codegen/messages/share_state_records.txt` by `python -m codegen`.
"""

from collections.abc import Sequence

from odradek.wire.schema import (
    INT8,
    INT16,
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


class ShareSnapshotKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "topic_id", "partition")

    VERSIONS = range(0, 1)
    TOPIC = "__share_group_state"
    TYPE = 0

    FIELDS = (
        Field("group_id", STRING),
        Field("topic_id", UUID),
        Field("partition", INT32),
    )

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = NO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


class StateBatch(Struct):
    """Of `ShareSnapshotValue.state_batches` and `ShareUpdateValue.state_batches`."""

    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

    FIELDS = (
        Field("first_offset", INT64),
        Field("last_offset", INT64),
        Field("delivery_state", INT8),
        Field("delivery_count", INT16),
    )

    def __init__(
        self,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class ShareSnapshotValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__share_group_state"
    TYPE = 0

    FIELDS = (
        Field("snapshot_epoch", INT32),
        Field("state_epoch", INT32),
        Field("leader_epoch", INT32),
        Field("start_offset", INT64),
        Field("delivery_complete_count", INT32, default=-1, tag=0),
        Field("create_timestamp", INT64),
        Field("write_timestamp", INT64),
        Field("state_batches", Array(StateBatch)),
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = state_batches


class ShareUpdateKey(RecordKey):
    """Version 0."""

    __slots__ = ("group_id", "topic_id", "partition")

    VERSIONS = range(0, 1)
    TOPIC = "__share_group_state"
    TYPE = 1

    FIELDS = (
        Field("group_id", STRING),
        Field("topic_id", UUID),
        Field("partition", INT32),
    )

    def __init__(
        self,
        group_id: str = "",
        topic_id: bytes = NO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


class ShareUpdateValue(RecordValue):
    """Version 0, flexible from 0."""

    __slots__ = (
        "snapshot_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "state_batches",
    )

    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0
    TOPIC = "__share_group_state"
    TYPE = 1

    FIELDS = (
        Field("snapshot_epoch", INT32),
        Field("leader_epoch", INT32),
        Field("start_offset", INT64),
        Field("delivery_complete_count", INT32, default=-1, tag=0),
        Field("state_batches", Array(StateBatch)),
    )

    def __init__(
        self,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches = state_batches
