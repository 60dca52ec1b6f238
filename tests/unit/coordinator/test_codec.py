"""Records of `__consumer_offsets`, as Kafka 3.9 writes them."""

from dataclasses import replace

import pytest

from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.codec import decode, encode
from odradek.coordinator.groups.values import (
    CommittedOffset,
    GroupKey,
    OffsetKey,
    StoredGroup,
    StoredMember,
)
from odradek.model.errors import InvalidRecord
from odradek.model.ids import ProducerId, TopicId, TopicPartition
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
from odradek.wire.prefixed import read_key, read_value, write_key, write_value

ABOUT = OffsetKey("g", TopicPartition("orders", 3))
OF_TOPIC = CommittedOffset(Offset(7), None, "", Timestamp(5), topic_id=TopicId(b"sixteen of these"))
MEMBER = StoredMember("m", "i", "app", "/h", Millis(60), Millis(10), b"wish", b"share")
GROUP = StoredGroup("consumer", 4, "range", "m", Timestamp(99), (MEMBER,))


@pytest.mark.parametrize(
    "entry",
    [
        Entry(ABOUT, CommittedOffset(Offset(7), LeaderEpoch(2), "note", Timestamp(5))),
        Entry(ABOUT, CommittedOffset(Offset(7), None, "", Timestamp(5), Timestamp(8))),
        Entry(ABOUT, CommittedOffset(Offset(7), None, "", Timestamp(5)), ProducerId(9)),
        Entry(ABOUT, OF_TOPIC),
        Entry(ABOUT, None),
        Entry(GroupKey("g"), GROUP),
        Entry(GroupKey("g"), StoredGroup("", 0, None, None, None, ())),
        Entry(GroupKey("g"), None),
    ],
)
def test_what_was_written_is_read(entry: Entry) -> None:
    """All of it, and the producer is the batch's."""
    assert decode(*encode(entry), entry.producer) == entry


def test_values_are_written_in_the_versions_of_kafka_3_9() -> None:
    """3, and 1 where an offset says itself when it expires; keys are of types 1 and 2."""
    committed = CommittedOffset(Offset(7), None, "", Timestamp(5))
    expiring = CommittedOffset(Offset(7), None, "", Timestamp(5), Timestamp(8))
    key, value = encode(Entry(ABOUT, committed))
    assert (key[:2], (value or b"")[:2]) == (b"\0\1", b"\0\3")
    assert (encode(Entry(ABOUT, expiring))[1] or b"")[:2] == b"\0\1"
    key, value = encode(Entry(GroupKey("g"), GROUP))
    assert (key[:2], (value or b"")[:2]) == (b"\0\2", b"\0\3")


def test_old_records_are_read() -> None:
    """Keys of type 0; groups that know neither rebalance timeouts nor times."""
    found = decode(
        write_key(LegacyOffsetCommitKey("g", "orders", 3)),
        write_value(LegacyOffsetCommitValue(7, "x", 5), 0),
    )
    assert found == Entry(ABOUT, CommittedOffset(Offset(7), None, "x", Timestamp(5)))
    member = MemberMetadata("m", session_timeout=10)
    old = GroupMetadataValue("consumer", 1, "range", "m", members=[member])
    found = decode(write_key(GroupMetadataKey("g")), write_value(old, 0))
    assert found is not None
    assert (found.value.since, found.value.members[0].rebalance_timeout) == (None, 10)


def test_records_of_other_protocols_are_passed_over() -> None:
    """So are versions that only a newer broker writes."""
    assert decode(b"\0\3\0\1g", b"\0\0\0\0") is None
    assert decode(b"\0\x77whatever", b"") is None
    assert decode(write_key(OffsetCommitKey("g", "t", 0)), b"\0\x63") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0\3"),
        (b"", b""),
        (b"\0\1\0\x7fg", b"\0\3"),
        (write_key(GroupMetadataKey("g")), b"\0"),
        (write_key(GroupMetadataKey("g")), b"\0\3\0"),
        (write_key(OffsetCommitKey("g", "t", 0)), write_value(OffsetCommitValue(1), 3)[:-1]),
    ],
)
def test_bytes_that_make_no_sense_are_refused(key: bytes | None, value: bytes) -> None:
    """By an error of ours, whatever they are."""
    with pytest.raises(InvalidRecord):
        decode(key, value)


@pytest.mark.parametrize(
    "members",
    [
        [MemberMetadata("m"), MemberMetadata("m")],
        [MemberMetadata("m", "name"), MemberMetadata("n", "name")],
    ],
)
def test_a_member_stands_in_a_group_once(members: list[MemberMetadata]) -> None:
    """Two of one id or name cannot both be right."""
    value = GroupMetadataValue("consumer", 1, "range", "m", members=members)
    with pytest.raises(InvalidRecord):
        decode(write_key(GroupMetadataKey("g")), write_value(value, 3))


def test_members_need_a_protocol() -> None:
    """It says which of their wishes counts."""
    value = GroupMetadataValue("consumer", 1, None, "m", members=[MemberMetadata("m")])
    with pytest.raises(InvalidRecord):
        decode(write_key(GroupMetadataKey("g")), write_value(value, 3))


def test_the_topics_id_stands_where_kafka_has_it() -> None:
    """Version 4; with a time of expiry there is none, for only version 1 has such a time."""
    key, value = encode(Entry(ABOUT, OF_TOPIC))
    assert value is not None
    assert value[:2] == b"\x00\x04"
    found = read_value(read_key("__consumer_offsets", key), value)
    assert isinstance(found, OffsetCommitValue)
    assert found.topic_id == OF_TOPIC.topic_id
    expiring = replace(OF_TOPIC, expires_at=Timestamp(8))
    assert decode(*encode(Entry(ABOUT, expiring))) == Entry(ABOUT, replace(expiring, topic_id=None))
