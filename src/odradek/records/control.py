"""Control batches: the markers by which a transaction ends (KIP-98).

Each holds one record, which no consumer is shown. Only ABORT and COMMIT concern a cluster that
coordinates through ZooKeeper; of the other kinds it is enough to know that they are none of these.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.records.batch import BatchHeader, Buffer
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records

ABORT: Final = 0
COMMIT: Final = 1
VERSION: Final = 0

EPOCH_FOR_EACH_SINCE: Final = 2
"""From this version of transactions on each has a producer epoch of its own (KIP-890)."""

_KEY = Struct(">hh")  # version, kind
_VALUE = Struct(">hi")  # version, coordinator epoch


@dataclass(frozen=True, slots=True)
class EndMarker:
    """How a producer's transaction ended, and under which coordinator."""

    committed: bool
    coordinator_epoch: int


class TransactionEnd(NamedTuple):
    """What a coordinator says to each partition of a transaction."""

    producer_id: int
    producer_epoch: int  # from version 2 on above that of the transaction
    marker: EndMarker
    version: int = 0  # of transactions

    def batch(self, timestamp: int) -> bytearray:
        """As it is appended."""
        return build_end_marker(
            self.marker,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            timestamp=timestamp,
        )


def build_end_marker(
    marker: EndMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
) -> bytearray:
    """The control batch that ends this producer's transaction; it takes one offset."""
    key = _KEY.pack(VERSION, COMMIT if marker.committed else ABORT)
    value = _VALUE.pack(VERSION, marker.coordinator_epoch)
    return build_batch(
        (Record(base_offset, timestamp, key, value),),
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def end_marker_in(batch: Buffer, header: BatchHeader) -> EndMarker | None:
    """The end of a transaction that a batch holds; None if it is no control batch, or an empty one.

    Compaction leaves an empty batch in the place of a marker that it removed.
    """
    if header.is_control and header.record_count:
        for record in read_records(batch, header):
            return read_end_marker(record)
    return None


def read_end_marker(record: Record) -> EndMarker | None:
    """What the record of a control batch says; None if it is no end of a transaction.

    Later versions may only append to what is known here, so they are read like this one.
    """
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise CorruptBatch(f"the key of a control record has {len(key)} bytes")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"a control record of version {version}")
    if kind not in {ABORT, COMMIT}:
        return None
    if len(value) < _VALUE.size:
        raise CorruptBatch(f"the end of a transaction in {len(value)} bytes")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"the end of a transaction in version {version}")
    return EndMarker(kind == COMMIT, coordinator_epoch)
