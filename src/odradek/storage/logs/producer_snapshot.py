"""The producers of a log in a file, `<offset>.snapshot`: all that was known below that offset.

Kafka's format: a version, a CRC-32C over what follows, a count, and 46 bytes a producer with the
last of its batches. With a snapshot a log need not be read from its start after a crash; without
one, or with a damaged one, it is: a snapshot is a shortcut, never the truth.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from crc32c import crc32c

from odradek.model.ids import ProducerId
from odradek.storage.errors import CorruptFile
from odradek.storage.logs.producers import NO_SEQUENCE, ProducerBatch, ProducerEntry

VERSION: Final = 1
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
ENTRIES_AT: Final = _HEAD.size + _COUNT.size


def encode(entries: Iterable[ProducerEntry]) -> bytes:
    """The file for these producers."""
    rows = [_row(entry) for entry in entries]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def _row(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else ProducerBatch(NO_SEQUENCE, -1, 0, -1)
    return _ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        last.last_sequence,
        last.last_offset,
        last.offset_delta,
        entry.timestamp,
        entry.coordinator_epoch,
        entry.transaction_start,
    )


def decode(data: bytes, path: str) -> dict[ProducerId, ProducerEntry]:
    """The producers in a file; CorruptFile unless its length, count and checksum agree."""
    if len(data) < ENTRIES_AT:
        raise CorruptFile(path, len(data), f"a snapshot has {ENTRIES_AT} bytes at least")
    version, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptFile(path, 0, f"version {version} is not known")
    if crc32c(memoryview(data)[_HEAD.size :]) != crc:
        raise CorruptFile(path, 2, "the checksum does not hold")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count < 0 or count * _ENTRY.size != len(data) - ENTRIES_AT:
        reason = f"{count} producers cannot be in {len(data) - ENTRIES_AT} bytes"
        raise CorruptFile(path, _HEAD.size, reason)
    entries: dict[ProducerId, ProducerEntry] = {}
    for fields in _ENTRY.iter_unpack(memoryview(data)[ENTRIES_AT:]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator, start = fields
        known = sequence >= 0 and offset >= 0
        batches = (ProducerBatch(sequence, offset, delta, timestamp),) if known else ()
        entries[ProducerId(producer_id)] = ProducerEntry(
            ProducerId(producer_id), epoch, batches, timestamp, coordinator, start
        )
    return entries
