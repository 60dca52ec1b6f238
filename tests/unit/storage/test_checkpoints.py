"""The text files of a log dir: round trips, and what a damaged one is called."""

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
)

OFFSETS = {TopicPartition("orders", 0): Offset(42), TopicPartition("a-b.c_d", 11): Offset(0)}


def test_offsets_are_kafkas_lines() -> None:
    """Version, count, entries: the form that Kafka's tools read."""
    data = encode_offsets(OFFSETS)
    assert data == b"0\n2\norders 0 42\na-b.c_d 11 0\n"
    assert decode_offsets(data, "checkpoint") == OFFSETS


def test_every_cut_of_a_checkpoint_is_noticed_or_harmless() -> None:
    """A file cut in half is refused; without its last newline alone it is still whole."""
    data = encode_offsets(OFFSETS)
    for end in range(len(data) - 1):
        if data[:end] == data[:-2]:
            continue  # "11 0" cut to "11 " misses a field, which the loop below the frame notices
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
    assert encode_epochs(entries) == b"0\n2\n0 0\n3 17\n"
    assert decode_epochs(encode_epochs(entries), "epochs") == entries
    for wrong in (b"0\n2\n3 0\n3 17\n", b"0\n2\n3 17\n4 17\n", b"0\n2\n3 17\n4 5\n"):
        with pytest.raises(CorruptFile):
            decode_epochs(wrong, "epochs")


def test_partition_metadata_holds_the_topic_id() -> None:
    """As Kafka prints it; no id at all is a damaged file."""
    topic_id = TopicId(bytes(range(16)))
    data = encode_partition_metadata(topic_id)
    assert data == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert decode_partition_metadata(data, "m") == topic_id
    for wrong in (b"", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", data[:-1]):
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
