"""What compaction needs of a record: its key, whether it is a tombstone, and its bytes.

Reading a record whole costs several times more than this, and most of what compaction reads it
drops, or copies as it lies. The bytes of a record do not depend on its neighbours, so those that
stay are joined again without being taken apart. The checks are those of `records.record`: a record
must end where it says, whatever its parts claim.
"""

from copy import copy
from typing import NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.records.batch import LOG_APPEND_TIME_BIT, BatchHeader
from odradek.records.build import BatchBuilder
from odradek.records.compression import decompress
from odradek.records.record import RECORD_BYTES_MIN
from odradek.records.varint import read_varint, read_varlong


class Outline(NamedTuple):
    """One record, without what only its readers need."""

    offset: int
    key: bytes | None
    is_tombstone: bool
    timestamp: int
    start: int  # where its bytes lie in the decompressed records
    end: int


def outlines(batch: memoryview, header: BatchHeader) -> tuple[bytes, list[Outline]]:
    """The decompressed records, and an outline of each; the batch was checked by its CRC."""
    data = bytes(decompress(header.codec, batch[BATCH_HEADER_BYTES:]))
    if header.record_count * RECORD_BYTES_MIN > len(data):
        raise CorruptBatch(f"{header.record_count} records cannot be in {len(data)} bytes")
    found = []
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    at, delta_min = 0, 0
    try:
        for _ in range(header.record_count):
            start = at
            length, at = read_varint(data, at)
            end = at + length
            timestamp, at = read_varlong(data, at + 1)
            delta, at = read_varint(data, at)
            size, at = read_varint(data, at)
            key = None if size < 0 else data[at : at + size]
            at += max(size, 0)
            size = read_varint(data, at)[0]
            if not delta_min <= delta <= header.last_offset_delta or not at < end <= len(data):
                raise CorruptBatch(f"a record at byte {start} is not what it says")
            delta_min = delta + 1
            found.append(
                Outline(base_offset + delta, key, size < 0, base_timestamp + timestamp, start, end)
            )
            at = end
    except IndexError:
        raise CorruptBatch(f"a record at byte {at} of {len(data)} is cut off") from None
    if at != len(data):
        raise CorruptBatch(f"{len(data) - at} bytes behind the last record")
    return data, found


def batch_of(data: bytes, kept: list[Outline], header: BatchHeader) -> bytearray:
    """The batch of this header with some of its records; every number of it stays."""
    header = copy(header)
    builder = BatchBuilder(header)
    builder.body += b"".join([data[record.start : record.end] for record in kept])
    builder.count = len(kept)
    if kept:
        builder.last_delta = kept[-1].offset - header.base_offset
        if not header.attributes & LOG_APPEND_TIME_BIT:
            header.max_timestamp = max(record.timestamp for record in kept)
    return builder.finish()
