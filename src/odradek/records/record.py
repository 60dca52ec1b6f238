"""The records inside a batch, read one by one.

A record says its own length, and so does every part of it. None of these is believed: whatever
the parts claim, the record must end exactly where it said it would, and the batch behind its last
record. That one comparison catches a lying length without a check at each part.

Offsets rise within the batch, with gaps where compaction took something away.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.records.batch import (
    BASE_OFFSET_END,
    CHECKED_FROM,
    HEADER,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    BatchHeader,
    Buffer,
)
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, decompress
from odradek.records.varint import INT64_END, read_varint, read_varlong, wrapped

Headers = tuple[tuple[bytes, bytes | None], ...]

RecordParts: TypeAlias = tuple[int, bytes | None, bytes | None]
"""Offset, key, value: a plain tuple, where there are very many."""

HEADERS_MAX: Final = 1 << 16  # of one record: two bytes on the wire are a hundred here
NULL: Final = -1  # the length of what is not there
RECORD_BYTES_MIN: Final = 7  # a length, the attributes, two deltas, no key, no value, no headers

_unpack = HEADER.unpack_from


@dataclass(slots=True)
class Record:
    """One record; None is no key, or a value that deletes what was there before."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def read_records(
    buffer: Buffer,
    header: BatchHeader,
    position: int = 0,
    *,
    limit: int = DECOMPRESSED_BYTES_MAX,
) -> Iterator[Record]:
    """Each record of the batch at this position, which must have been checked by its CRC.

    CorruptBatch where the bytes are not as many records as the header says; BatchTooLarge where
    they decompress to more than the limit.
    """
    if not header.record_count:
        return
    start, end = position + BATCH_HEADER_BYTES, position + header.size
    data = decompress(header.codec, memoryview(buffer)[start:end], limit)
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None
    at = delta_min = 0
    for _ in range(header.record_count):
        try:
            timestamp_delta, delta, key, value, headers, at = _read_record(data, at)
        except IndexError:
            raise CorruptBatch(f"a record at byte {at} of {len(data)} is cut off") from None
        if not delta_min <= delta <= header.last_offset_delta:
            raise CorruptBatch(
                f"offset delta {delta}, not from {delta_min} to {header.last_offset_delta}"
            )
        delta_min = delta + 1
        timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
        if not -INT64_END <= timestamp < INT64_END:
            timestamp = wrapped(timestamp)
        yield Record(header.base_offset + delta, timestamp, key, value, headers)
    if at != len(data):
        raise CorruptBatch(f"{len(data) - at} bytes behind the last record")


def read_alone(buffer: bytes, position: int = 0) -> tuple[RecordParts, int] | None:
    """A batch of one plain record, read by hand, and where it ends; checked by its CRC.

    For a log of very many of them, whose times and headers say nothing: a quarter of the cost. It
    declines everything else, and all that cannot be: `read_header` and `read_records` say why.
    """
    try:
        base_offset, length, _, magic, crc, attributes, delta, *_, count = _unpack(buffer, position)
        end = position + LENGTH_END + length
        if (
            attributes
            or delta
            or count != 1
            or magic != MAGIC
            or not 0 <= base_offset < BASE_OFFSET_END
        ):
            return None
        if end > len(buffer) or crc32c(memoryview(buffer)[position + CHECKED_FROM : end]) != crc:
            return None
        size, at = read_varint(buffer, position + BATCH_HEADER_BYTES)
        if at + size != end or buffer[at + 1 : at + 3] != b"\0\0":  # the deltas
            return None
        size, at = read_varint(buffer, at + 3)
        value_at = at + size
        key = buffer[at:value_at]
        value_size, at = read_varint(buffer, value_at)
        behind = at + value_size
        # nothing but the number of headers may lie behind, and there are none
        if size < 0 or value_size < 0 or behind + 1 != end or buffer[behind]:
            return None
    except (struct.error, IndexError, CorruptBatch):
        return None
    return (base_offset, key, buffer[at:behind]), end


def check_record(data: bytes, at: int, offset_delta: int) -> int:
    """The position behind a record of this offset delta; CorruptBatch or IndexError if none is."""
    _, delta, _, _, _, behind = _read_record(data, at)
    if delta != offset_delta:
        raise CorruptBatch(f"offset delta {delta} where {offset_delta} was to come")
    return behind


def _read_record(data: bytes, at: int) -> tuple[int, int, bytes | None, bytes | None, Headers, int]:
    length, at = read_varint(data, at)
    end = at + length
    timestamp_delta, at = read_varlong(data, at + 1)  # no bit of the attributes has a meaning
    offset_delta, at = read_varint(data, at)
    key: bytes | None = None
    size, at = read_varint(data, at)
    if size >= 0:
        key = data[at : at + size]
        at += size
    elif size != NULL:
        raise CorruptBatch(f"a key of {size} bytes")
    value: bytes | None = None
    size, at = read_varint(data, at)
    if size >= 0:
        value = data[at : at + size]
        at += size
    elif size != NULL:
        raise CorruptBatch(f"a value of {size} bytes")
    count, at = read_varint(data, at)
    headers: Headers = ()
    if count:
        headers, at = _read_headers(data, at, count, end)
    if at != end or end > len(data):
        raise CorruptBatch(f"a record of {length} bytes does not end where it should")
    return timestamp_delta, offset_delta, key, value, headers, at


def _read_headers(data: bytes, at: int, count: int, end: int) -> tuple[Headers, int]:
    if not 0 < count <= min((end - at) // 2, HEADERS_MAX):  # a header has two lengths at least
        raise CorruptBatch(f"{count} headers in {end - at} bytes")
    headers = []
    for _ in range(count):
        size, at = read_varint(data, at)
        if size < 0:
            raise CorruptBatch(f"a header's key of {size} bytes")
        key = data[at : at + size]
        at += size
        value: bytes | None = None
        size, at = read_varint(data, at)
        if size >= 0:
            value = data[at : at + size]
            at += size
        elif size != NULL:
            raise CorruptBatch(f"a header's value of {size} bytes")
        headers.append((key, value))
    return tuple(headers), at
