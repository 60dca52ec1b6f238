"""The commonest request by hand: Produce of one batch for one partition, and its answer.

A producer that does not batch sends one of these for each record, so their cost is the cost of a
small message. The compiled codec reads any shape of any version; this reads one shape of seven
versions, in a third of the time, and declines everything else. Both say the same of what both
read: a test compares them.
"""

import struct
from typing import Final, TypeAlias

LOG_START_SINCE: Final = 5
ERRORS_SINCE: Final = 8
FLEXIBLE_FROM: Final = 9
ONE_BYTE_MAX: Final = 0x80  # a varint from here on has more bytes than one

# the transactional id's length, acks, timeout, count of topics, and the name's length
_START = struct.Struct(">hhiih").unpack_from
_PARTITION = struct.Struct(">iii").unpack_from  # count of partitions, number, length of the batch
_FLEXIBLE_START = struct.Struct(">BhiBB").unpack_from
_FLEXIBLE_PARTITION = struct.Struct(">Bi").unpack_from

_HEAD = struct.Struct(">iiih").pack  # length, correlation id, count of topics, the name's length
_OLD_ROW = struct.Struct(">iihqq").pack  # count of partitions, number, code, base offset, time
_ROW = struct.Struct(">iihqqq").pack  # and where the log begins
_FLEXIBLE_HEAD = struct.Struct(">iibBB").pack
_FLEXIBLE_ROW = struct.Struct(">Bihqqq").pack
_NO_ERRORS: Final = b"\0\0\0\0\xff\xff"  # an empty array and a null string
_THROTTLE: Final = b"\0\0\0\0"
_FLEXIBLE_END: Final = b"\1\0\0\0" + _THROTTLE + b"\0"  # no errors, no message, no tags


OneBatch: TypeAlias = tuple[int, int, bytes, int, memoryview]
"""Acks, timeout, the topic's name, the partition's number, the batch: a plain tuple, which costs a
third of what one with names does."""


def read_one_batch(frame: bytearray, at: int, version: int) -> OneBatch | None:
    """The request whose body begins here, if it is of this shape; it was not checked otherwise."""
    try:
        if version >= FLEXIBLE_FROM:
            return _read_flexible(frame, at)
        none, acks, timeout_ms, topics, size = _START(frame, at)
        if none != -1 or topics != 1 or size <= 0:
            return None
        start = at + 14
        end = start + size
        partitions, index, count = _PARTITION(frame, end)
    except (struct.error, IndexError):
        return None
    if partitions != 1 or count <= 0 or end + 12 + count != len(frame):
        return None
    name = bytes(frame[start:end])
    return acks, timeout_ms, name, index, memoryview(frame)[end + 12 :]


def _read_flexible(frame: bytearray, at: int) -> OneBatch | None:
    """Lengths are varints, one more than what they count; empty tags end each struct."""
    none, acks, timeout_ms, topics, size = _FLEXIBLE_START(frame, at)
    if none or topics != 2 or not 1 < size < ONE_BYTE_MAX:
        return None
    start = at + 9
    end = start + size - 1
    partitions, index = _FLEXIBLE_PARTITION(frame, end)
    at = end + 5
    count = shift = 0
    while True:
        byte = frame[at]
        count |= (byte & 0x7F) << shift
        at += 1
        if byte < ONE_BYTE_MAX:
            break
        shift += 7
        if shift > 28:
            return None
    if partitions != 2 or count < 2 or at + count + 2 != len(frame) or any(frame[-3:]):
        return None
    name = bytes(frame[start:end])
    return acks, timeout_ms, name, index, memoryview(frame)[at : at + count - 1]


def one_batch_answer(
    version: int, correlation_id: int, about: tuple[bytes, int], where: tuple[int, int, int]
) -> bytes:
    """The frame that says: it is in the log, at this base offset, with this append time.

    `about` is the topic's name and the partition's number; `where` has these two, and the offset at
    which the log begins.
    """
    name, number = about
    base_offset, append_time, log_start_offset = where
    length = len(name)
    if version >= FLEXIBLE_FROM:
        size = 4 + 1 + 1 + 1 + length + 31 + 9
        head = _FLEXIBLE_HEAD(size, correlation_id, 0, 2, length + 1)
        row = _FLEXIBLE_ROW(2, number, 0, base_offset, append_time, log_start_offset)
        return head + name + row + _FLEXIBLE_END
    if version >= LOG_START_SINCE:
        row, size = _ROW(1, number, 0, base_offset, append_time, log_start_offset), 34
    else:
        row, size = _OLD_ROW(1, number, 0, base_offset, append_time), 26
    if version >= ERRORS_SINCE:
        row, size = row + _NO_ERRORS, size + 6
    size += 4 + 4 + 2 + length + 4
    return _HEAD(size, correlation_id, 1, length) + name + row + _THROTTLE
