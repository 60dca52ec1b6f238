"""The record batch, magic 2: its header read and checked, its place in the log written into it.

A batch is stored and sent on as it came. All that a broker must write into it is the base offset
and the leader epoch, and those lie outside the checksum, so nothing is computed anew. The CRC-32C
covers everything from the attributes to the end.

This is the hot path of every produce and of every replica's fetch: plain functions over a plain
class, no copies, and no check here that does not belong to every batch wherever it came from.
What a *client* may send is a narrower question, and `validate` answers it.

    0 base offset i64      16 magic i8                27 base timestamp i64   51 producer epoch i16
    8 length i32           17 crc u32                 35 max timestamp i64    53 base sequence i32
   12 leader epoch i32     21 attributes i16          43 producer id i64      57 record count i32
                           23 last offset delta i32                           61 records
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.records.varint import INT64_END

Buffer = bytes | bytearray | memoryview

MAGIC: Final = 2
LENGTH_END: Final = 12  # the length counts the bytes behind itself
LENGTH_MIN: Final = BATCH_HEADER_BYTES - LENGTH_END
MAGIC_AT: Final = 16
CRC_AT: Final = 17
CHECKED_FROM: Final = 21  # the checksum covers everything from here on

BASE_OFFSET_END: Final = INT64_END - (1 << 31)  # so that no offset of a batch overflows

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
assert HEADER.size == BATCH_HEADER_BYTES

_unpack_header = HEADER.unpack_from
_pack_offset = struct.Struct(">q").pack_into
_pack_epoch = struct.Struct(">i").pack_into
_pack_crc = struct.Struct(">I").pack_into


class TimestampType(IntEnum):
    """Who set the time of a record: the producer, or the leader that appended it."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader:
    """What a batch says of itself, as plain integers; -1 stands for none, as on the wire.

    It comes from `read_header`, or from `build.plain_header`; filling its slots one by one there
    costs half of what a constructor with thirteen parameters does.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
    )

    base_offset: int
    size: int  # of the whole batch, with the twelve bytes before what the length counts
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int  # compaction leaves it, whatever it removes
    base_timestamp: int  # that of the first record, or the delete horizon
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """Inclusive: the offset of the last record, or of where it was before compaction."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset that the batch behind this one begins with, or lies beyond."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The producer's number of the last record; numbers go on with 0 after 2^31 - 1."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> int:
        """How the records are compressed: one of `Codec`, if it is a codec that exists."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        """Who set the times; with log-append time every record has the batch's max timestamp."""
        return (
            TimestampType.LOG_APPEND_TIME
            if self.attributes & LOG_APPEND_TIME_BIT
            else TimestampType.CREATE_TIME
        )

    @property
    def has_producer(self) -> bool:
        """Whether its producer counts: an idempotent or transactional one."""
        return self.producer_id >= 0

    @property
    def is_transactional(self) -> bool:
        """Whether it is visible only once its transaction is committed."""
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        """Whether it holds a marker for the log itself, not a record for a reader."""
        return self.attributes & CONTROL_BIT != 0

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the base timestamp is the time at which its tombstones may go (KIP-534)."""
        return self.attributes & DELETE_HORIZON_BIT != 0


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at this position; CorruptBatch if it is cut off, or cannot be one.

    The batch behind it need not be in the buffer. Counts that compaction explains are let pass.
    """
    header = BatchHeader()
    try:
        (
            base_offset,
            length,
            header.leader_epoch,
            magic,
            header.crc,
            header.attributes,
            last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            record_count,
        ) = _unpack_header(buffer, position)
    except struct.error:
        left = len(buffer) - position
        raise CorruptBatch(
            f"a batch header has {BATCH_HEADER_BYTES} bytes, only {left} are left"
        ) from None
    if (
        magic != MAGIC
        or length < LENGTH_MIN
        or base_offset | last_offset_delta | record_count < 0  # any of them
        or base_offset >= BASE_OFFSET_END
    ):
        raise CorruptBatch(
            f"no batch of magic {MAGIC}: magic {magic}, length {length}, "
            f"base offset {base_offset}, last offset delta {last_offset_delta}, "
            f"{record_count} records"
        )
    header.base_offset = base_offset
    header.size = length + LENGTH_END
    header.magic = magic
    header.last_offset_delta = last_offset_delta
    header.record_count = record_count
    return header


def check_crc(buffer: Buffer, header: BatchHeader, position: int = 0) -> None:
    """CorruptBatch if the batch is cut off, or its bytes are not those that were sent."""
    end = position + header.size
    if end > len(buffer):
        raise CorruptBatch(_cut(header, len(buffer) - position))
    view = buffer if type(buffer) is memoryview else memoryview(buffer)
    crc = crc32c(view[position + CHECKED_FROM : end])
    if crc != header.crc:
        raise CorruptBatch(f"the checksum is {crc:#010x}, the batch says {header.crc:#010x}")


def _cut(header: BatchHeader, left: int) -> str:
    return f"a batch of {header.size} bytes is cut off after {left}"


def headers(
    buffer: Buffer, position: int = 0, *, cut_tail: bool = False
) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch of a run, with its position; CorruptBatch where one is none, or is cut off.

    A fetch response may end in the middle of a batch: with `cut_tail` the run ends before it.
    """
    end = len(buffer)
    while position < end:
        if cut_tail and end - position < BATCH_HEADER_BYTES:
            return
        header = read_header(buffer, position)
        if header.size > end - position:
            if cut_tail:
                return
            raise CorruptBatch(_cut(header, end - position))
        yield position, header
        position += header.size


def place(
    buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Gives the batch at this position its place in the log; its checksum stays true."""
    _pack_offset(buffer, position, base_offset)
    _pack_epoch(buffer, position + LENGTH_END, leader_epoch)


def restamp(
    buffer: bytearray | memoryview,
    position: int,
    timestamp_type: TimestampType,
    max_timestamp: int,
) -> BatchHeader:
    """Sets whose time the batch has, and the greatest; the checksum is made anew.

    With log-append time this one number becomes the time of every record: readers ignore theirs.
    The batch must have been checked. Returns the header that it has now.
    """
    header = read_header(buffer, position)
    header.max_timestamp = max_timestamp
    header.attributes &= ~LOG_APPEND_TIME_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        header.attributes |= LOG_APPEND_TIME_BIT
    seal(buffer, header, position)
    return header


def seal(buffer: bytearray | memoryview, header: BatchHeader, position: int = 0) -> None:
    """Writes this header before the records that are there, and signs it with a new checksum."""
    HEADER.pack_into(
        buffer,
        position,
        header.base_offset,
        header.size - LENGTH_END,
        header.leader_epoch,
        header.magic,
        0,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    )
    header.crc = crc32c(memoryview(buffer)[position + CHECKED_FROM : position + header.size])
    _pack_crc(buffer, position + CRC_AT, header.crc)
