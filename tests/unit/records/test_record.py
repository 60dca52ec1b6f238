"""Records whose lengths and counts lie: each is refused, whatever it claims, before it costs."""

import tracemalloc
from collections.abc import Callable

import pytest

from odradek.model.errors import BatchTooLarge, CorruptBatch
from odradek.records.batch import HEADER, BatchHeader, check_crc, read_header, seal
from odradek.records.build import build_batch
from odradek.records.compression import Codec, compress
from odradek.records.record import Record, read_records
from odradek.records.varint import write_varint

INT32_MAX = (1 << 31) - 1


def varints(*values: int) -> bytes:
    """Numbers as a record holds them."""
    out = bytearray()
    for value in values:
        write_varint(out, value)
    return bytes(out)


def entry(body: bytes, length: int | None = None) -> bytes:
    """A record of these bytes behind the attributes, or one that claims another length."""
    body = b"\x00" + body
    return varints(len(body) if length is None else length) + body


def batch_of(
    records: bytes, *, count: int = 1, last_delta: int = 0, codec: Codec = Codec.NONE
) -> tuple[bytearray, BatchHeader]:
    """A batch whose checksum holds, whatever is in it."""
    data = compress(codec, records)
    fields = (0, 49 + len(data), 0, 2, 0, codec, last_delta, 1_000, 1_000, -1, -1, -1, count)
    batch = bytearray(HEADER.pack(*fields)) + data
    header = read_header(batch)
    seal(batch, header)
    check_crc(batch, header)
    return batch, header


WHOLE = entry(varints(0, 0, 1) + b"k" + varints(1) + b"v" + varints(1, 1) + b"h" + varints(-1))


def test_a_record_laid_out_by_hand_is_read() -> None:
    """The layout is Kafka's: what the refusals below change is a record that would pass."""
    batch, header = batch_of(WHOLE)
    assert list(read_records(batch, header)) == [Record(0, 1_000, b"k", b"v", ((b"h", None),))]


LIES: dict[str, bytes] = {
    "negative record length": entry(varints(0, 0, -1, -1, 0), length=-1),
    "very negative record length": entry(varints(0, 0, -1, -1, 0), length=-INT32_MAX),
    "record length zero": entry(varints(0, 0, -1, -1, 0), length=0),
    "record length one short": entry(varints(0, 0, -1, -1, 0), length=5),
    "record length one long": entry(varints(0, 0, -1, -1, 0), length=7),
    "huge record length": entry(varints(0, 0, -1, -1, 0), length=INT32_MAX),
    "negative key length": entry(varints(0, 0, -2, -1, 0)),
    "huge key length": entry(varints(0, 0, INT32_MAX, -1, 0)),
    "key length beyond the record": entry(varints(0, 0, 2, -1, 0)) + b"\x00" * 40,
    "negative value length": entry(varints(0, 0, -1, -2, 0)),
    "huge value length": entry(varints(0, 0, -1, INT32_MAX, 0)),
    "value length beyond the record": entry(varints(0, 0, -1, 7, 0)) + b"\x00" * 40,
    "negative header count": entry(varints(0, 0, -1, -1, -1)),
    "huge header count": entry(varints(0, 0, -1, -1, INT32_MAX)),
    "more headers than bytes": entry(varints(0, 0, -1, -1, 3, 0, 0, 0, 0)),
    "null header key": entry(varints(0, 0, -1, -1, 1, -1, 0)),
    "huge header key": entry(varints(0, 0, -1, -1, 1, INT32_MAX, 0)),
    "negative header value": entry(varints(0, 0, -1, -1, 1, 0, -2)),
    "huge header value": entry(varints(0, 0, -1, -1, 1, 0, INT32_MAX)),
    "bytes behind the headers": entry(varints(0, 0, -1, -1, 0) + b"more"),
    "negative offset delta": entry(varints(0, -1, -1, -1, 0)),
    "offset delta beyond the last": entry(varints(0, 1, -1, -1, 0)),
    "eleven-byte timestamp": entry(b"\x80" * 10 + b"\x00" + varints(0, -1, -1, 0)),
    "ten-byte offset delta": entry(varints(0) + b"\x80" * 9 + b"\x00" + varints(-1, -1, 0)),
    "ten-byte key length": entry(varints(0, 0) + b"\x80" * 9 + b"\x00" + varints(-1, 0)),
    "record length of 33 bits": varints(1 << 32) + b"\x00" * 20,
    "record length that never ends": b"\xff" * 40,
    "nothing but zeros": bytes(40),
    "a second record": WHOLE + WHOLE,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4], ids=lambda codec: codec.name)
def test_a_lying_record_is_refused(lie: str, codec: Codec) -> None:
    """The checksum holds, so only the walk through the records can find it."""
    batch, header = batch_of(LIES[lie], codec=codec)
    with pytest.raises(CorruptBatch):
        list(read_records(batch, header))


def test_records_cut_at_any_byte_are_refused() -> None:
    """A batch that was cut and signed anew has records that are not all there."""
    for cut in range(len(WHOLE + WHOLE)):
        batch, header = batch_of((WHOLE + WHOLE)[:cut], count=2, last_delta=1)
        with pytest.raises(CorruptBatch):
            list(read_records(batch, header))


def test_a_record_that_ends_behind_the_data_is_not_given() -> None:
    """Its last header's value is cut off, and its length says so: it never looks like a record."""
    whole = entry(varints(0, 0, -1, -1, 1, 0, 9) + b"nine bytes"[:9])
    for cut in range(1, 10):
        batch, header = batch_of(whole[:-cut])
        with pytest.raises(CorruptBatch):
            next(read_records(batch, header))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_records_cut_at_any_byte_are_refused(codec: Codec) -> None:
    """Whatever the codec's library makes of half its input, it does not become records."""
    records = [Record(i, 1_000 + i, b"key", b"value %d" % (i * i)) for i in range(20)]
    data = bytes(build_batch(records, codec=codec))
    for cut in range(61, len(data)):
        batch = bytearray(data[:cut])
        header = read_header(batch)
        header.size = cut
        with pytest.raises(CorruptBatch):
            list(read_records(batch, header))


def test_offsets_that_do_not_rise_are_refused() -> None:
    """Two records of one batch never have the same offset."""
    batch, header = batch_of(WHOLE + WHOLE, count=2, last_delta=1)
    records = read_records(batch, header)
    assert next(records).offset == 0
    with pytest.raises(CorruptBatch, match="offset delta 0"):
        next(records)


@pytest.mark.parametrize("count", [0, 1, 3, 7, INT32_MAX])
def test_a_count_that_lies_is_refused(count: int) -> None:
    """Neither fewer records than are there nor more; only none at all are not even looked for."""
    two = build_batch([Record(0, 0, None, b"a"), Record(1, 0, None, b"b")])
    header = read_header(two)
    header.record_count = count
    header.last_offset_delta = INT32_MAX
    if count == 0:
        assert list(read_records(two, header)) == []
    else:
        with pytest.raises(CorruptBatch):
            list(read_records(two, header))


def peak_while(act: Callable[[], object]) -> int:
    """The most memory that was held at once meanwhile, beyond what was held before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("lie", [name for name in LIES if "huge" in name or "more" in name])
def test_a_huge_length_allocates_nothing(lie: str) -> None:
    """Two gigabytes are claimed by a handful of bytes: the claim is refused before it is met."""
    batch, header = batch_of(LIES[lie])

    def refuse() -> None:
        with pytest.raises(CorruptBatch):
            list(read_records(batch, header))

    assert peak_while(refuse) < 64_000


def test_headers_of_two_bytes_do_not_multiply() -> None:
    """Empty headers cost a hundred times their bytes here, so there is a number of them at most."""
    batch, header = batch_of(
        entry(varints(0, 0, -1, -1, 1 << 20) + bytes(2 << 20)), codec=Codec.GZIP
    )
    with pytest.raises(CorruptBatch, match="headers"):
        list(read_records(batch, header))


def test_the_readers_limit_is_kept() -> None:
    """Whoever reads says how much memory a batch is worth; uncompressed ones were in it already."""
    records = [Record(0, 0, None, bytes(100_000))]
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        batch = build_batch(records, codec=codec)
        header = read_header(batch)
        assert list(read_records(batch, header, limit=100_100)) == records
        with pytest.raises(BatchTooLarge):
            list(read_records(batch, header, limit=99_999))
