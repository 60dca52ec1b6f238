"""What is built is read, whatever it holds; and what is spoilt is refused, wherever it was."""

import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import BrokerError, CorruptBatch
from odradek.records.batch import TimestampType, check_crc, headers, place, read_header, restamp
from odradek.records.build import build_batch, rebuild_batch
from odradek.records.compression import Codec, compress, decompress
from odradek.records.legacy import convert_up, read_message_set
from odradek.records.record import Record, read_alone, read_records
from odradek.records.validate import check_produced, check_records
from odradek.records.varint import read_varlong, write_varint

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMES = INT64  # as far apart as can be: their differences need not fit in 64 bits
SHORT = st.binary(max_size=200)
MAYBE = st.none() | SHORT
CODECS = st.sampled_from(Codec)
HEADERS = st.lists(st.tuples(SHORT, MAYBE), max_size=3).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn, *, gaps: bool = False, least: int = 1) -> list[Record]:
    """Records of rising offsets; with gaps, as compaction leaves them."""
    step = st.integers(1, 1 << 20) if gaps else st.just(1)
    offset = draw(st.integers(0, 1 << 20)) - 1 if gaps else -1
    records = []
    for _ in range(draw(st.integers(least, 8))):
        offset += draw(step)
        records.append(Record(offset, draw(TIMES), draw(MAYBE), draw(MAYBE), draw(HEADERS)))
    return records


@given(value=INT64, before=SHORT)
def test_every_number_comes_back(value: int, before: bytes) -> None:
    """A varint is read from where it stands, and no byte further."""
    out = bytearray(before)
    write_varint(out, value)
    assert read_varlong(bytes(out), len(before)) == (value, len(out))


@given(records=record_lists(gaps=True), codec=CODECS, base=st.integers(0, 1 << 62))
def test_records_come_back(records: list[Record], codec: Codec, base: int) -> None:
    """Through any codec, at any place in a log, with or without gaps."""
    moved = [Record(base + r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]
    batch = build_batch(moved, base_offset=base, codec=codec)
    header = read_header(batch)
    check_crc(batch, header)
    assert list(read_records(batch, header)) == moved
    assert header.max_timestamp == max(r.timestamp for r in records)
    assert header.last_offset == moved[-1].offset


@given(
    records=record_lists(gaps=True),
    how=st.tuples(st.just(Codec.NONE) | CODECS, st.booleans()),
    before=SHORT,
    spoilt=st.none() | st.tuples(st.integers(0), st.integers(1, 255)),
)
def test_a_record_alone_is_the_same_by_hand(
    records: list[Record],
    how: tuple[Codec, bool],
    before: bytes,
    spoilt: tuple[int, int] | None,
) -> None:
    """Wherever the batch lies; of what it declines, the other reader knows what it is."""
    codec, transactional = how
    batch = build_batch(
        records, codec=codec, producer_id=1, producer_epoch=1, transactional=transactional
    )
    if spoilt is not None:
        at, bits = spoilt
        batch[at % len(batch)] ^= bits
    data = before + bytes(batch)
    found = read_alone(data, len(before))
    if found is None:
        assert spoilt or len(records) > 1 or codec or transactional or not _is_plain(records[0])
        return
    header = read_header(data, len(before))
    check_crc(data, header, len(before))
    assert not header.is_transactional
    assert not header.is_control
    (record,) = read_records(data, header, len(before))
    assert found == ((record.offset, record.key, record.value), len(before) + header.size)


def _is_plain(record: Record) -> bool:
    is_there = record.key is not None and record.value is not None
    return is_there and not record.headers and not record.offset  # the batch begins with it


@given(records=record_lists(), codec=CODECS, offset=st.integers(0, 1 << 62))
def test_a_producers_batch_is_taken_and_placed(
    records: list[Record], codec: Codec, offset: int
) -> None:
    """Validation lets it pass at both depths; its place in the log moves the offsets alone."""
    batch = build_batch(records, codec=codec)
    header = check_produced(batch, version=9)
    assert check_records(batch, header) == max(-1, *(r.timestamp for r in records))
    place(batch, 0, offset, 5)
    header = read_header(batch)
    check_crc(batch, header)
    assert [r.offset - offset for r in read_records(batch, header)] == [r.offset for r in records]
    restamp(batch, 0, TimestampType.LOG_APPEND_TIME, 77)
    header = read_header(batch)
    check_crc(batch, header)
    assert {r.timestamp for r in read_records(batch, header)} == {77}


@given(records=record_lists(), codec=CODECS, data=st.data())
def test_compaction_takes_records_and_nothing_else(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """Whichever records are kept, the batch covers the same offsets and the same sequences."""
    kept = [record for record in records if data.draw(st.booleans())]
    horizon = data.draw(st.none() | TIMES)
    before = read_header(
        build_batch(records, codec=codec, producer_id=9, producer_epoch=1, base_sequence=70)
    )
    batch = rebuild_batch(kept, before, delete_horizon=horizon)
    after = read_header(batch)
    check_crc(batch, after)
    assert list(read_records(batch, after)) == kept
    assert (after.base_offset, after.next_offset) == (before.base_offset, before.next_offset)
    assert (after.producer_id, after.last_sequence) == (9, before.last_sequence)
    assert after.has_delete_horizon == (horizon is not None)


@given(runs=st.lists(record_lists(), max_size=5), codec=CODECS)
def test_a_run_is_walked_to_its_end(runs: list[list[Record]], codec: Codec) -> None:
    """Batch behind batch; cut anywhere, it is the whole batches before the cut."""
    batches = [bytes(build_batch(records, codec=codec)) for records in runs]
    run = b"".join(batches)
    found = [run[at : at + header.size] for at, header in headers(run)]
    assert found == batches
    half = run[: len(run) // 2]
    whole = [half[at : at + header.size] for at, header in headers(half, cut_tail=True)]
    assert whole == batches[: len(whole)]


@given(records=record_lists(), codec=CODECS, data=st.data())
def test_a_spoilt_batch_is_never_taken_for_another(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """One byte changed: either the broker writes that field itself, or the batch is refused."""
    batch = build_batch(records, codec=codec)
    at = data.draw(st.integers(0, len(batch) - 1))
    batch[at] ^= data.draw(st.integers(1, 255))
    if at in range(8):
        with suppress(BrokerError):  # not every number is an offset
            assert check_produced(batch, version=9).base_offset != 0
        return
    if at in range(12, 16):
        assert check_produced(batch, version=9).leader_epoch != -1
        return
    with pytest.raises(BrokerError):
        check_produced(batch, version=9)


@given(data=st.binary(max_size=5_000), codec=CODECS)
def test_what_is_compressed_comes_back(data: bytes, codec: Codec) -> None:
    """The limit is that of the data, to the byte."""
    assert decompress(codec, compress(codec, data), len(data)) == data


@given(data=st.binary(max_size=500), codec=CODECS, at=st.integers(0), by=st.integers(1, 255))
def test_spoilt_compressed_data_is_refused_or_other_data(
    data: bytes, codec: Codec, at: int, by: int
) -> None:
    """No library's exception gets out, whichever byte is wrong."""
    spoilt = bytearray(compress(codec, data))
    if spoilt:
        spoilt[at % len(spoilt)] ^= by
    with suppress(BrokerError):
        decompress(codec, bytes(spoilt), 10_000)


def old_message(record: Record, magic: int, attributes: int = 0) -> bytes:
    """One message of a set of magic 0 or 1."""
    body = struct.pack(">bb", magic, attributes)
    body += struct.pack(">q", record.timestamp) if magic else b""
    for part in (record.key, record.value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    body = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", record.offset, len(body)) + body


OLD_CODECS = st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])


@given(records=record_lists(gaps=True), magic=st.sampled_from([0, 1]), codec=OLD_CODECS)
def test_old_sets_are_read_and_become_batches(
    records: list[Record], magic: int, codec: Codec
) -> None:
    """The same records, without headers, in magic 0 without times; counted anew as a batch."""
    plain = [Record(r.offset, r.timestamp if magic else -1, r.key, r.value) for r in records]
    if codec:
        shift = plain[0].offset if magic else 0
        inner = [Record(r.offset - shift, r.timestamp, r.key, r.value) for r in plain]
        value = compress(codec, b"".join(old_message(r, magic) for r in inner))
        wrapper = Record(plain[-1].offset, 0, None, value)
        data = old_message(wrapper, magic, codec)
        if magic and not plain[-1].offset:
            assert len(plain) == 1
    else:
        data = b"".join(old_message(r, magic) for r in plain)
    assert list(read_message_set(data)) == plain
    batch = convert_up(data)
    header = check_produced(batch, version=9)
    numbered = [Record(i, r.timestamp, r.key, r.value) for i, r in enumerate(plain)]
    assert list(read_records(batch, header)) == numbered
    assert header.codec == codec
    with pytest.raises(CorruptBatch):
        list(read_message_set(data[:-1]))
