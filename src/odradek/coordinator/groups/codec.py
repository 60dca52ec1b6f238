"""Records of `__consumer_offsets` as bytes: the types and versions that Kafka 3.9 writes.

Types that belong to other protocols (KIP-848, share and streams groups) are passed over: a log that
a newer broker wrote can be read, and its groups of the classic protocol are all there.

An offset names the id of its topic, where that is known, in the tagged field that Kafka has for it
(version 4, which every Kafka from 3.5 on can read). An old client's time of expiry goes with
version 1 alone, which has no room for an id.
"""

from collections.abc import Iterator
from sys import intern  # a topic stands in many groups, and its name is kept once
from typing import Any, Final

from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.values import (
    CommittedOffset,
    GroupKey,
    OffsetKey,
    StoredGroup,
    StoredMember,
)
from odradek.model.errors import InvalidRecord
from odradek.model.ids import NO_TOPIC_ID, ProducerId, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis, Timestamp
from odradek.wire.messages.offset_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.prefixed import UnknownRecord, read_key, read_value, write_key, write_value
from odradek.wire.schema import Buffer, RecordKey, RecordValue

TOPIC: Final = "__consumer_offsets"
GROUP_VERSION: Final = 3
OFFSET_VERSION: Final = 3
OFFSET_OF_TOPIC_VERSION: Final = 4  # names the topic's id
EXPIRING_OFFSET_VERSION: Final = 1  # the only one with a time of its own at which it expires


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """The record's key and value; no value deletes."""
    match entry.key:
        case GroupKey(group):
            key = write_key(GroupMetadataKey(group))
            return key, None if entry.value is None else _encode_group(entry.value)
        case OffsetKey(group, (topic, partition)):
            key = write_key(OffsetCommitKey(group, topic, partition))
            return key, None if entry.value is None else _encode_offset(entry.value)
        case _:
            raise AssertionError(entry)


def decode(
    key: Buffer | None, value: Buffer | None, producer: ProducerId | None = None
) -> Entry | None:
    """What a record says; None if it is of a type or version that does not concern us.

    InvalidRecord where the bytes are none of Kafka's, or say what cannot be.
    """
    if key is None:
        raise InvalidRecord(f"a record without a key in {TOPIC}")
    try:
        subject = read_key(TOPIC, key)
        about = _key(subject)
        if about is None:
            return None
        if value is None:
            return Entry(about, None, producer)
        return Entry(about, _value(read_value(subject, value)), producer)
    except UnknownRecord:
        return None


def _key(key: RecordKey) -> GroupKey | OffsetKey | None:
    match key:
        case GroupMetadataKey():
            return GroupKey(key.group)
        case OffsetCommitKey() | LegacyOffsetCommitKey():
            return OffsetKey(key.group, TopicPartition(intern(key.topic), key.partition))
        case _:
            return None


def _value(value: RecordValue) -> StoredGroup | CommittedOffset:
    match value:
        case GroupMetadataValue():
            return _decode_group(value)
        case OffsetCommitValue():
            return CommittedOffset(
                Offset(value.offset),
                LeaderEpoch(value.leader_epoch) if value.leader_epoch >= 0 else None,
                value.metadata,
                Timestamp(value.commit_timestamp),
                _timestamp(value.expire_timestamp),
                None if value.topic_id == NO_TOPIC_ID else TopicId(bytes(value.topic_id)),
            )
        case LegacyOffsetCommitValue():
            committed_at = Timestamp(value.commit_timestamp)
            return CommittedOffset(Offset(value.offset), None, value.metadata, committed_at)
        case _:
            raise AssertionError(value)


def _encode_offset(value: Any) -> bytes:
    assert isinstance(value, CommittedOffset), value
    return write_value(
        OffsetCommitValue(
            offset=value.offset,
            leader_epoch=-1 if value.leader_epoch is None else value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.committed_at,
            expire_timestamp=-1 if value.expires_at is None else value.expires_at,
            topic_id=value.topic_id or NO_TOPIC_ID,
        ),
        _offset_version(value),
    )


def _offset_version(value: CommittedOffset) -> int:
    if value.expires_at is not None:
        return EXPIRING_OFFSET_VERSION
    return OFFSET_VERSION if value.topic_id is None else OFFSET_OF_TOPIC_VERSION


def _encode_group(value: Any) -> bytes:
    assert isinstance(value, StoredGroup), value
    members = [MemberMetadata(*member) for member in value.members]
    return write_value(
        GroupMetadataValue(
            protocol_type=value.protocol_type,
            generation=value.generation,
            protocol=value.protocol,
            leader=value.leader,
            current_state_timestamp=-1 if value.since is None else value.since,
            members=members,
        ),
        GROUP_VERSION,
    )


def _decode_group(value: GroupMetadataValue) -> StoredGroup:
    members = tuple(_decode_members(value))
    if members and value.protocol is None:
        raise InvalidRecord(f"a group of {len(members)} members without a protocol")
    return StoredGroup(
        value.protocol_type,
        value.generation,
        value.protocol if members else None,
        value.leader if members else None,
        _timestamp(value.current_state_timestamp),
        members,
    )


def _decode_members(value: GroupMetadataValue) -> Iterator[StoredMember]:
    ids, instances = set(), set()
    for member in value.members:
        if member.member_id in ids or member.group_instance_id in instances:
            raise InvalidRecord(f"member {member.member_id!r} is in the group twice")
        ids.add(member.member_id)
        if member.group_instance_id is not None:
            instances.add(member.group_instance_id)
        unset = member.rebalance_timeout < 0  # records of long ago have none
        yield StoredMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            Millis(member.session_timeout if unset else member.rebalance_timeout),
            Millis(member.session_timeout),
            bytes(member.subscription),
            bytes(member.assignment),
        )


def _timestamp(value: int) -> Timestamp | None:
    return Timestamp(value) if value >= 0 else None
