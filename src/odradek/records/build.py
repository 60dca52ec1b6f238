"""Batches made here: by our own clients and tools, by coordinators, and by compaction.

What a producer sends is never rebuilt; it is stored as it came.
"""

from collections.abc import Iterable
from copy import copy
from typing import Final

from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.records.batch import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    seal,
)
from odradek.records.compression import Codec, compress
from odradek.records.record import Record
from odradek.records.varint import wrapped, write_varint

NULL: Final = b"\x01"  # a length of -1 as a varint
INT32_MAX: Final = (1 << 31) - 1


def plain_header(base_offset: int = 0, attributes: int = 0) -> BatchHeader:
    """What a builder begins with: no leader epoch yet, no producer that counts, no records."""
    header = BatchHeader()
    header.magic = MAGIC
    header.base_offset = base_offset
    header.attributes = attributes
    header.leader_epoch = header.producer_id = header.producer_epoch = header.base_sequence = -1
    header.base_timestamp = header.max_timestamp = -1
    header.size = header.crc = header.last_offset_delta = header.record_count = 0
    return header


class BatchBuilder:
    """Takes records one by one, in the order of their offsets, and lays them out at once.

    What it is given to begin with says everything of the batch but what the records decide:
    its size, times, count and checksum.
    """

    __slots__ = ("body", "count", "header", "last_delta")

    def __init__(self, header: BatchHeader) -> None:
        self.header = header
        self.body = bytearray()
        self.count = 0
        self.last_delta = -1

    @property
    def size(self) -> int:
        """The size that the batch has, if it were not compressed: the bound to watch."""
        return BATCH_HEADER_BYTES + len(self.body)

    def append(self, record: Record) -> None:
        """The next record. Its offset lies above those before, and not below the batch's."""
        header = self.header
        delta = record.offset - header.base_offset
        assert self.last_delta < delta <= INT32_MAX, (record.offset, header.base_offset)
        self.last_delta = delta
        if not self.count:
            if not header.has_delete_horizon:
                header.base_timestamp = record.timestamp
            header.max_timestamp = record.timestamp
        header.max_timestamp = max(header.max_timestamp, record.timestamp)
        self.count += 1
        entry = bytearray(1)
        write_varint(entry, wrapped(record.timestamp - header.base_timestamp))
        write_varint(entry, delta)
        _write_bytes(entry, record.key)
        _write_bytes(entry, record.value)
        write_varint(entry, len(record.headers))
        for key, value in record.headers:
            _write_bytes(entry, key)
            _write_bytes(entry, value)
        write_varint(self.body, len(entry))
        self.body += entry

    def finish(self, level: int | None = None) -> bytearray:
        """The whole batch. A batch that compaction emptied keeps its offsets and its producer."""
        header = self.header
        if not self.count:
            header.attributes &= ~CODEC_MASK
        header.record_count = self.count
        header.last_offset_delta = max(header.last_offset_delta, self.last_delta, 0)
        records = compress(Codec(header.codec), self.body, level)
        header.size = BATCH_HEADER_BYTES + len(records)
        batch = bytearray(BATCH_HEADER_BYTES)
        batch += records
        seal(batch, header)
        return batch


def build_batch(  # noqa: PLR0913 - the fields of a header, each with its usual value
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytearray:
    """One batch of these records; their offsets count from the base offset, in rising order."""
    attributes = (
        codec
        | (LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
    )
    header = plain_header(base_offset, attributes)
    header.leader_epoch = leader_epoch
    header.producer_id = producer_id
    header.producer_epoch = producer_epoch
    header.base_sequence = base_sequence
    builder = BatchBuilder(header)
    for record in records:
        builder.append(record)
    return builder.finish()


def rebuild_batch(
    records: Iterable[Record],
    header: BatchHeader,
    *,
    codec: Codec | None = None,
    level: int | None = None,
    delete_horizon: int | None = None,
) -> bytearray:
    """The batch of this header with what compaction, or another codec, leaves of its records.

    It keeps its first and last offset, its leader epoch and its producer's numbers, so that
    neither offsets nor sequences ever show a gap between batches. A delete horizon is kept or
    set: the time from which its tombstones may go.
    """
    header = copy(header)
    if codec is not None:
        header.attributes = header.attributes & ~CODEC_MASK | codec
    if delete_horizon is not None:
        header.attributes |= DELETE_HORIZON_BIT
        header.base_timestamp = delete_horizon
    builder = BatchBuilder(header)
    for record in records:
        builder.append(record)
    return builder.finish(level)


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out += NULL
    else:
        write_varint(out, len(data))
        out += data
