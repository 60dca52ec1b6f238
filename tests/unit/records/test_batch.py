"""What every batch must be, wherever it came from, and the few bytes a broker writes into it."""

import struct

import pytest
from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.records.batch import (
    BatchHeader,
    TimestampType,
    check_crc,
    headers,
    place,
    read_header,
    restamp,
)

HEADER = ">qiibIhiqqqhii"


def batch(body: bytes = b"twelve bytes", /, **changes: int) -> bytearray:
    """A batch laid out by hand, so that the reader is not tested against our own writer."""
    fields = {
        "base_offset": 7,
        "length": 49 + len(body),
        "leader_epoch": 3,
        "magic": 2,
        "crc": -1,
        "attributes": 0,
        "last_offset_delta": 1,
        "base_timestamp": 1_000,
        "max_timestamp": 1_005,
        "producer_id": 42,
        "producer_epoch": 1,
        "base_sequence": 10,
        "record_count": 2,
    }
    assert changes.keys() <= fields.keys()
    fields |= changes
    crc = fields["crc"]
    fields["crc"] = 0
    data = bytearray(struct.pack(HEADER, *fields.values()) + body)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])) if crc < 0 else crc)
    return data


def test_a_header_is_read_as_it_lies() -> None:
    """Every field has its place; the size is that of the whole batch."""
    data = batch(attributes=0x70)
    header = read_header(data)
    assert {name: getattr(header, name) for name in BatchHeader.__slots__} == {
        "base_offset": 7,
        "size": len(data),
        "leader_epoch": 3,
        "magic": 2,
        "crc": crc32c(bytes(data[21:])),
        "attributes": 0x70,
        "last_offset_delta": 1,
        "base_timestamp": 1_000,
        "max_timestamp": 1_005,
        "producer_id": 42,
        "producer_epoch": 1,
        "base_sequence": 10,
        "record_count": 2,
    }
    assert (header.last_offset, header.next_offset, header.last_sequence) == (8, 9, 11)


def test_the_attributes_are_told_apart() -> None:
    """Each bit means one thing, and none of them disturbs the codec."""
    plain = read_header(batch(attributes=4))
    assert plain.codec == 4
    assert plain.timestamp_type is TimestampType.CREATE_TIME
    assert (plain.is_transactional, plain.is_control, plain.has_delete_horizon) == (False,) * 3
    assert read_header(batch(attributes=0x08)).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert read_header(batch(attributes=0x10)).is_transactional
    assert read_header(batch(attributes=0x20)).is_control
    assert read_header(batch(attributes=0x40)).has_delete_horizon


def test_sequences_go_on_with_zero() -> None:
    """After 2^31 - 1 comes 0; a producer that does not count has no last sequence."""
    assert read_header(batch(base_sequence=0x7FFFFFFF)).last_sequence == 0
    assert read_header(batch(producer_id=-1, base_sequence=-1)).last_sequence == -1
    assert not read_header(batch(producer_id=-1)).has_producer


def test_a_batch_cut_at_any_byte_is_refused() -> None:
    """There is no length at which a part of a batch passes for a whole one."""
    data = bytes(batch())
    check_crc(data, read_header(data))
    for cut in range(len(data)):
        with pytest.raises(CorruptBatch):
            check_crc(data[:cut], read_header(data[:cut]))


def test_a_bit_flipped_behind_the_checksum_is_seen() -> None:
    """The checksum covers the attributes and everything behind them."""
    data = batch()
    for at in range(21, len(data)):
        data[at] ^= 1
        with pytest.raises(CorruptBatch):
            check_crc(data, read_header(data))
        data[at] ^= 1
    check_crc(data, read_header(data))


@pytest.mark.parametrize(
    "lie",
    [
        {"magic": 0},
        {"magic": 1},
        {"magic": 3},
        {"magic": -1},
        {"length": -1},
        {"length": -(1 << 31)},
        {"length": 0},
        {"length": 48},
        {"base_offset": -1},
        {"last_offset_delta": -1},
        {"record_count": -1},
        {"record_count": -(1 << 31)},
        {"base_offset": (1 << 63) - 1},
        {"base_offset": (1 << 63) - 2},
    ],
    ids=str,
)
def test_an_impossible_header_is_refused(lie: dict[str, int]) -> None:
    """Negative or overflowing numbers, or another magic: no checksum makes that a batch."""
    with pytest.raises(CorruptBatch):
        read_header(batch(**lie))


@pytest.mark.parametrize("length", [(1 << 31) - 1, 49 + 13])
def test_a_length_beyond_the_buffer_is_a_cut_batch(length: int) -> None:
    """The header alone cannot know; whoever needs the batch's bytes finds it cut."""
    data = batch(length=length)
    header = read_header(data)
    with pytest.raises(CorruptBatch, match="cut off"):
        check_crc(data, header)
    with pytest.raises(CorruptBatch, match="cut off"):
        list(headers(data))


def test_a_run_of_batches_is_walked() -> None:
    """Batches lie one behind the other, with nothing in between."""
    run = batch(b"one") + batch(b"three") + batch(b"")
    assert [(at, header.size) for at, header in headers(run)] == [(0, 64), (64, 66), (130, 61)]
    assert list(headers(b"")) == []


def test_a_fetch_may_end_amid_a_batch_but_a_log_may_not() -> None:
    """A response is cut where its bytes ran out; only a reader who knows that may say so."""
    run = bytes(batch(b"one") + batch(b"three"))
    for cut in range(65, len(run)):
        assert [at for at, _ in headers(run[:cut], cut_tail=True)] == [0]
        with pytest.raises(CorruptBatch):
            list(headers(run[:cut]))


def test_placing_a_batch_leaves_its_checksum_true() -> None:
    """Offset and leader epoch are written where the checksum does not look."""
    run = batch() + batch()
    place(memoryview(run), len(batch()), 1 << 40, 9)
    first, second = (header for _, header in headers(run))
    assert (first.base_offset, first.leader_epoch) == (7, 3)
    assert (second.base_offset, second.leader_epoch) == (1 << 40, 9)
    check_crc(run, second, len(batch()))


def test_log_append_time_makes_a_new_checksum() -> None:
    """Attributes and max timestamp are covered, so the leader that sets them signs anew."""
    run = batch() + batch(attributes=0x12)
    returned = restamp(run, len(batch()), TimestampType.LOG_APPEND_TIME, 99_000)
    header = read_header(run, len(batch()))
    check_crc(run, header, len(batch()))
    assert (header.max_timestamp, header.attributes, header.crc) == (99_000, 0x1A, returned.crc)
    assert run[: len(batch())] == batch()
    restamp(run, len(batch()), TimestampType.CREATE_TIME, 1_005)
    assert run == batch() + batch(attributes=0x12)
