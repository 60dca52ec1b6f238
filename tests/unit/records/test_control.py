"""Markers: the records by which a log knows how a transaction ended."""

import pytest

from odradek.model.errors import CorruptBatch
from odradek.records.batch import check_crc, read_header
from odradek.records.control import EndMarker, build_end_marker, read_end_marker
from odradek.records.record import Record, read_records


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_comes_back(committed: bool) -> None:  # noqa: FBT001 - one of two cases
    """It belongs to its producer, takes one offset, and counts in no sequence."""
    marker = EndMarker(committed, coordinator_epoch=7)
    batch = build_end_marker(
        marker, producer_id=4, producer_epoch=2, timestamp=1_000, base_offset=55
    )
    header = read_header(batch)
    check_crc(batch, header)
    assert (header.is_control, header.is_transactional) == (True, True)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (4, 2, -1)
    (record,) = read_records(batch, header)
    assert (record.offset, record.timestamp) == (55, 1_000)
    assert read_end_marker(record) == marker


def test_the_layout_is_kafkas() -> None:
    """Key: version and kind; value: version and the coordinator's epoch."""
    commit = Record(0, 0, bytes.fromhex("00000001"), bytes.fromhex("000000000007"))
    abort = Record(0, 0, bytes.fromhex("00000000"), bytes.fromhex("000000000007"))
    assert read_end_marker(commit) == EndMarker(committed=True, coordinator_epoch=7)
    assert read_end_marker(abort) == EndMarker(committed=False, coordinator_epoch=7)


def test_later_versions_are_read_as_far_as_they_are_known() -> None:
    """They may only append, or a log could not be read by the broker beside."""
    later = Record(0, 0, bytes.fromhex("000900010203"), bytes.fromhex("00090000000708"))
    assert read_end_marker(later) == EndMarker(committed=True, coordinator_epoch=7)


@pytest.mark.parametrize("kind", [2, 3, 4, 5, 6, 99, -1])
def test_other_kinds_are_passed_over(kind: int) -> None:
    """A new leader, a snapshot's ends: none of them ends a transaction."""
    key = b"\x00\x00" + kind.to_bytes(2, "big", signed=True)
    assert read_end_marker(Record(0, 0, key, b"whatever")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b""),
        (b"\x00\x00\x00", b""),
        (b"\xff\xff\x00\x01", b"\x00\x00\x00\x00\x00\x07"),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00"),
        (b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x07"),
    ],
)
def test_a_marker_that_is_none_is_refused(key: bytes | None, value: bytes | None) -> None:
    """Cut off, or of a negative version: nobody guesses how a transaction ended."""
    with pytest.raises(CorruptBatch):
        read_end_marker(Record(0, 0, key, value))
