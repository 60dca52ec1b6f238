"""What compaction keeps of a batch (KIP-58, KIP-98, KIP-354, KIP-534): pure decisions.

Kept are: the last value of each key; a tombstone until the time that is set when it is first seen
by a compaction has passed, so that every reader has had its chance to see it; whatever lies beyond
what the map knows. Aborted records go at once. The marker of a transaction goes, after the same
delay, once nothing of the transaction is left. A producer's last batch stays, emptied if it must
be, for it holds the numbers by which the next batch is recognised; so does the last one of those
that may be compacted, for what lies behind may still be cut off. And so does the last batch of the
log: a new replica copies batches, and without that one would never come to the end.
"""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.model.ids import ProducerId
from odradek.records.batch import BatchHeader
from odradek.records.build import rebuild_batch
from odradek.records.control import EndMarker
from odradek.records.record import Record, read_records
from odradek.storage.compacting.key_map import KeyMap
from odradek.storage.compacting.outline import Outline, batch_of, outlines
from odradek.storage.logs.producers import ProducerEntry
from odradek.storage.segments.transaction_index import AbortedTransaction


class Kept(NamedTuple):
    """What becomes of a batch: bytes to write, or None if nothing is left of it."""

    batch: bytes | bytearray | memoryview | None
    read: int  # records
    kept: int


class Dirty(NamedTuple):
    """The part that was not compacted before, as far as the map knows it."""

    start: int
    end: int  # exclusive
    log_end: int


class TransactionFilter:
    """Which batches belong to aborted transactions, as one walks through the log.

    `aborted` are the transactions of the index, by their first offset. `kept` collects those of
    which a record was met: their marker, and their entry, must stay.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda entry: -entry.first_offset)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._met: set[int] = set()  # producers whose transaction still has records
        self.kept: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether this data batch is part of an aborted transaction."""
        if not header.is_transactional:
            return False
        self._begin(header.last_offset)
        self._met.add(header.producer_id)
        return header.producer_id in self._aborted

    def ends_nothing(self, header: BatchHeader, marker: EndMarker | None) -> bool:
        """Whether this marker ends a transaction of which no record was met."""
        if marker is None:
            return False
        self._begin(header.last_offset)
        met = header.producer_id in self._met
        self._met.discard(header.producer_id)
        entry = self._aborted.pop(header.producer_id, None)
        if entry is not None and met:
            self.kept.append(entry)
        return not met

    def _begin(self, offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= offset:
            entry = self._coming.pop()
            self._aborted[entry.producer_id] = entry


def _is_last(entry: ProducerEntry, header: BatchHeader) -> bool:
    if entry.batches:
        return entry.batches[-1].last_offset == header.last_offset
    return header.is_control and entry.producer_epoch == header.producer_epoch


class Rules:
    """The rules, with what they depend on."""

    __slots__ = (
        "decided",
        "delete_retention_ms",
        "first_dirty",
        "keys",
        "log_end",
        "map_end",
        "now",
        "producers",
    )

    def __init__(
        self,
        keys: KeyMap,
        dirty: Dirty,
        producers: dict[ProducerId, ProducerEntry],
        decided: dict[ProducerId, ProducerEntry],
        *,
        now: int,
        delete_retention_ms: int,
    ) -> None:
        self.keys = keys
        self.first_dirty, self.map_end, self.log_end = dirty
        self.producers = producers
        self.decided = decided  # as the dirty part leaves them; others have nothing in it
        self.now = now
        self.delete_retention_ms = delete_retention_ms

    def is_needed(self, header: BatchHeader) -> bool:
        """Whether a batch without records stays: nothing else says what its header does."""
        return header.next_offset >= self.log_end or self.is_last_of_producer(header)

    def is_last_of_producer(self, header: BatchHeader) -> bool:
        """Whether the numbers of this batch are the newest of its producer, here or in all.

        Where a producer has nothing in the dirty part, which of its batches in the clean one is the
        last is not known: each that is there stays until the producer comes next.
        """
        entry = self.producers.get(ProducerId(header.producer_id))
        if entry is None:
            return False
        if _is_last(entry, header):
            return True
        decided = self.decided.get(entry.producer_id)
        if header.base_offset >= self.first_dirty:
            return decided is not None and _is_last(decided, header)
        if decided is not None and (
            decided.batches or decided.producer_epoch != header.producer_epoch or header.is_control
        ):
            return _is_last(decided, header)
        return bool(entry.batches) and entry.batches[-1].last_offset >= self.map_end

    def data(self, batch: memoryview, header: BatchHeader, *, aborted: bool) -> Kept:
        """What stays of a batch of records. One pass, for most of a log goes through here."""
        data, records = outlines(batch, header)
        kept = [] if aborted else [record for record in records if self._keeps(record, header)]
        if not kept:
            emptied = rebuild_batch([], header) if self.is_needed(header) else None
            return Kept(emptied, len(records), 0)
        if not header.has_delete_horizon and any(record.is_tombstone for record in kept):
            offsets = {record.offset for record in kept}
            whole = [record for record in read_records(batch, header) if record.offset in offsets]
            horizon = self.now + self.delete_retention_ms
            rebuilt = rebuild_batch(whole, header, delete_horizon=horizon)
            return Kept(rebuilt, len(records), len(kept))
        if len(kept) == len(records):
            return Kept(batch, len(records), len(kept))
        return Kept(batch_of(data, kept, header), len(records), len(kept))

    def _keeps(self, record: Outline, header: BatchHeader) -> bool:
        if record.offset >= self.map_end:
            return True
        if record.key is None or not self.keys.is_newest(record.key, record.offset):
            return False
        return not record.is_tombstone or not self._horizon_has_passed(header)

    def marker(
        self, batch: memoryview, header: BatchHeader, records: list[Record], *, ends_nothing: bool
    ) -> Kept:
        """What stays of a control batch; one that was emptied before stays for its numbers only."""
        count = len(records)
        if ends_nothing and records:
            if not header.has_delete_horizon:
                horizon = self.now + self.delete_retention_ms
                return Kept(rebuild_batch(records, header, delete_horizon=horizon), count, count)
            if self._horizon_has_passed(header):
                emptied = rebuild_batch([], header) if self.is_needed(header) else None
                return Kept(emptied, count, 0)
        if not records and not self.is_needed(header):
            return Kept(None, 0, 0)
        return Kept(batch, count, count)

    def _horizon_has_passed(self, header: BatchHeader) -> bool:
        return header.has_delete_horizon and self.now >= header.base_timestamp
