"""Arrow columns become the batches that our own reader of records reads back."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipelines.columns import HEADERS_TYPE
from odradek.pipelines.encoding.batches import Rows, encode, encode_groups
from odradek.pipelines.encoding.partitioner import murmur2
from odradek.records.batch import read_header
from odradek.records.compression import Codec
from odradek.records.record import read_records

texts = st.one_of(st.none(), st.binary(max_size=300))
headers = st.lists(st.tuples(st.text(max_size=5), texts), max_size=4)
records = st.tuples(texts, texts, st.integers(0, 1 << 42), headers)


@given(st.lists(records, min_size=1, max_size=60), st.sampled_from(Codec), st.integers(100, 5_000))
def test_records_come_back(
    given_records: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]],
    codec: Codec,
    batch_bytes: int,
) -> None:
    """Keys, values, nulls, times and headers, whatever the codec and wherever batches are cut."""
    rows = Rows(
        pa.array([it[0] for it in given_records], pa.binary()),
        pa.array([it[1] for it in given_records], pa.binary()),
        np.array([it[2] for it in given_records], np.int64),
        pa.array(
            [[{"key": k, "value": v} for k, v in it[3]] for it in given_records], HEADERS_TYPE
        ),
    )
    found = []
    for batch in encode(rows, codec, batch_bytes):
        header = read_header(batch)
        assert header.size == len(batch)
        assert header.last_offset_delta == header.record_count - 1
        for number, record in enumerate(read_records(batch, header)):
            assert record.offset == number
            pairs = [(bytes(k).decode(), v) for k, v in record.headers]
            found.append((record.key, record.value, record.timestamp, pairs))
    assert found == [(k, v, t, list(h)) for k, v, t, h in given_records]


def test_batches_keep_to_their_bound() -> None:
    """But for a record that is larger by itself."""
    values = pa.array([b"x" * 100] * 1_000 + [b"y" * 9_000] + [b"z"] * 10, pa.binary())
    keys = pa.nulls(len(values), pa.binary())
    rows = Rows(keys, values, np.zeros(len(values), np.int64))
    sizes = [len(it) for it in encode(rows, batch_bytes=4_000)]
    assert sorted(sizes)[-2] <= 4_000 < max(sizes)
    assert len(sizes) < 60


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_hash_as_in_kafka(key: bytes, expected: int) -> None:
    """Kafka's own table, from UtilsTest."""
    assert np.int32(murmur2(pa.array([key], pa.binary())).view(np.int32)[0]) == expected


def test_slices_hash_as_copies_do() -> None:
    """An Arrow slice begins in the middle of its buffers."""
    keys = pa.array([b"%d" % (7**i) for i in range(40)] + [None], pa.binary())
    assert (murmur2(keys.slice(11)) == murmur2(keys)[11:]).all()


@pytest.mark.parametrize("joined", [200, 64 << 20])
def test_groups_have_batches_of_their_own(joined: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, whether they are laid out in one go or in several."""
    monkeypatch.setattr("odradek.pipelines.encoding.batches.JOINED_BYTES_MAX", joined)
    values = pa.array([b"%d" % i for i in range(100)], pa.binary())
    rows = Rows(pa.nulls(100, pa.binary()), values, np.arange(100, dtype=np.int64))
    found: dict[int, list[bytes | None]] = {}
    for group, batch in encode_groups(rows, np.array([0, 10, 11, 60]), batch_bytes=400):
        header = read_header(batch)
        found.setdefault(group, []).extend(it.value for it in read_records(batch, header))
    expected = [values.to_pylist()[a:b] for a, b in ((0, 10), (10, 11), (11, 60), (60, 100))]
    assert [found[group] for group in range(4)] == expected
