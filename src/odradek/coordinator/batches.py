"""Between records as bytes in batches, and entries: for the shell's appends, and for loading."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from odradek.coordinator.decision import Entry, InTransaction
from odradek.coordinator.shard import Shard
from odradek.model.errors import CorruptBatch, InvalidRecord
from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.model.units import Bytes, Timestamp
from odradek.records.batch import TRANSACTIONAL_BIT, BatchHeader, check_crc, read_header
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.compression import Codec
from odradek.records.control import read_end_marker
from odradek.records.record import Record, RecordParts, read_alone, read_records

Encoder: TypeAlias = Callable[[Entry], tuple[bytes, bytes | None]]
Decoder: TypeAlias = Callable[[bytes | None, bytes | None, ProducerId | None], Entry | None]

RECORD_OVERHEAD_BYTES = 32  # what a record has beside its key and value, at most


def to_batches(
    entries: Sequence[Entry],
    encode: Encoder,
    now: Timestamp,
    *,
    codec: Codec = Codec.NONE,
    bytes_max: Bytes,
    within: InTransaction | None = None,
) -> Iterator[bytearray]:
    """Batches whose offsets count from 0, each no larger than a log accepts.

    A record that is too large by itself is a batch of its own: the log refuses it, and all the
    records that go with it.
    """
    builder = BatchBuilder(_header(0, codec, within))
    for offset, entry in enumerate(entries):
        key, value = encode(entry)
        size = len(key) + len(value or b"") + RECORD_OVERHEAD_BYTES
        if builder.count and builder.size + size > bytes_max:
            yield builder.finish()
            builder = BatchBuilder(_header(offset, codec, within))
        builder.append(Record(offset, now, key, value))
    if builder.count:
        yield builder.finish()


def _header(offset: int, codec: Codec, within: InTransaction | None) -> BatchHeader:
    """Sequences are not counted, and begin with 0 in each batch, as in Kafka."""
    if within is None:
        return plain_header(offset, codec)
    header = plain_header(offset, codec | TRANSACTIONAL_BIT)
    header.producer_id, header.producer_epoch = within
    header.base_sequence = 0
    return header


def load_batches(shard: Shard, buffer: bytes, decode: Decoder) -> list[str]:
    """Replays batches in the order of the log; returns why records could not be read."""
    return [it for found in load_in_turns(shard, buffer, decode, len(buffer)) for it in found]


def load_in_turns(
    shard: Shard, buffer: bytes, decode: Decoder, turn_bytes: int
) -> Iterator[list[str]]:
    """Likewise, with a pause after each so many bytes, and at the end: a shell has others to serve.

    CorruptBatch where a batch is not what it says. A record that makes no sense is passed over:
    the group that it was about is as it was before, and all others are whole.
    """
    complaints: list[str] = []
    position, pause = 0, turn_bytes
    while position < len(buffer):
        alone = read_alone(buffer, position)  # nearly always, in a log of transactions
        if alone is None:
            header = read_header(buffer, position)
            records, producer = _read_batch(shard, buffer, position, header)
            position += header.size
        else:
            record, position = alone
            records, producer = (record,), None
        for offset, key, value in records:
            try:
                entry = decode(key, value, producer)
            except InvalidRecord as error:
                complaints.append(f"offset {offset}: {error}")
                continue
            if entry is not None:
                shard.load(Offset(offset), entry)
        if position >= pause:
            yield complaints
            complaints, pause = [], position + turn_bytes
    yield complaints


def _read_batch(
    shard: Shard, buffer: bytes, position: int, header: BatchHeader
) -> tuple[Iterable[RecordParts], ProducerId | None]:
    """Any batch: its records, and in whose transaction they are; the shard is told of markers."""
    check_crc(buffer, header, position)
    records = read_records(buffer, header, position)
    if header.is_control:
        _load_markers(shard, header, records)
        return (), None
    producer = ProducerId(header.producer_id) if header.is_transactional else None
    return ((it.offset, it.key, it.value) for it in records), producer


def _load_markers(shard: Shard, header: BatchHeader, records: Iterable[Record]) -> None:
    for record in records:
        marker = read_end_marker(record)
        if marker is not None:
            if not header.has_producer:
                raise CorruptBatch("the end of a transaction without a producer")
            shard.load_end(ProducerId(header.producer_id), committed=marker.committed)
