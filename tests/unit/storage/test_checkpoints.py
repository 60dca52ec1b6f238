"""The text files of a log dir: round trips, and what a damaged one is called."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from odradek.model.ids import BrokerId, TopicId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset
from odradek.storage.errors import CorruptFile
from odradek.storage.files.checkpoints import (
    EpochStart,
    MetaProperties,
    decode_clean_shutdown,
    decode_epochs,
    decode_offsets,
    decode_partition_metadata,
    encode_clean_shutdown,
    encode_epochs,
    encode_offsets,
    encode_partition_metadata,
    has_sum,
    is_named_surely,
)

KAFKAS = b"0\n2\norders 0 42\na-b.c_d 11 0\n"
OFFSETS = {TopicPartition("orders", 0): Offset(42), TopicPartition("a-b.c_d", 11): Offset(0)}


def with_one_bit_turned(data: bytes) -> Iterator[bytes]:
    """All that rot of one bit can make of a file."""
    for at in range(len(data)):
        for bit in range(8):
            yield data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def test_offsets_are_kafkas_lines() -> None:
    """Version, count, entries: the form that Kafka reads, who parts fields at any white space."""
    data = encode_offsets(OFFSETS)
    assert [line.rstrip() for line in data.splitlines()] == KAFKAS.splitlines()
    assert decode_offsets(data, "checkpoint") == OFFSETS
    assert has_sum(data)


def test_kafkas_own_checkpoint_is_believed() -> None:
    """Nor has one of an earlier version of ours a checksum."""
    assert decode_offsets(KAFKAS, "checkpoint") == OFFSETS
    assert not has_sum(KAFKAS)
    assert encode_offsets({}) == b"0\n0\n"


def test_every_bit_of_a_checkpoint_that_turns_is_noticed() -> None:
    """Whether in a name, a number, the space between, or the checksum."""
    data = encode_offsets(OFFSETS)
    for turned in with_one_bit_turned(data):
        with pytest.raises(CorruptFile):
            decode_offsets(turned, "checkpoint")


def test_every_bit_of_a_topic_id_that_turns_is_noticed() -> None:
    """Or is harmless: then the id is what it was."""
    topic_id = TopicId(bytes(range(16)))
    for turned in with_one_bit_turned(encode_partition_metadata(topic_id)):
        with suppress(CorruptFile):
            assert decode_partition_metadata(turned, "m") == topic_id


def test_every_cut_of_a_checkpoint_is_noticed_or_harmless() -> None:
    """A file cut in half is refused; without its last newline alone it is still whole."""
    data = encode_offsets(OFFSETS)
    for end in range(len(data) - 1):
        if data[:end] == KAFKAS[:-1]:
            continue  # it looks like Kafka's own, and says the same
        with pytest.raises(CorruptFile):
            decode_offsets(data[:end], "checkpoint")
    assert decode_offsets(data[:-1], "checkpoint") == OFFSETS


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b"", 0),
        (b"1\n0\n", 0),
        (b"0\n-1\n", 2),
        (b"0\n1\norders 0\n", 4),
        (b"0\n1\norders 0 -5\n", 4),
        (b"0\n1\nor/ders 0 5\n", 4),
        (b"0\n1\norders 0 99999999999999999999\n", 4),
        (b"0\n2\norders 0 1\norders 0 2\n", 15),
        (b"0\n3\norders 0 1\n", 2),
    ],
)
def test_a_damaged_checkpoint_names_the_place(data: bytes, position: int) -> None:
    """The file and the position of the first thing that cannot be true."""
    with pytest.raises(CorruptFile) as refused:
        decode_offsets(data, "checkpoint")
    assert refused.value.position == position
    assert "checkpoint" in str(refused.value)


def test_epochs_rise() -> None:
    """A history in which an epoch or its start falls back was not written by us, nor by Kafka."""
    entries = [
        EpochStart(LeaderEpoch(0), Offset(0)),
        EpochStart(LeaderEpoch(3), Offset(17)),
    ]
    assert encode_epochs(entries).split() == b"0 2 0 0 3 17".split()
    assert decode_epochs(encode_epochs(entries), "epochs") == entries
    for wrong in (b"0\n2\n3 0\n3 17\n", b"0\n2\n3 17\n4 17\n", b"0\n2\n3 17\n4 5\n"):
        with pytest.raises(CorruptFile):
            decode_epochs(wrong, "epochs")


def test_partition_metadata_holds_the_topic_id() -> None:
    """As Kafka prints it; no id at all is a damaged file."""
    topic_id = TopicId(bytes(range(16)))
    data = encode_partition_metadata(topic_id)
    kafkas = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert data.startswith(kafkas + b"\n")  # Kafka reads two lines
    assert decode_partition_metadata(data, "m") == topic_id
    assert decode_partition_metadata(kafkas, "m") == topic_id
    assert is_named_surely(data)
    assert not is_named_surely(kafkas)
    for wrong in (b"", kafkas.replace(b"0", b"1", 1), kafkas[:-1], data[:-1]):
        with pytest.raises(CorruptFile):
            decode_partition_metadata(wrong, "m")
    with pytest.raises(CorruptFile):
        decode_partition_metadata(encode_partition_metadata(TopicId(bytes(16))), "m")


def test_meta_properties_keep_what_they_do_not_know() -> None:
    """A directory that Kafka made keeps its directory id after we wrote to it."""
    kafkas = b"#\n#Mon Jan 1\ncluster.id=abc-_X\nversion=0\nbroker.id=3\ndirectory.id=q1\n"
    properties = MetaProperties.decode(kafkas, "meta.properties")
    assert properties.broker_id == BrokerId(3)
    assert properties.cluster_id == "abc-_X"
    assert MetaProperties.decode(properties.encode(), "meta.properties") == properties
    assert b"directory.id=q1\n" in properties.encode()
    for wrong in (b"", b"version=1\n", b"version=0\nbroker.id=x\n"):
        with pytest.raises(CorruptFile):
            MetaProperties.decode(wrong, "meta.properties")


def test_the_clean_marker_names_the_broker_epoch() -> None:
    """From Kafka 3.7 on; before, the file was empty, and its being there said all."""
    data = encode_clean_shutdown(BrokerEpoch(77))
    assert data == b'{"version": 0, "brokerEpoch": 77}'
    assert decode_clean_shutdown(data) == 77
    assert decode_clean_shutdown(b"") == -1
    assert decode_clean_shutdown(b"[1]") == -1
