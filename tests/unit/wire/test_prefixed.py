"""Messages that say their own version: records of the internal topics, and subscriptions."""

import pytest

from odradek.model.errors import InvalidRecord, MalformedRequest
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.wire.apis import RECORD_TYPES
from odradek.wire.messages.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from odradek.wire.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from odradek.wire.messages.offset_records import (
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.messages.transaction_records import TransactionLogKey, TransactionLogValue
from odradek.wire.prefixed import (
    UnknownRecord,
    read_key,
    read_prefixed,
    read_value,
    write_key,
    write_prefixed,
    write_value,
)


def test_the_key_says_which_record_it_is() -> None:
    """The int16 before it is a type, and picks the class."""
    for key in (
        LegacyOffsetCommitKey("g", "t", 1),
        OffsetCommitKey("g", "t", 1),
        GroupMetadataKey("g"),
    ):
        data = write_key(key)
        assert int.from_bytes(data[:2], "big") == key.TYPE
        assert read_key(GROUP_METADATA_TOPIC, data) == key
    assert read_key(TRANSACTION_STATE_TOPIC, b"\0\0\0\x01x") == TransactionLogKey("x")


@pytest.mark.parametrize("version", range(5))
def test_the_value_says_its_version(version: int) -> None:
    """A committed offset is read whichever release wrote it."""
    value = OffsetCommitValue(offset=42, metadata="m", commit_timestamp=7)
    data = write_value(value, version)
    assert read_value(OffsetCommitKey("g", "t", 1), memoryview(data)) == value
    assert data[:2] == bytes((0, version))


def test_the_bytes_are_kafkas() -> None:
    """A known offset commit, as Kafka 3.9 writes it (value version 3)."""
    value = OffsetCommitValue(offset=5, leader_epoch=-1, metadata="", commit_timestamp=256)
    assert write_key(OffsetCommitKey("g", "t", 2)) == b"\0\x01\0\x01g\0\x01t\0\0\0\x02"
    assert write_value(value, 3) == (
        b"\0\x03\0\0\0\0\0\0\0\x05\xff\xff\xff\xff\0\0\0\0\0\0\0\0\x01\0"
    )


@pytest.mark.parametrize(
    ("metadata", "tags"),
    [
        (ClassicMemberMetadata(), b"\0"),
        (None, b"\x01\0\x01\0"),
        (ClassicMemberMetadata(7), b"\x01\0\x07\x01\0\0\0\x07\x01\0"),
    ],
)
def test_a_struct_in_a_tagged_field_that_may_be_null(
    metadata: ClassicMemberMetadata | None, tags: bytes
) -> None:
    """As Kafka 3.9 writes it: 0 is null there, and not -1 as elsewhere; a default is left out."""
    value = ConsumerGroupMemberMetadataValue(classic_member_metadata=metadata)
    data = write_value(value, 0)
    assert data == b"\0\0\x01\x01\x01\x01\x01\x01\xff\xff\xff\xff\x01" + tags
    assert read_value(ConsumerGroupMemberMetadataKey("g", "m"), data) == value


def test_a_record_that_is_newer_than_we_are_is_told_apart() -> None:
    """Its reader may pass over it; a broken one must not be passed over."""
    with pytest.raises(UnknownRecord, match="type 99"):
        read_key(GROUP_METADATA_TOPIC, b"\0\x63")
    with pytest.raises(UnknownRecord, match="OffsetCommitValue v9"):
        read_value(OffsetCommitKey("g", "t", 1), b"\0\x09")


@pytest.mark.parametrize("length", range(9))
def test_a_key_that_is_cut_is_no_key(length: int) -> None:
    """Cut at any byte it is refused: no part of a key is taken for the whole."""
    with pytest.raises(InvalidRecord):
        read_key(GROUP_METADATA_TOPIC, write_key(OffsetCommitKey("g", "t", 1))[:length])


def test_a_value_that_is_cut_is_no_value() -> None:
    """Cut at any byte it is refused, and the topic is named where it came from."""
    key = TransactionLogKey("x")
    data = write_value(TransactionLogValue(producer_id=9, transaction_partitions=None), 1)
    for length in range(len(data)):
        with pytest.raises(InvalidRecord, match="__transaction_state"):
            read_value(key, data[:length])


def test_every_type_of_record_has_its_two_classes() -> None:
    """The table and the modules belong together."""
    for (topic, number), kind in RECORD_TYPES.items():
        assert (topic, number) == (kind.key.TOPIC, kind.key.TYPE)
        assert (topic, number) == (kind.value.TOPIC, kind.value.TYPE)


def test_a_newer_subscription_is_read_as_the_newest_we_know() -> None:
    """Consumers of several releases share a group; later versions only add at the end."""
    subscription = ConsumerProtocolSubscription(["orders"], b"\x01", rack_id="a")
    data = write_prefixed(subscription, 3)
    assert read_prefixed(ConsumerProtocolSubscription, data) == subscription
    assert read_prefixed(ConsumerProtocolSubscription, b"\0\x09" + data[2:]) == subscription


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\x01\0\0\0\x05"])
def test_an_assignment_that_is_none_is_refused(data: bytes) -> None:
    """It comes from a group's leader, and is believed no more than any request."""
    with pytest.raises(MalformedRequest):
        read_prefixed(ConsumerProtocolAssignment, data)
