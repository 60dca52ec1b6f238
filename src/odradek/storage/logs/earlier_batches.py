"""The batches that a producer had in flight before its last one, found again in the log's tail.

A snapshot has the last batch of each producer, in Kafka's format. A client has up to five in
flight, and after a lost connection it sends them all again: without those before the last it is
told that its sequence is out of order, which ends it. They lie in the log, mostly just before the
snapshot's offset, so they are looked for from there backwards, by their headers.

What that costs is bounded twice: nothing is read for producers that have been silent for so long
that their clients have given up, and no more than some blocks of a log. A producer whose earlier
batches lie before those is known by what was found, at the least by its last batch.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from odradek.model.ids import ProducerId
from odradek.model.limits import PRODUCER_BATCHES_KEPT
from odradek.model.positions import Offset
from odradek.model.units import KIB, MINUTE, Bytes, Millis, Timestamp
from odradek.records.batch import BatchHeader
from odradek.storage.errors import CorruptFile
from odradek.storage.files.names import LOG
from odradek.storage.logs.log import PartitionLog
from odradek.storage.logs.producers import SEQUENCE_MAX, ProducerBatch, ProducerEntry
from odradek.storage.segments.scan import walk_headers
from odradek.storage.segments.segment import Segment

IN_FLIGHT_MS_MAX: Final = Millis(5 * MINUTE)
"""So long librdkafka sends a batch again (message.timeout.ms); a Java client 2 minutes."""
BLOCK_BYTES: Final = Bytes(32 * KIB)
"""Of a log, how much at once: two full batches by the defaults of clients, or one larger batch."""
BLOCKS_MAX: Final = 8
"""Five in flight of three producers that write full batches; of small ones some hundred headers."""


def find_earlier_batches(log: PartitionLog, offset: Offset, now: Timestamp) -> None:
    """Completes what a snapshot of this offset says of its producers."""
    entries = log.producers.entries
    wanted = {it.producer_id for it in entries.values() if _may_lack_some(it, now)}
    if not wanted:
        return
    with suppress(CorruptFile):  # reported by the next read of those batches
        for block in _blocks_before(log, offset):
            for header in reversed(block):
                producer_id = ProducerId(header.producer_id)
                if producer_id not in wanted:
                    continue
                before = entries[producer_id]
                if header.base_offset < before.batches[0].base_offset:
                    entries[producer_id] = after = _with(before, header)
                    if after is before or len(after.batches) == PRODUCER_BATCHES_KEPT:
                        wanted.remove(producer_id)
            if not wanted:
                return


def _position_of(segment: Segment, offset: Offset) -> int:
    found = segment.find(offset)
    return segment.size if found is None else found[0]


def _may_lack_some(entry: ProducerEntry, now: Timestamp) -> bool:
    if not entry.batches or now - entry.timestamp >= IN_FLIGHT_MS_MAX:
        return False
    return entry.batches[0].base_sequence != 0  # 0 comes again after 2^31: a loss that none meets


def _with(entry: ProducerEntry, header: BatchHeader) -> ProducerEntry:
    """The entry with the batch before its first one; itself, where this one is not that.

    A bit that turned in a header breaks the row of sequences, so no checksum is needed.
    """
    first = entry.batches[0]
    batch = ProducerBatch(
        header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp
    )
    is_before = (
        header.producer_epoch == entry.producer_epoch
        and (batch.last_sequence + 1) & SEQUENCE_MAX == first.base_sequence
        and batch.last_offset < first.base_offset
    )
    return entry._replace(batches=(batch, *entry.batches)) if is_before else entry


def _blocks_before(log: PartitionLog, offset: Offset) -> Iterator[list[BatchHeader]]:
    """The batches of producers below an offset, the last block first, each in its order."""
    number = log.segments.index(log.segment_of(offset))
    segment, end = log.segments[number], _position_of(log.segments[number], offset)
    for _ in range(BLOCKS_MAX):
        while not end and number:
            number -= 1
            segment = log.segments[number]
            end = segment.size
        if not end:
            return
        entry = segment.index.floor_position(max(end - BLOCK_BYTES, 0))
        start = entry[1] if entry is not None else 0
        walk = walk_headers(segment.file, segment.path(LOG), start, end)
        yield [header for _, header in walk if header.producer_id >= 0 and not header.is_control]
        end = start
