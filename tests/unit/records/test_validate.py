"""What a client may append, and what it is told when it may not."""

import pytest

from odradek.model.errors import (
    BatchTooLarge,
    BrokerError,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    UnsupportedCompression,
)
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.records import validate
from odradek.records.batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    read_header,
    restamp,
    seal,
)
from odradek.records.build import BatchBuilder, build_batch, plain_header, rebuild_batch
from odradek.records.compression import Codec
from odradek.records.record import Record
from odradek.records.validate import check_produced, check_records
from odradek.records.varint import read_varint

RECORDS = [Record(i, 1_000 + i, b"key", b"value") for i in range(3)]


def produced(**changes: int) -> bytearray:
    """A batch as a client sends it, but for these fields of its header."""
    builder = BatchBuilder(plain_header())
    for record in RECORDS:
        builder.append(record)
    batch = builder.finish()
    header = read_header(batch)
    for name, value in changes.items():
        setattr(header, name, value)
    seal(batch, header)
    return batch


@pytest.mark.parametrize("codec", Codec)
def test_a_producers_batch_passes_at_both_depths(codec: Codec) -> None:
    """Plain, idempotent or transactional, with each codec."""
    for numbers in (
        {},
        {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0},
        {"producer_id": 5, "producer_epoch": 2, "base_sequence": 9, "transactional": True},
    ):
        batch = build_batch(RECORDS, codec=codec, **numbers)  # type: ignore[arg-type]
        header = check_produced(batch, version=9)
        assert header.record_count == 3
        assert check_records(batch, header, keyed=True, timestamps=(1_000, 1_002)) == 1_002


def test_what_clients_leave_in_unused_fields_does_not_matter() -> None:
    """KafkaJS sends epoch and sequence 0 without a producer id; places are the leader's to give."""
    batch = produced(producer_epoch=0, base_sequence=0, leader_epoch=-5, base_offset=7)
    check_records(batch, check_produced(batch, version=3))


REFUSALS: dict[str, tuple[bytearray, type[BrokerError]]] = {
    "nothing": (bytearray(), CorruptBatch),
    "magic 0": (produced(magic=0), InvalidRecord),
    "magic 1": (produced(magic=1), InvalidRecord),
    "magic 3": (produced(magic=3), InvalidRecord),
    "magic -1": (produced(magic=-1), InvalidRecord),
    "two batches": (produced() + produced(), InvalidRecord),
    "a batch and a byte": (produced() + b"x", InvalidRecord),
    "a byte less": (produced()[:-1], CorruptBatch),
    "a wrong checksum": (produced()[:-1] + b"\xff", CorruptBatch),
    "too many bytes": (build_batch([Record(0, 0, None, bytes(2_000))]), BatchTooLarge),
    "a length of 2 GiB": (produced()[:8] + b"\x7f\xff\xff\xff" + produced()[12:], BatchTooLarge),
    "a negative length": (produced()[:8] + b"\xff\xff\xff\xff" + produced()[12:], CorruptBatch),
    "no records": (build_batch([]), InvalidRecord),
    "a count of 0": (produced(record_count=0), InvalidRecord),
    "a negative count": (produced(record_count=-1, last_offset_delta=-2), CorruptBatch),
    "a count below the delta": (produced(record_count=2), InvalidRecord),
    "a count above the delta": (produced(record_count=4), InvalidRecord),
    "gaps": (produced(last_offset_delta=5), InvalidRecord),
    "a count that the bytes cannot hold": (
        produced(record_count=1_000, last_offset_delta=999),
        InvalidRecord,
    ),
    "a huge count": (
        produced(record_count=(1 << 31) - 1, last_offset_delta=(1 << 31) - 2),
        InvalidRecord,
    ),
    "a control batch": (produced(attributes=CONTROL_BIT), InvalidRecord),
    "a transactional control batch": (
        produced(attributes=CONTROL_BIT | TRANSACTIONAL_BIT, producer_id=1, producer_epoch=0),
        InvalidRecord,
    ),
    "log-append time": (produced(attributes=LOG_APPEND_TIME_BIT), InvalidTimestamp),
    "a delete horizon": (produced(attributes=DELETE_HORIZON_BIT), InvalidRecord),
    "an unknown attribute": (produced(attributes=1 << 14), InvalidRecord),
    "the last unknown attribute": (produced(attributes=-(1 << 15)), InvalidRecord),
    "codec 5": (produced(attributes=5), UnsupportedCompression),
    "codec 7": (produced(attributes=7), UnsupportedCompression),
    "a transaction of nobody": (produced(attributes=TRANSACTIONAL_BIT), InvalidRecord),
    "a producer without a sequence": (
        produced(producer_id=1, producer_epoch=0, base_sequence=-1),
        InvalidRecord,
    ),
    "a producer without an epoch": (
        produced(producer_id=1, producer_epoch=-1, base_sequence=0),
        InvalidRecord,
    ),
    "a producer of a negative id": (produced(producer_id=-2), InvalidRecord),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_batch_that_no_client_may_append_is_refused(name: str) -> None:
    """Each with the code that tells the client whether trying again can help."""
    batch, error = REFUSALS[name]
    with pytest.raises(error):
        check_produced(batch, version=9, bytes_max=1_000)


def test_a_batch_cut_at_any_byte_is_worth_another_try() -> None:
    """What is cut was whole when it was sent."""
    whole = produced()
    for cut in range(len(whole)):
        with pytest.raises(CorruptBatch):
            check_produced(whole[:cut], version=9)


def test_zstd_needs_version_7_of_produce() -> None:
    """An older client would not read it back (KIP-110)."""
    batch = build_batch(RECORDS, codec=Codec.ZSTD)
    check_produced(batch, version=7)
    with pytest.raises(UnsupportedCompression, match="version 6"):
        check_produced(batch, version=6)
    check_produced(build_batch(RECORDS, codec=Codec.LZ4), version=3)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 127, 128, 129, 8_192, 8_193])
def test_the_last_record_of_a_batch_may_have_any_number(count: int) -> None:
    """It is written in one byte up to 63; one more, and its first byte looks like another's."""
    made = build_batch([Record(number, 1, None, b"x") for number in range(count)])
    assert validate._is_plain_record(bytes(made), _last_record(made, count), count - 1)
    assert check_produced(made, version=7).record_count == count


def _last_record(made: bytearray, count: int) -> int:
    at: int = BATCH_HEADER_BYTES
    for _ in range(count - 1):
        length, at = read_varint(bytes(made), at)
        at += length
    return at


def test_compaction_needs_keys() -> None:
    """A record without one could never be replaced, nor removed."""
    batch = build_batch([RECORDS[0], Record(1, 0, None, b"no key")])
    header = check_produced(batch, version=9)
    check_records(batch, header)
    with pytest.raises(InvalidRecord, match="record 1 of the batch is refused: the record has no"):
        check_records(batch, header, keyed=True)


def test_all_records_that_are_refused_are_named() -> None:
    """A producer fails those alone, and may send the others. Wrong times have their own code."""
    records = [RECORDS[0], Record(1, 0, None, b""), RECORDS[2], Record(3, 9_000, None, b"")]
    batch = rebuild_batch(records, read_header(build_batch(records)))
    header = read_header(batch)
    with pytest.raises(InvalidRecord, match="so are 1 more") as keyless:
        check_records(batch, header, keyed=True)
    assert list(keyless.value.records) == [1, 3]
    with pytest.raises(InvalidTimestamp) as both:
        check_records(batch, header, keyed=True, timestamps=(0, 5_000))
    assert list(both.value.records) == [1, 3]
    assert "9000" in both.value.records[3]


def test_times_keep_to_the_topics_bounds() -> None:
    """Both ends are inclusive, and a record without a time passes any."""
    batch = build_batch([*RECORDS, Record(3, -1, b"k", None)])
    header = check_produced(batch, version=9)
    assert check_records(batch, header, timestamps=(1_000, 1_002)) == 1_002
    for bounds in ((1_001, 2_000), (0, 1_001)):
        with pytest.raises(InvalidTimestamp):
            check_records(batch, header, timestamps=bounds)
    timeless = build_batch([Record(0, -1, None, b"")])
    assert check_records(timeless, read_header(timeless)) == -1


def test_a_header_that_names_a_wrong_time_is_told() -> None:
    """Time indexes are built from it, so the leader corrects it, and signs anew."""
    batch = produced(max_timestamp=7)
    header = check_produced(batch, version=9)
    greatest = check_records(batch, header)
    assert greatest == 1_002
    restamp(batch, 0, header.timestamp_type, greatest)
    assert check_produced(batch, version=9).max_timestamp == 1_002


def test_gaps_are_read_but_not_produced() -> None:
    """Compaction leaves them behind; from a client they are a mistake."""
    batch = rebuild_batch(RECORDS[::2], read_header(build_batch(RECORDS)))
    header = read_header(batch)
    with pytest.raises(InvalidRecord):
        check_produced(batch, version=9)
    with pytest.raises(InvalidRecord, match="record 2 where 1 was to come"):
        check_records(batch, header)


def test_lying_records_under_a_true_checksum_are_not_worth_another_try() -> None:
    """The client meant these bytes: it is told so, and does not send them for ever."""
    batch = produced()
    header = read_header(batch)
    batch[64] ^= 0x02  # the first record's offset delta
    seal(batch, header)
    check_produced(batch, version=9)
    with pytest.raises(InvalidRecord, match="record 1 where 0 was to come"):
        check_records(batch, header)


def rotten(records: bytes, count: int) -> bytearray:
    """A batch with a true checksum over what was never a record."""
    batch = produced()[:BATCH_HEADER_BYTES] + records
    header = read_header(produced())
    header.size, header.record_count, header.last_offset_delta = len(batch), count, count - 1
    seal(batch, header)
    return batch


LONG = bytes(build_batch([Record(0, 0, None, bytes(20_000))])[BATCH_HEADER_BYTES:])
PLAIN = bytes(produced()[BATCH_HEADER_BYTES:])


@pytest.mark.parametrize(
    ("records", "count"),
    [
        (b"\xff" * 40, 3),  # lengths that never end
        (b"\x01\x01" * 20, 4),  # negative ones
        (b"\x0e\0\0\0\x01\x02a\0" * 2, 2),  # all of offset delta 0
        (PLAIN, 2),  # more than there should be
        (PLAIN[:-1], 3),  # less
        (PLAIN + b"\0", 3),
        (LONG[:-1] + b"\x01", 1),  # a header that is not there
        (PLAIN[:-7] + b"\x7f" + PLAIN[-6:], 3),  # a value that is longer than its record
        (bytes(7 * 3), 3),  # records without a body
    ],
)
def test_lengths_that_lie_are_refused_before_they_reach_the_log(records: bytes, count: int) -> None:
    """No consumer could pass such a batch, and whoever wrote it was told that it is stored."""
    with pytest.raises(InvalidRecord, match="checksum holds"):
        check_produced(rotten(records, count), version=9)
    assert check_produced(rotten(LONG, 1), version=9).record_count == 1


def test_a_bomb_is_too_large_and_not_corrupt() -> None:
    """The topic's owner learns which bound was met."""
    batch = build_batch([Record(0, 0, None, bytes(200_000))], codec=Codec.ZSTD)
    header = check_produced(batch, version=9, bytes_max=1_000)
    with pytest.raises(BatchTooLarge):
        check_records(batch, header, bytes_max=100_000)
