"""Message sets, magic 0 and 1: how records were written before Kafka 0.11.

They are read, and written for clients that can read nothing newer; no log holds them.

A set is a row of messages, each with its own CRC-32. A compressed message is a wrapper: its value
is a message set again, one level deep. Inner offsets are absolute in magic 0; in magic 1 they are
relative, and the wrapper carries the offset of the last. Some clients leave that at 0, which then
says nothing. Magic 0 has no times.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from odradek.model.errors import CorruptBatch, InvalidRecord
from odradek.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    MAGIC_AT,
    Buffer,
    headers,
)
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.compression import (
    DECOMPRESSED_BYTES_MAX,
    Codec,
    decompress,
    with_true_lz4_checksum,
)
from odradek.records.record import NULL, Record, read_records
from odradek.records.varint import INT64_END

NO_TIMESTAMP: Final = -1
MESSAGE_BYTES_MIN: Final = 26  # offset, size, crc, magic, attributes, no key, no value
SIZE_END: Final = 12  # the size counts the bytes behind itself
TIMESTAMP_AT: Final = 18
CRC_BYTES: Final = 4

_unpack_entry = Struct(">qi").unpack_from
_unpack_head = Struct(">qiIbb").unpack_from
_unpack_timestamp = Struct(">q").unpack_from
_unpack_length = Struct(">i").unpack_from
_pack_entry = Struct(">qiI").pack
_pack_head = Struct(">bb").pack
_pack_timestamp = Struct(">q").pack
_pack_length = Struct(">i").pack


@dataclass(slots=True)
class Message:
    """One entry of a message set, its CRC checked; a wrapper if it has a codec."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def codec(self) -> int:
        """How its value is compressed, which then is a message set."""
        return self.attributes & CODEC_MASK


def is_legacy(buffer: Buffer, position: int = 0) -> bool:
    """Whether the entry at this position is a message of magic 0 or 1, and not a batch."""
    return len(buffer) - position > MAGIC_AT and buffer[position + MAGIC_AT] < 2


def read_message_set(buffer: Buffer, *, limit: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """Every record of the set, wrappers opened, with the offsets that it has in the log."""
    for message in _messages(memoryview(buffer)):
        for record in _records(message, limit):
            if not 0 <= record.offset < INT64_END:
                raise CorruptBatch(f"a message at offset {record.offset}")
            yield record


def convert_up(buffer: Buffer, *, limit: int = DECOMPRESSED_BYTES_MAX) -> bytearray:
    """One batch of magic 2 with the records that a client sent as a set, counted from 0.

    The offsets that the client wrote are ignored, as Kafka ignores them. What was compressed
    stays compressed, with the same codec. The limit is for all wrappers together.
    """
    builder = BatchBuilder(plain_header())
    for message in _messages(memoryview(buffer)):
        builder.header.attributes = message.codec or builder.header.attributes
        for record in _records(message, limit - builder.size):
            record.offset = builder.count
            builder.append(record)
    if not builder.count:
        raise InvalidRecord("a message set without messages")
    return builder.finish()


def convert_down(buffer: Buffer, magic: int, start: int, *, bytes_max: int) -> bytearray:
    """The records of these batches from `start` on, as a message set that is not compressed.

    It ends behind the message that reaches `bytes_max`, or where a batch is cut off. Headers of
    records are lost, and control batches are left out: the old formats have no place for either.
    """
    found = bytearray()
    for position, header in headers(buffer, cut_tail=True):
        if header.attributes & CONTROL_BIT:
            continue
        attributes = header.attributes & LOG_APPEND_TIME_BIT if magic else 0
        for record in read_records(buffer, header, position):
            if record.offset < start:
                continue
            found += _message(record, magic, attributes)
            if len(found) >= bytes_max:
                return found
    return found


def _message(record: Record, magic: int, attributes: int) -> bytes:
    head = _pack_head(magic, attributes)
    if magic:
        head += _pack_timestamp(record.timestamp)
    body = head + _sized(record.key) + _sized(record.value)
    return _pack_entry(record.offset, len(body) + CRC_BYTES, zlib.crc32(body)) + body


def _sized(data: bytes | memoryview | None) -> bytes:
    return _pack_length(NULL) if data is None else _pack_length(len(data)) + data


def _records(message: Message, limit: int) -> Iterator[Record]:
    if not message.codec:
        yield Record(message.offset, message.timestamp, message.key, message.value)
        return
    if message.codec not in {Codec.GZIP, Codec.SNAPPY, Codec.LZ4} or message.value is None:
        raise CorruptBatch(f"a wrapper of magic {message.magic} with codec {message.codec}")
    value = message.value
    if message.codec == Codec.LZ4 and not message.magic:
        value = with_true_lz4_checksum(value)
    inner_set = memoryview(decompress(message.codec, value, limit))
    base_offset = 0
    if message.magic and message.offset:
        base_offset = message.offset - _last_offset(inner_set)
    append_time = message.attributes & LOG_APPEND_TIME_BIT
    for inner in _messages(inner_set):
        if inner.codec or inner.magic != message.magic:
            raise CorruptBatch(
                f"magic {inner.magic} with codec {inner.codec} in a wrapper of {message.magic}"
            )
        timestamp = message.timestamp if append_time else inner.timestamp
        yield Record(base_offset + inner.offset, timestamp, inner.key, inner.value)


def _messages(data: memoryview) -> Iterator[Message]:
    at = 0
    while at < len(data):
        if len(data) - at < MESSAGE_BYTES_MIN:
            raise CorruptBatch(f"a message is cut off after {len(data) - at} bytes")
        offset, size, crc, magic, attributes = _unpack_head(data, at)
        end = at + SIZE_END + size
        if not at + MESSAGE_BYTES_MIN <= end <= len(data):
            raise CorruptBatch(f"a message of {size} bytes where {len(data) - at} are left")
        if zlib.crc32(data[at + MAGIC_AT : end]) != crc:
            raise CorruptBatch(f"the checksum of the message at byte {at} does not hold")
        timestamp = NO_TIMESTAMP
        at += TIMESTAMP_AT
        if magic == 1:
            (timestamp,) = _unpack_timestamp(data, at)
            at += 8
        elif magic:
            raise CorruptBatch(f"a message of magic {magic}")
        key, at = _read_bytes(data, at, end)
        value, at = _read_bytes(data, at, end)
        if at != end:
            raise CorruptBatch(f"a message of {size} bytes does not end where it should")
        yield Message(offset, magic, attributes, timestamp, key, value)


def _read_bytes(data: memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    if end - at < 4:
        raise CorruptBatch("a message too short for the lengths of its parts")
    (length,) = _unpack_length(data, at)
    at += 4
    if length == NULL:
        return None, at
    if not 0 <= length <= end - at:
        raise CorruptBatch(f"a key or value of {length} bytes where {end - at} are left")
    return bytes(data[at : at + length]), at + length


def _last_offset(data: memoryview) -> int:
    """The offset of the last message, found without reading the others."""
    at = last = 0
    while at + SIZE_END <= len(data):
        last, size = _unpack_entry(data, at)
        at += SIZE_END + max(size, 0)
    return last
