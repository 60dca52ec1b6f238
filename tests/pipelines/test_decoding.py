"""Bytes to columns: compared with `records.read_records`, which reads the same one by one."""

import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.client.records.aborted import AbortedTransactions
from odradek.pipelines.columns import COLUMNS
from odradek.pipelines.decoding import fields
from odradek.pipelines.decoding.runs import DamagedBatch, Fetched
from odradek.pipelines.decoding.table import TableDecoder
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.reading import received
from odradek.records.batch import TimestampType, headers, place, read_header, seal
from odradek.records.build import build_batch
from odradek.records.compression import Codec
from odradek.records.control import EndMarker, build_end_marker
from odradek.records.record import Record, read_records

ALL = tuple(COLUMNS)
BEFORE, BEHIND = b"before", bytes(200)


def decoded(
    data: bytes,
    *,
    start: int = 0,
    end: int = 1 << 62,
    names: Sequence[str] = ALL,
    aborted: AbortedTransactions | None = None,
) -> list[dict[str, Any]]:
    """The rows that come out of bytes that lie within others, as those of an answer do."""
    of = OffsetRange("orders", "", 3, start, end)
    decoder = TableDecoder(of, names)
    answer, at = BEFORE + data + BEHIND, len(BEFORE)
    fetched = Fetched(answer, start, end, aborted or AbortedTransactions(), at, at + len(data))
    found: list[pa.RecordBatch] = []
    for run in fetched.runs():
        found += decoder.decode(run, start)
    return [row for batch in found for row in batch.to_pylist()]


def expected(data: bytes) -> list[tuple[Any, ...]]:
    """The same, as the broker's own reader has it."""
    return [
        (record.offset, record.timestamp, record.key, record.value, record.headers)
        for at, header in headers(data)
        if not header.is_control
        for record in read_records(data, header, at)
    ]


def compared(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows in the form of `expected`."""
    return [
        (
            row["offset"],
            round(row["timestamp"].timestamp() * 1000),
            row["key"],
            row["value"],
            tuple((h["key"].encode(), h["value"]) for h in row["headers"] or ()),
        )
        for row in rows
    ]


small_bytes = st.one_of(st.none(), st.binary(max_size=200))
header_rows = st.lists(
    st.tuples(st.text(max_size=5).map(str.encode), small_bytes), max_size=12
).map(tuple)
record_parts = st.tuples(
    st.integers(1, 3), st.integers(0, 1 << 41), small_bytes, small_bytes, header_rows
)
batches = st.lists(
    st.tuples(
        st.sampled_from(Codec),
        st.sampled_from(TimestampType),
        st.lists(record_parts, min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(batches)
def test_columns_hold_what_the_records_hold(drawn: list[Any]) -> None:
    """All codecs, kinds of times, gaps between offsets, nulls and headers, in one fetch."""
    data, offset = b"", 0
    for codec, kind, parts in drawn:
        records, base = [], offset
        for step, time, key, value, some in parts:
            offset += step
            records.append(Record(offset, time, key, value, some))
        offset += 1
        data += bytes(build_batch(records, base_offset=base, codec=codec, timestamp_type=kind))
    rows = decoded(data)
    assert compared(rows) == expected(data)
    kinds = [h.timestamp_type for _, h in headers(data) for _ in range(h.record_count)]
    assert [row["timestampType"] for row in rows] == kinds
    assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 3)}


def many(count: int, *, base: int = 0, size: int = 20, **options: Any) -> bytes:
    """A batch of so many records."""
    chance = random.Random(count)
    records = [
        Record(base + i, 1_000 + i, b"k%d" % i, chance.randbytes(size)) for i in range(count)
    ]
    return bytes(build_batch(records, base_offset=base, **options))


@pytest.mark.parametrize("codec", Codec)
def test_a_range_begins_and_ends_inside_batches(codec: Codec) -> None:
    """Fetch gives whole batches; a reader gets its offsets and no other."""
    data = many(50, codec=codec) + many(50, base=50, codec=codec) + many(50, base=100, codec=codec)
    offsets = [row["offset"] for row in decoded(data, start=30, end=101, names=["offset"])]
    assert offsets == list(range(30, 101))


def test_columns_that_are_not_wanted_are_not_there() -> None:
    """A schema of the user's chooses columns and their order."""
    (row, *_) = decoded(many(3), names=["timestamp", "value"])
    assert list(row) == ["timestamp", "value"]


def test_batches_come_in_slices_that_spark_takes_well() -> None:
    """A fetch of very many small records is cut."""
    data = many(25_000, size=1)
    decoder = TableDecoder(OffsetRange("t", "", 0, 0, 1 << 40), ALL)
    (run,) = Fetched(data, 0, 1 << 40, AbortedTransactions()).runs()
    assert [batch.num_rows for batch in decoder.decode(run, 0)] == [10_000, 10_000, 5_000]


def test_a_cut_tail_is_left_for_the_next_fetch() -> None:
    """A response ends where its size does, in the middle of a batch."""
    data = many(10) + many(10, base=10)[:-1]
    fetched = Fetched(data, 0, 100, AbortedTransactions())
    assert [len(run.headers) for run in fetched.runs()] == [1]
    assert fetched.position == 10


def test_a_batch_that_the_answer_goes_beyond_is_cut_all_the_same() -> None:
    """What lies behind the records of an answer is none of theirs."""
    data = BEFORE + many(10) + many(10, base=10)
    at = len(BEFORE)
    fetched = Fetched(data, 0, 100, AbortedTransactions(), at, len(data) - 1)
    assert [len(run.headers) for run in fetched.runs()] == [1]
    cut = Fetched(data, 0, 100, AbortedTransactions(), at, at + 100)
    with pytest.raises(DamagedBatch, match="cut off"):
        list(cut.runs())


def test_records_are_decoded_where_they_were_received() -> None:
    """A copy of an answer would take as long as all that is looked at in it."""
    answer = BEFORE + b"records"
    data, at = received(memoryview(answer)[len(BEFORE) :])
    assert data is answer
    assert at == len(BEFORE)
    assert received(memoryview(bytearray(answer))[len(BEFORE) :]) == (b"records", 0)


def test_aborted_transactions_and_control_batches_are_left_out() -> None:
    """Of two interleaved producers one aborts, and its next transaction commits."""

    def of(producer: int, base: int) -> bytes:
        return many(2, base=base, producer_id=producer, producer_epoch=0, transactional=True)

    def marker(producer: int, at: int, *, committed: bool) -> bytes:
        return bytes(
            build_end_marker(
                EndMarker(committed, 0),
                producer_id=producer,
                producer_epoch=0,
                timestamp=5,
                base_offset=at,
            )
        )

    data = b"".join(
        (
            of(1, 0),
            of(2, 2),
            marker(1, 4, committed=False),
            of(1, 5),
            marker(2, 7, committed=True),
            marker(1, 8, committed=True),
            marker(1, 9, committed=False),  # it comes twice, and ends nothing
            of(1, 10),
            marker(1, 12, committed=False),
        )
    )
    all_offsets = [row["offset"] for row in decoded(data)]
    assert all_offsets == [0, 1, 2, 3, 5, 6, 10, 11]
    committed = decoded(data, aborted=AbortedTransactions([(1, 0), (1, 10)]))
    assert [row["offset"] for row in committed] == [2, 3, 5, 6]


def test_a_flipped_bit_is_found_and_the_batches_before_it_are_read() -> None:
    """The CRC is always checked; the damage names offsets, so that a reader can go on."""
    data = bytearray(many(5) + many(5, base=5) + many(5, base=10))
    data[len(data) // 2] ^= 1
    fetched = Fetched(bytes(data), 0, 100, AbortedTransactions())
    runs = fetched.runs()
    assert [header.base_offset for header in next(runs).headers] == [0]
    with pytest.raises(DamagedBatch) as caught:
        next(runs)
    assert (caught.value.offset, caught.value.next_offset) == (5, 10)


def resealed(change: Callable[[bytearray], None]) -> bytes:
    """A batch whose records were changed by somebody who then signed it."""
    batch = bytearray(many(3))
    change(batch)
    seal(batch, read_header(batch))
    return bytes(batch)


def _set(at: int, *values: int) -> Callable[[bytearray], None]:
    def change(batch: bytearray) -> None:
        batch[at : at + len(values)] = bytes(values)

    return change


LIES = {
    "a record longer than the batch": _set(61, 0xFF, 0x01),
    "a negative length": _set(61, 0x03),
    "a key longer than its record": _set(65, 0x7E),
    "an offset that goes back": _set(64, 0x01),
    "an endless varint": _set(63, *[0xFF] * 12),
    "more records than there are": lambda batch: struct.pack_into(">i", batch, 57, 4),
    "fewer records than there are": lambda batch: struct.pack_into(">i", batch, 57, 2),
    "a time beyond all times": _set(27, 0x7F),
}


@pytest.mark.parametrize("lie", LIES)
def test_records_are_not_believed(lie: str) -> None:
    """A signed batch may still lie; nothing outside it is shown, and the others are read."""
    bad = bytearray(resealed(LIES[lie]))
    place(bad, 0, 3, 0)
    of = OffsetRange("orders", "", 0, 0, 100)
    (run,) = Fetched(many(3) + bytes(bad), 0, 100, AbortedTransactions()).runs()
    rows = TableDecoder(of, ALL).decode(run, 0)
    assert next(rows).num_rows == 3
    with pytest.raises(DamagedBatch) as caught:
        next(rows)
    assert caught.value.offset == 3


def test_very_many_headers_in_few_records() -> None:
    """65,000 headers are read one by one where others have none, and stay in their record."""
    some = tuple((b"h%d" % i, b"%d" % i) for i in range(65_000))
    records = [Record(i, 0, None, b"v", some if i == 7 else ()) for i in range(20)]
    rows = decoded(bytes(build_batch(records)))
    assert [len(row["headers"] or ()) for row in rows] == [0] * 7 + [65_000] + [0] * 12
    assert rows[7]["headers"][64_999] == {"key": "h64999", "value": b"64999"}


def test_a_batch_that_decompresses_without_end_is_refused() -> None:
    """A megabyte of zstd can claim a gigabyte: the bound is that of a request."""
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes(150 << 20))
    batch = bytearray(many(1, codec=Codec.ZSTD)[:61]) + bomb
    header = read_header(batch)
    header.size = len(batch)
    seal(batch, header)
    with pytest.raises(DamagedBatch, match=r"more than|allowed"):
        decoded(bytes(batch))


def test_the_compiled_loop_is_the_one_in_python() -> None:
    """The two agree on every byte string, also on what is no run of records."""
    ways = fields._in_python, fields._compiled()
    if ways[1] is None:
        pytest.skip("the loop is not compiled here: python hatch_build.py does it")
    chance = random.Random(5)
    fit = 0
    for number in range(20_000):
        data, region = _like_records(chance)
        slices = number % 3 != 0
        outcomes: list[Any] = []
        for way in ways:
            assert way is not None
            try:
                found = way(data, [region], slices=slices)
                outcomes.append([None if it is None else it.tolist() for it in found])
            except fields.MalformedRecords:
                outcomes.append(None)
        assert outcomes[0] == outcomes[1], (data, region, slices)
        fit += outcomes[0] is not None
    assert 1_000 < fit < 19_000


def _like_records(chance: random.Random) -> tuple[bytes, tuple[int, int, int]]:
    """Bytes that may be records, and a region of them that may be theirs."""
    head, data, count = chance.randrange(3), b"", chance.randrange(5)
    numbers = (0, 2, 4, 6, 1, 3, 0x80, 0xFF)
    for _ in range(count):
        parts = bytes(chance.choice(numbers) for _ in range(chance.randrange(1, 14)))
        wide = chance.random() < 0.1
        data += bytes([len(parts) * 2 | 0x80, 0] if wide else [len(parts) * 2]) + parts
    if chance.random() < 0.2:
        count += chance.randrange(-1, 2)
    end = head + len(data) + (chance.random() < 0.1)
    return bytes(head) + data + bytes(3), (head, end, max(count, 0))
