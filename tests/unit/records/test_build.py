"""Batches made here are batches that are read here: every field that was given comes back."""

import pytest

from odradek.records.batch import TimestampType, check_crc, headers, read_header
from odradek.records.build import build_batch, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.record import Record, read_records

RECORDS = [
    Record(0, 1_000, b"key", b"value"),
    Record(1, 999, None, b"no key"),
    Record(2, 1_500, b"deleted", None),
    Record(3, -1, b"", b"", ((b"trace", b"\x00\xff"), (b"", b""), (b"null", None))),
    Record(4, 1_500, b"k" * 200, b"v" * 70_000),
]


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_as_they_were(codec: Codec) -> None:
    """Nulls stay nulls, empty stays empty, times may go back, whatever the codec."""
    batch = build_batch(RECORDS, codec=codec)
    header = read_header(batch)
    check_crc(batch, header)
    assert header.codec == codec
    assert (header.size, header.record_count, header.last_offset) == (len(batch), 5, 4)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_500)
    assert list(read_records(batch, header)) == RECORDS


def test_a_producers_numbers_are_carried() -> None:
    """An idempotent, transactional producer finds all that it counts in the header."""
    header = read_header(
        build_batch(
            RECORDS,
            leader_epoch=8,
            producer_id=77,
            producer_epoch=3,
            base_sequence=40,
            transactional=True,
        )
    )
    assert (header.leader_epoch, header.producer_id, header.producer_epoch) == (8, 77, 3)
    assert (header.base_sequence, header.last_sequence) == (40, 44)
    assert header.is_transactional
    assert not header.is_control


def test_offsets_count_from_the_base() -> None:
    """Gaps, as compaction leaves them, are kept; a batch may lie in the midst of a run."""
    records = [Record(105, 1, None, b"a"), Record(109, 2, None, b"b")]
    run = build_batch(RECORDS) + build_batch(records, base_offset=100, codec=Codec.ZSTD)
    (_, first), (at, second) = headers(run)
    assert list(read_records(run, first)) == RECORDS
    assert list(read_records(run, second, at)) == records
    assert (second.base_offset, second.last_offset) == (100, 109)


def test_with_log_append_time_all_records_have_one_time() -> None:
    """What the producer said is ignored: the batch's max timestamp is every record's."""
    batch = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    header = read_header(batch)
    assert {record.timestamp for record in read_records(batch, header)} == {1_500}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_compaction_keeps_a_batchs_place_and_producer(codec: Codec) -> None:
    """Offsets and sequences go on as if nothing had been removed."""
    batch = build_batch(
        RECORDS, leader_epoch=2, producer_id=5, producer_epoch=1, base_sequence=7, codec=codec
    )
    before = read_header(batch)
    rebuilt = rebuild_batch(RECORDS[1:3], before)
    after = read_header(rebuilt)
    check_crc(rebuilt, after)
    assert list(read_records(rebuilt, after)) == RECORDS[1:3]
    assert (after.base_offset, after.last_offset, after.last_sequence) == (0, 4, 11)
    assert (after.leader_epoch, after.record_count, after.codec) == (2, 2, codec)
    assert after.base_timestamp == 999
    assert before.record_count == 5, "the header that was given is not touched"


def test_a_batch_that_lost_all_its_records_still_names_its_producer() -> None:
    """The last batch of a producer stays, empty, so that its sequence is not forgotten."""
    before = read_header(
        build_batch(RECORDS, producer_id=5, producer_epoch=1, base_sequence=7, codec=Codec.GZIP)
    )
    batch = rebuild_batch([], before)
    after = read_header(batch)
    check_crc(batch, after)
    assert (after.size, after.record_count, after.codec) == (61, 0, Codec.NONE)
    assert (after.last_offset, after.last_sequence, after.max_timestamp) == (4, 11, 1_500)
    assert list(read_records(batch, after)) == []


def test_a_delete_horizon_takes_the_place_of_the_base_time() -> None:
    """The records' own times survive it, also when the batch is rebuilt once more."""
    batch = rebuild_batch(RECORDS, read_header(build_batch(RECORDS)), delete_horizon=123_456)
    header = read_header(batch)
    assert header.has_delete_horizon
    assert header.base_timestamp == 123_456
    assert list(read_records(batch, header)) == RECORDS
    again = rebuild_batch(RECORDS[2:], header)
    header = read_header(again)
    assert (header.has_delete_horizon, header.base_timestamp) == (True, 123_456)
    assert list(read_records(again, header)) == RECORDS[2:]


def test_a_topic_may_want_another_codec() -> None:
    """The records are the same, and nothing else of the batch changes."""
    batch = build_batch(RECORDS, producer_id=5, producer_epoch=0, base_sequence=0, codec=Codec.GZIP)
    rebuilt = rebuild_batch(RECORDS, read_header(batch), codec=Codec.ZSTD, level=1)
    header = read_header(rebuilt)
    assert (header.codec, header.producer_id) == (Codec.ZSTD, 5)
    assert list(read_records(rebuilt, header)) == RECORDS
