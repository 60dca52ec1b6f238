"""What a client may append: one batch of magic 2, at two depths.

`check_produced` looks at the header and the checksum, and, where the records are not compressed,
at the length of each and at the whole of the last one: lengths that lie were written by a broken
client, and no consumer could pass them. That is all that most batches ever need; the broker stores
them as they came. `check_records` decompresses and reads every record, where a topic's rules are
about records: keys for compaction, bounds for timestamps.

A broken checksum, or a header that cannot be one, means that the bytes were harmed on their way,
so the client is told to try again (CORRUPT_MESSAGE). Once the checksum holds, whatever is wrong was
wrong when it was sent, and trying again cannot help (INVALID_RECORD and its like).

What replicas copy from their leader, and what lies in a log, may look odder than this: compaction
leaves gaps and empty batches, leaders write control batches. That is read, never produced.
"""

from collections.abc import Mapping
from typing import Final

from odradek.model.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidRecord,
    InvalidTimestamp,
    UnsupportedCompression,
)
from odradek.model.ids import NO_PRODUCER
from odradek.model.limits import BATCH_BYTES_MAX, BATCH_HEADER_BYTES
from odradek.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_AT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    check_crc,
    read_header,
)
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec
from odradek.records.record import RECORD_BYTES_MIN, check_record, read_records
from odradek.records.varint import INT64_END, read_varint, read_varlong

NO_TIMESTAMP: Final = -1
NAMED_MAX: Final = 1_000
"""Refused records that an answer names: it stays far below a frame."""
HEADER_BYTES: Final[int] = BATCH_HEADER_BYTES
ANY_TIME: Final = (-INT64_END, INT64_END - 1)
ONE_BYTE_END: Final = 0x80  # a varint below it has no second byte
ZSTD_SINCE: Final = 7  # the version of Produce from which on clients may send zstd (KIP-110)
PLAIN_ATTRIBUTES: Final = 0x03  # nothing but a codec that every version knows
PRODUCED_ATTRIBUTES: Final = CODEC_MASK | TRANSACTIONAL_BIT


def check_produced(
    buffer: Buffer, *, version: int, bytes_max: int = BATCH_BYTES_MAX
) -> BatchHeader:
    """The header of what Produce of this version (3 and up) brought for one partition.

    The buffer holds exactly one batch. Compressed records in it were not looked at.
    """
    try:
        header = read_header(buffer)
    except CorruptBatch:
        if len(buffer) > MAGIC_AT and buffer[MAGIC_AT] != MAGIC:
            raise InvalidRecord(f"magic {buffer[MAGIC_AT]}, where only {MAGIC} is taken") from None
        raise
    if header.size > bytes_max:
        raise BatchTooLarge(f"a batch of {header.size} bytes, where {bytes_max} are allowed")
    check_crc(buffer, header)
    if header.size != len(buffer):
        raise InvalidRecord("more than one batch for a partition")
    if header.attributes & ~PLAIN_ATTRIBUTES:
        _check_attributes(header, version)
    if header.last_offset_delta + 1 != header.record_count:
        raise InvalidRecord(
            f"{header.record_count} records, where the last is number {header.last_offset_delta}"
        )
    is_plain = not header.attributes & CODEC_MASK
    if is_plain and header.record_count * RECORD_BYTES_MIN > header.size:
        raise InvalidRecord(f"{header.record_count} records cannot be in {header.size} bytes")
    if (
        header.producer_id != NO_PRODUCER
        and header.producer_id | header.producer_epoch | header.base_sequence < 0  # any of them
    ):
        raise InvalidRecord(
            f"producer {header.producer_id} with epoch {header.producer_epoch} "
            f"and sequence {header.base_sequence}"
        )
    if is_plain:
        _check_lengths(buffer, header.record_count)
    return header


def _check_lengths(buffer: Buffer, record_count: int) -> None:
    """Whether the lengths of plain records lead to the end of the batch, and the last one holds.

    0.2 µs a record; to read each of them whole costs ten times as much. A client that counts wrong
    is found at its last record.
    """
    data: bytes = buffer  # type: ignore[assignment] # it is only read
    at, signs = HEADER_BYTES, 0
    try:
        for _ in range(record_count - 1):
            length = data[at]
            signs |= length
            if length < 0x80:
                at += (length >> 1) + 1
            elif (more := data[at + 1]) < 0x80:
                at += (length >> 1 & 0x3F | more << 6) + 2
            else:
                length, at = read_varint(data, at)
                at += length
        if signs & 1:
            raise InvalidRecord("the checksum holds, but a record has a negative length")
        if _is_plain_record(data, at, record_count - 1):
            return
        behind = check_record(data, at, record_count - 1)
    except (IndexError, CorruptBatch) as error:
        raise InvalidRecord(f"the checksum holds, the records do not: {error}") from error
    if behind != len(data):
        raise InvalidRecord(
            f"the checksum holds, but {record_count} records end at byte {behind} of {len(data)}"
        )


def _is_plain_record(data: bytes, at: int, offset_delta: int) -> bool:
    """Whether the last record of a batch has nothing unusual; if it has, it is read with care.

    Most have a short key or none, and no headers.
    """
    length = data[at]  # as `read_varint`, without its call for what is short
    if length < 0x80:
        length, at = (length >> 1) ^ -(length & 1), at + 1
    elif (more := data[at + 1]) < 0x80:
        length, at = (length >> 1 & 0x3F | more << 6) ^ -(length & 1), at + 2
    else:
        length, at = read_varint(data, at)
    end = at + length
    if length < RECORD_BYTES_MIN or end != len(data):
        return False
    at += 1
    if data[at] < ONE_BYTE_END:  # its time, whatever it is
        at += 1
    else:
        _, at = read_varlong(data, at)
    if data[at] == offset_delta << 1 < ONE_BYTE_END:
        at += 1
    else:
        delta, at = read_varint(data, at)
        if delta != offset_delta:
            return False
    key = data[at]
    if key > 0x7F or (key & 1 and key != 1):
        return False
    at += 1 + (key >> 1)
    size = data[at]
    if size < 0x80:
        size, at = (size >> 1) ^ -(size & 1), at + 1
    elif (more := data[at + 1]) < 0x80:
        size, at = (size >> 1 & 0x3F | more << 6) ^ -(size & 1), at + 2
    else:
        size, at = read_varint(data, at)
    if size > 0:
        at += size
    return size >= -1 and at + 1 == end and not data[at]


def _check_attributes(header: BatchHeader, version: int) -> None:
    """Most batches have nothing but a codec in their attributes; these have more."""
    if header.codec > Codec.ZSTD or (header.codec == Codec.ZSTD and version < ZSTD_SINCE):
        raise UnsupportedCompression(f"codec {header.codec} in Produce version {version}")
    if header.attributes & CONTROL_BIT:
        raise InvalidRecord("only brokers write control batches")
    if header.attributes & LOG_APPEND_TIME_BIT:
        raise InvalidTimestamp("only brokers set log-append time")
    if header.attributes & ~PRODUCED_ATTRIBUTES:
        raise InvalidRecord(f"attributes {header.attributes & 0xFFFF:#06x} are not a producer's")
    if header.is_transactional and not header.has_producer:
        raise InvalidRecord("a transactional batch without a producer id")


def check_records(
    buffer: Buffer,
    header: BatchHeader,
    *,
    keyed: bool = False,
    timestamps: tuple[int, int] = ANY_TIME,
    bytes_max: int = DECOMPRESSED_BYTES_MAX,
) -> int:
    """Reads every record of a batch that `check_produced` let pass; the greatest timestamp.

    The header may name another: Kafka has its brokers correct that, and `restamp` does it. With
    `keyed`, as compaction needs it, a record without a key is refused. `timestamps` are the first
    and the last that are accepted; a record without one always is. The error names each record that
    is refused, so that a producer can send the others again.
    """
    earliest, latest = timestamps
    greatest = NO_TIMESTAMP
    expected = header.base_offset
    keyless, untimely = dict[int, str](), dict[int, str]()
    try:
        for record in read_records(buffer, header, limit=bytes_max):
            if record.offset != expected:
                raise InvalidRecord(f"record {record.offset} where {expected} was to come")
            expected += 1
            place = record.offset - header.base_offset
            if keyed and record.key is None:
                keyless[place] = "the record has no key, and the topic is compacted"
            timestamp = record.timestamp
            if timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
                untimely[place] = f"timestamp {timestamp} is not from {earliest} to {latest}"
            greatest = max(greatest, timestamp)
    except CorruptBatch as error:
        raise InvalidRecord(f"the checksum holds, the records do not: {error}") from error
    _refuse(keyless, untimely)
    return greatest


def _refuse(keyless: Mapping[int, str], untimely: Mapping[int, str]) -> None:
    """One error for all; as with Kafka it is about times if any record has a wrong one."""
    rejected = {**keyless, **untimely}
    if not rejected:
        return
    first = min(rejected)
    text = f"record {first} of the batch is refused: {rejected[first]}"
    if len(rejected) > 1:
        text += f"; so are {len(rejected) - 1} more"
    named = {place: rejected[place] for place in sorted(rejected)[:NAMED_MAX]}
    raise (InvalidTimestamp if untimely else InvalidRecord)(text, named)
