"""Message sets, magic 0 and 1: laid out by hand, read, and made into batches."""

import gzip
import struct
import tracemalloc
import zlib
from collections.abc import Sequence

import lz4.frame
import pytest

from odradek.model.errors import BatchTooLarge, CorruptBatch, InvalidRecord
from odradek.records.batch import check_crc, read_header
from odradek.records.build import build_batch
from odradek.records.compression import Codec, compress
from odradek.records.control import EndMarker, build_end_marker
from odradek.records.legacy import convert_down, convert_up, is_legacy, read_message_set
from odradek.records.record import Record, read_records

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
BOTH_MAGICS = pytest.mark.parametrize("magic", [0, 1])
LOG_APPEND_TIME = 0x08


def sized(data: bytes | None) -> bytes:
    """A key or a value behind its length; None has the length -1."""
    return b"\xff\xff\xff\xff" if data is None else struct.pack(">i", len(data)) + data


def message(record: Record, magic: int, attributes: int = 0) -> bytes:
    """One entry of a set."""
    body = struct.pack(">bb", magic, attributes)
    if magic:
        body += struct.pack(">q", record.timestamp)
    return entry(record.offset, body + sized(record.key) + sized(record.value))


def entry(offset: int, body: bytes) -> bytes:
    """An entry whose checksum holds, whatever is in it."""
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(body)) + body


def wrapper(
    records: Sequence[Record], magic: int, codec: Codec, *, offset: int, attributes: int = 0
) -> bytes:
    """A compressed set; in magic 1 the inner offsets count from 0."""
    first = records[0].offset if magic else 0
    inner = b"".join(
        message(Record(r.offset - first, r.timestamp, r.key, r.value), magic) for r in records
    )
    value = old_lz4(inner) if (magic, codec) == (0, Codec.LZ4) else compress(codec, inner)
    return message(Record(offset, 9_000, None, value), magic, attributes | codec)


def old_lz4(data: bytes) -> bytes:
    """As Java wrote it in magic 0: the header's checksum is taken over the wrong bytes."""
    frame = bytearray(lz4.frame.compress(data, store_size=False))
    frame[6] ^= 0xFF
    return bytes(frame)


def records(magic: int, first: int = 0) -> list[Record]:
    """Magic 0 has no times."""
    times = [1_000, 900, -1, 1_500] if magic else [-1] * 4
    values = [(b"k", b"v"), (None, b"no key"), (b"deleted", None), (b"", b"")]
    return [
        Record(first + i, time, key, value)
        for i, (time, (key, value)) in enumerate(zip(times, values, strict=True))
    ]


@BOTH_MAGICS
def test_a_plain_set_is_read(magic: int) -> None:
    """Offsets are those that stand there, with the gaps that compaction left."""
    expected = records(magic, first=70)[::2] + records(magic, first=90)
    data = b"".join(message(record, magic) for record in expected)
    assert is_legacy(data)
    assert list(read_message_set(data)) == expected


@BOTH_MAGICS
@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_wrappers_are_opened(magic: int, codec: Codec) -> None:
    """Whatever the inner offsets mean, the records have those of the log."""
    expected = records(magic, first=70)
    data = wrapper(expected, magic, codec, offset=73) + message(Record(74, -1, None, b""), magic)
    assert list(read_message_set(data)) == [*expected, Record(74, -1, None, b"")]


def test_a_wrapper_without_an_offset_says_nothing() -> None:
    """Some producers leave it at 0, so that the inner ones count from 0."""
    data = wrapper(records(1), 1, Codec.GZIP, offset=0)
    assert list(read_message_set(data)) == records(1)


def test_gaps_inside_a_wrapper_are_kept() -> None:
    """The last inner offset belongs to the wrapper's, however many lie before it."""
    kept = records(1, first=70)[::2]
    data = wrapper(kept, 1, Codec.SNAPPY, offset=172)
    assert [record.offset for record in read_message_set(data)] == [170, 172]


def test_with_log_append_time_the_wrapper_has_the_time() -> None:
    """The leader wrote it there, without opening what was inside."""
    data = wrapper(records(1), 1, Codec.GZIP, offset=3, attributes=LOG_APPEND_TIME)
    assert {record.timestamp for record in read_message_set(data)} == {9_000}


@BOTH_MAGICS
@pytest.mark.parametrize("codec", [Codec.NONE, *CODECS], ids=lambda codec: codec.name)
def test_a_set_becomes_one_batch(magic: int, codec: Codec) -> None:
    """Counted from 0, in its codec; what the client wrote as offsets is ignored."""
    if codec:
        data = wrapper(records(magic, first=5), magic, codec, offset=8)
    else:
        data = b"".join(message(record, magic) for record in records(magic, first=5))
    batch = convert_up(data)
    header = read_header(batch)
    check_crc(batch, header)
    assert not is_legacy(batch)
    assert (header.codec, header.base_offset, header.last_offset) == (codec, 0, 3)
    assert header.max_timestamp == (1_500 if magic else -1)
    assert not header.has_producer
    assert list(read_records(batch, header)) == records(magic)


def test_several_wrappers_become_one_batch() -> None:
    """A set may hold many, and plain messages between; one batch is what a log takes."""
    data = wrapper(records(1), 1, Codec.GZIP, offset=3) * 3 + message(records(1)[0], 1)
    batch = convert_up(data)
    header = read_header(batch)
    assert header.codec == Codec.GZIP
    assert [r.offset for r in read_records(batch, header)] == list(range(13))


def test_an_empty_set_is_no_batch() -> None:
    """There is nothing to append."""
    assert list(read_message_set(b"")) == []
    with pytest.raises(InvalidRecord):
        convert_up(b"")


@BOTH_MAGICS
def test_a_set_cut_at_any_byte_is_refused(magic: int) -> None:
    """Between two messages it is a shorter set; anywhere else it is none."""
    first, second = (message(record, magic) for record in records(magic)[:2])
    for cut in range(len(first + second)):
        if cut in {0, len(first)}:
            continue
        with pytest.raises(CorruptBatch):
            list(read_message_set((first + second)[:cut]))


@BOTH_MAGICS
def test_an_inner_set_cut_at_any_byte_is_refused(magic: int) -> None:
    """The wrapper's checksum holds, the inner messages are not all there."""
    inner = b"".join(message(record, magic) for record in records(magic)[:1])
    for cut in range(1, len(inner)):
        data = message(
            Record(3, 0, None, gzip.compress(inner[:cut], 1)), magic, attributes=Codec.GZIP
        )
        with pytest.raises(CorruptBatch):
            list(read_message_set(data))


@BOTH_MAGICS
def test_a_flipped_bit_is_seen(magic: int) -> None:
    """The checksum covers all but the offset and the size; a wrong size does not fit."""
    data = bytearray(message(records(magic)[0], magic))
    for at in range(8, len(data)):
        data[at] ^= 1
        with pytest.raises(CorruptBatch):
            list(read_message_set(data))
        data[at] ^= 1


def legacy_body(magic: int, *parts: bytes) -> bytes:
    """What the checksum of a message covers."""
    return struct.pack(">bb", magic, 0) + (bytes(8) if magic else b"") + b"".join(parts)


def lies(magic: int) -> dict[str, bytes]:
    """Messages that cannot be, each under a checksum that holds."""
    null = sized(None)
    inner = b"".join(message(record, magic) for record in records(magic))
    other = b"".join(message(record, 1 - magic) for record in records(1 - magic))

    def wrapped(value: bytes | None, codec: int, offset: int = 3) -> bytes:
        return message(Record(offset, 0, None, value), magic, codec)

    return {
        "negative size": struct.pack(">qi", 0, -1) + bytes(20),
        "very negative size": struct.pack(">qi", 0, -(1 << 31)) + bytes(20),
        "size of zero": struct.pack(">qi", 0, 0) + bytes(20),
        "huge size": struct.pack(">qi", 0, (1 << 31) - 1) + bytes(20),
        "magic 2": entry(0, legacy_body(2, null, null)),
        "magic -1": entry(0, legacy_body(-1, null, null)),
        "no lengths": entry(0, legacy_body(magic, bytes(3))),
        "negative key length": entry(0, legacy_body(magic, b"\xff\xff\xff\xfe", null)),
        "huge key length": entry(0, legacy_body(magic, b"\x7f\xff\xff\xff", null)),
        "key over the value's length": entry(0, legacy_body(magic, sized(b"kkkk")[:-1], null)),
        "negative value length": entry(0, legacy_body(magic, null, b"\x80\x00\x00\x00")),
        "huge value length": entry(0, legacy_body(magic, null, b"\x7f\xff\xff\xff")),
        "bytes behind the value": entry(0, legacy_body(magic, null, sized(b"v"), b"more")),
        "zstd": wrapped(compress(Codec.ZSTD, inner), Codec.ZSTD),
        "codec 5": wrapped(inner, 5),
        "wrapper without a value": wrapped(None, Codec.GZIP),
        "wrapper of garbage": wrapped(b"garbage", Codec.LZ4),
        "wrapper of another magic": wrapped(gzip.compress(other), Codec.GZIP),
        "wrapper in a wrapper": wrapped(
            gzip.compress(wrapped(gzip.compress(inner), Codec.GZIP)), Codec.GZIP
        ),
        "wrapper of a batch": wrapped(gzip.compress(build_batch(records(1))), Codec.GZIP),
    }


@BOTH_MAGICS
@pytest.mark.parametrize("lie", lies(1))
def test_a_lying_message_is_refused(magic: int, lie: str) -> None:
    """By either way of reading it, without trusting a length."""
    data = lies(magic)[lie]
    with pytest.raises(CorruptBatch):
        next(read_message_set(data))
    with pytest.raises(CorruptBatch):
        convert_up(data)


@BOTH_MAGICS
def test_offsets_below_zero_matter_in_a_log_only(magic: int) -> None:
    """Clients may write what they like: the leader counts anew. In a log there are none."""
    record = Record(-5, -1, None, b"v")
    for data in (
        message(record, magic),
        message(Record(0, -1, None, gzip.compress(message(record, magic))), magic, Codec.GZIP),
    ):
        batch = convert_up(data)
        assert [r.offset for r in read_records(batch, read_header(batch))] == [0]
        with pytest.raises(CorruptBatch, match="offset -5"):
            list(read_message_set(data))


def test_a_wrapper_that_lies_below_its_messages_is_refused() -> None:
    """Its offset is that of the last one, so the first would lie before the log."""
    with pytest.raises(CorruptBatch):
        list(read_message_set(wrapper(records(1), 1, Codec.GZIP, offset=2)))


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_bomb_of_many_wrappers_is_refused(codec: Codec) -> None:
    """The limit is for all of them together, and memory stays within it."""
    big = [Record(0, 0, None, bytes(1 << 20))]
    data = wrapper(big, 1, codec, offset=0) * 16
    limit = 4 << 20
    tracemalloc.start()
    try:
        with pytest.raises(BatchTooLarge):
            convert_up(data, limit=limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * limit


@BOTH_MAGICS
def test_an_old_client_reads_what_a_new_one_wrote(magic: int) -> None:
    """Offsets, keys, values and null are kept; magic 0 has no times, and neither has headers."""
    records = [
        Record(0, 1_000, b"k", b"one", ((b"h", b"v"),)),
        Record(1, 2_000, None, None),
        Record(2, 3_000, b"", b"three"),
    ]
    batches = build_batch(records[:2], codec=Codec.GZIP) + build_batch(records[2:], base_offset=2)
    old = convert_down(batches, magic, 0, bytes_max=1 << 20)
    assert is_legacy(old)
    read = [(it.offset, it.timestamp, it.key, it.value) for it in read_message_set(old)]
    assert read == [(it.offset, it.timestamp if magic else -1, it.key, it.value) for it in records]


def test_a_conversion_begins_and_ends_within_batches() -> None:
    """From the offset that was asked for, to the message that fills what may be converted."""
    records = [Record(number, 1_000, None, b"x" * 100) for number in range(100)]
    old = convert_down(build_batch(records), 1, 40, bytes_max=1_000)
    offsets = [record.offset for record in read_message_set(old)]
    assert offsets == list(range(40, 40 + len(offsets)))
    assert 1_000 <= len(old) < 1_200


def test_control_batches_are_nothing_for_old_clients() -> None:
    """They would take the marker of a transaction for a record."""
    marker = EndMarker(committed=True, coordinator_epoch=7)
    batch = build_end_marker(
        marker, producer_id=4, producer_epoch=2, timestamp=1_000, base_offset=0
    )
    assert not convert_down(batch, 1, 0, bytes_max=1_000)
