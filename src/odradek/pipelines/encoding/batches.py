"""Rows of one partition as finished record batches, in their order.

Batches are cut by the bytes that their records take uncompressed: brokers bound a batch, not a
record. A record that is larger than the bound has a batch of its own, and the broker decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.pipelines.encoding.varints import packed, sizes, zigzag
from odradek.records.batch import seal
from odradek.records.build import plain_header
from odradek.records.compression import Codec, compress

BATCH_BYTES: Final = 512 << 10
OVERHEAD_BYTES: Final = 32  # of a record beside key, value and headers, at most
JOINED_BYTES_MAX: Final = 64 << 20
NOTHING: Final = b""


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of equal length; `times` are milliseconds."""

    keys: pa.Array
    values: pa.Array
    times: Any
    headers: pa.Array | None = None

    def slice(self, start: int, end: int) -> "Rows":
        """Some of them."""
        headers = None if self.headers is None else self.headers.slice(start, end - start)
        return Rows(
            self.keys.slice(start, end - start),
            self.values.slice(start, end - start),
            self.times[start:end],
            headers,
        )


def encode(
    rows: Rows, codec: Codec = Codec.NONE, batch_bytes: int = BATCH_BYTES
) -> Iterator[bytearray]:
    """The batches of these rows; offsets and the producer's fields are written later."""
    for _, batch in encode_groups(rows, np.zeros(1, np.int64), codec, batch_bytes):
        yield batch


def encode_groups(
    rows: Rows, starts: Any, codec: Codec = Codec.NONE, batch_bytes: int = BATCH_BYTES
) -> Iterator[tuple[int, bytearray]]:
    """The batches of several groups of rows, each with the number of its group.

    `starts` is where each group begins: 0, and rising. No batch has rows of two groups.
    """
    ends = np.cumsum(_estimates(rows))
    start = 0
    while start < len(ends):
        end = _end(ends, start, JOINED_BYTES_MAX)
        first = int(np.searchsorted(starts, start, side="right")) - 1
        last = int(np.searchsorted(starts, end))
        inside = np.maximum(starts[first:last], start) - start
        joined = _encode_joined(rows.slice(start, end), inside, codec, batch_bytes)
        for group, batch in joined:
            yield first + group, batch
        start = end


def _end(ends: Any, start: int, room: int) -> int:
    """Up to which row so many bytes suffice; one row always fits. `ends` are sums of bytes."""
    before = int(ends[start - 1]) if start else 0
    return max(start + 1, int(np.searchsorted(ends, before + room, side="right")))


def _encode_joined(
    rows: Rows, groups: Any, codec: Codec, batch_bytes: int
) -> Iterator[tuple[int, bytearray]]:
    starts = _cuts(_estimates(rows), groups, batch_bytes - BATCH_HEADER_BYTES)
    counts = np.diff(np.append(starts, len(rows.times)))
    deltas = np.arange(len(rows.times), dtype=np.int64) - np.repeat(starts, counts)
    since = rows.times - np.repeat(rows.times[starts], counts)
    joined = _records(rows, deltas, since)
    offsets = np.frombuffer(joined.buffers()[1], np.int32, len(joined) + 1)
    data = memoryview(joined.buffers()[2])
    numbers = np.searchsorted(groups, starts, side="right") - 1
    cuts = zip(numbers.tolist(), starts.tolist(), counts.tolist(), strict=True)
    for number, start, count in cuts:
        records = data[int(offsets[start]) : int(offsets[start + count])]
        yield number, _batch(records, rows.times[start : start + count], codec)


def _estimates(rows: Rows) -> Any:
    """Bytes that each record takes at most."""
    total = np.maximum(_lengths(rows.keys), 0) + np.maximum(_lengths(rows.values), 0)
    if rows.headers is not None:
        total = total + _header_bytes(rows.headers)
    return total + OVERHEAD_BYTES


def _header_bytes(headers: pa.Array) -> Any:
    _, entries = _headers(headers)
    return _lengths(entries)


def _cuts(estimates: Any, groups: Any, room: int) -> Any:
    """Where batches begin: with every group, and wherever there is no room for more."""
    ends = np.cumsum(estimates)
    starts: list[int] = []
    for start, last in zip(groups.tolist(), [*groups.tolist()[1:], len(ends)], strict=True):
        at = start
        while at < last:
            starts.append(at)
            at = _end(ends, at, room)
    return np.array(starts, np.int64)


def _records(rows: Rows, deltas: Any, since: Any) -> pa.Array:
    """The records, one binary each."""
    key_lengths, value_lengths = _lengths(rows.keys), _lengths(rows.values)
    counts, headers = _headers(rows.headers)
    numbers = [zigzag(it) for it in (since, deltas, key_lengths)]
    value_sizes = zigzag(value_lengths)
    bodies = (
        1  # attributes
        + sum(sizes(it) for it in numbers)
        + np.maximum(key_lengths, 0)
        + sizes(value_sizes)
        + np.maximum(value_lengths, 0)
    )
    if headers is None:
        bodies = bodies + 1
        tail: Any = [b"\0"]
    else:
        header_counts = zigzag(counts)
        bodies = bodies + sizes(header_counts) + _lengths(headers)
        tail = [packed([header_counts]), headers]
    attributes = np.zeros(len(deltas), np.uint64)
    return pc.binary_join_element_wise(
        packed([zigzag(bodies), attributes, *numbers]),
        _filled(rows.keys),
        packed([value_sizes]),
        _filled(rows.values),
        *tail,
        NOTHING,
    )


def _headers(headers: pa.Array | None) -> tuple[Any, pa.Array | None]:
    """How many headers each row has, and their bytes."""
    if headers is None or not len(headers.flatten()):
        return None, None
    rows = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False)
    entries = headers.flatten()
    keys, values = entries.field(0).cast(pa.binary()), entries.field(1)
    one = pc.binary_join_element_wise(
        packed([zigzag(_lengths(keys))]),
        _filled(keys),
        packed([zigzag(_lengths(values))]),
        _filled(values),
        NOTHING,
    )
    counts = rows.astype(np.int64)
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    offsets = np.frombuffer(one.buffers()[1], np.int32, len(one) + 1)[ends].astype(np.int32)
    entry_bytes = pa.Array.from_buffers(
        pa.binary(), len(counts), [None, pa.py_buffer(offsets), one.buffers()[2]]
    )
    return counts, entry_bytes


def _lengths(column: pa.Array | None) -> Any:
    """Of each binary; -1 for a null."""
    if column is None:
        return 0
    lengths = pc.fill_null(pc.binary_length(column), -1)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _filled(column: pa.Array) -> pa.Array:
    return pc.fill_null(column, b"") if column.null_count else column


def _batch(records: memoryview, times: Any, codec: Codec) -> bytearray:
    body = records if codec is Codec.NONE else compress(codec, bytes(records))
    header = plain_header(attributes=codec)
    header.base_timestamp, header.max_timestamp = int(times[0]), int(times.max())
    header.record_count, header.last_offset_delta = len(times), len(times) - 1
    header.size = BATCH_HEADER_BYTES + len(body)
    batch = bytearray(BATCH_HEADER_BYTES)
    batch += body
    seal(batch, header)
    return batch
