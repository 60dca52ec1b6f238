"""What a log knows of the producers that count their batches (KIP-98, KIP-360).

Idempotence: the last five batches of each producer id are remembered under its newest epoch. A
batch among them is a duplicate and is answered with the offset that it has; one that does not
follow the last is refused, because something is missing before it. Five, because a client keeps
at most five batches in flight.

Transactions: a producer's first transactional batch opens one, a marker ends it. All below the
first record of the oldest open transaction is decided. A transaction whose marker is written but
not yet committed holds readers back as an open one does: its outcome may still be truncated.

An entry never changes; a batch makes a new one. What is decided for a batch that is not written
yet is kept apart (`planned`), so a write that fails leaves nothing behind.

Invariant: `open_transactions` holds exactly the transactions of `entries` that have begun.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from typing import Final, NamedTuple

from odradek.model.ids import ProducerId
from odradek.model.limits import PRODUCER_BATCHES_KEPT
from odradek.model.positions import Offset
from odradek.records.batch import BatchHeader
from odradek.records.control import EPOCH_FOR_EACH_SINCE, EndMarker
from odradek.storage.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.storage.segments.transaction_index import AbortedTransaction

SEQUENCE_MAX: Final = (1 << 31) - 1
NO_SEQUENCE: Final = -1
NO_COORDINATOR: Final = -1


class ProducerBatch(NamedTuple):
    """One batch as it is remembered: both ends inclusive."""

    last_sequence: int
    last_offset: int
    offset_delta: int  # from its first record to its last
    timestamp: int

    @property
    def base_sequence(self) -> int:
        """The number of its first record; numbers go on with 0 behind the greatest."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX

    @property
    def base_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - self.offset_delta


class ProducerEntry(NamedTuple):
    """What is known of one producer id."""

    producer_id: ProducerId
    producer_epoch: int
    batches: tuple[ProducerBatch, ...] = ()  # of this epoch, oldest first
    timestamp: int = -1  # of its last batch or marker
    coordinator_epoch: int = NO_COORDINATOR
    transaction_start: int = -1  # the first offset of its open transaction; -1: there is none

    @property
    def last_sequence(self) -> int:
        """The number of its last record; -1 where none is remembered."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class EndedTransaction(NamedTuple):
    """A transaction, from its first record to its marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    committed: bool


class Awaited(NamedTuple):
    """The first batch of a transaction that no coordinator has confirmed yet (KIP-890)."""

    producer_epoch: int
    sequence: int  # the lowest that was seen
    since: int

    def is_before(self, header: BatchHeader) -> bool:
        """Whether the batch of this header comes behind it, in the same epoch."""
        distance = (header.base_sequence - self.sequence) & SEQUENCE_MAX
        return self.producer_epoch == header.producer_epoch and 0 < distance <= SEQUENCE_MAX >> 1

    def gives_way_to(self, header: BatchHeader) -> bool:
        """Whether the batch of this header is of a newer epoch, or comes before it in the same."""
        if self.producer_epoch != header.producer_epoch:
            return self.producer_epoch < header.producer_epoch
        return not self.is_before(header)


class Update(NamedTuple):
    """What a batch will change once it is written."""

    entry: ProducerEntry
    ended: EndedTransaction | None = None


def duplicate_of(entry: ProducerEntry | None, header: BatchHeader) -> ProducerBatch | None:
    """The remembered batch that this one repeats."""
    if entry is None or entry.producer_epoch != header.producer_epoch:
        return None
    for batch in entry.batches:
        if (
            batch.base_sequence == header.base_sequence
            and batch.last_sequence == header.last_sequence
        ):
            return batch
    return None


def is_open(entry: ProducerEntry | None, producer_epoch: int) -> bool:
    """Whether the producer has a transaction open, under this epoch."""
    return (
        entry is not None
        and entry.transaction_start >= 0
        and entry.producer_epoch == producer_epoch
    )


def check_batch(entry: ProducerEntry | None, header: BatchHeader) -> None:
    """Whether a client's batch may follow what is known of its producer.

    A producer of which nothing is known may begin anywhere: what it wrote may have been deleted.
    A new epoch begins with 0.
    """
    if entry is None:
        return
    if header.producer_epoch < entry.producer_epoch:
        raise _fenced(entry, header)
    last = entry.last_sequence if header.producer_epoch == entry.producer_epoch else NO_SEQUENCE
    expected = 0 if last in {NO_SEQUENCE, SEQUENCE_MAX} else last + 1
    if header.base_sequence != expected:
        ahead = (header.base_sequence - expected) & SEQUENCE_MAX
        raise OutOfOrderSequence(
            f"producer {header.producer_id} sent sequence {header.base_sequence} "
            f"where {expected} was to come",
            is_ahead=ahead <= SEQUENCE_MAX >> 1,
        )
    if entry.transaction_start >= 0 and not header.is_transactional:
        raise InvalidTransactionState(
            f"producer {header.producer_id} has a transaction open, this batch is not part of it"
        )


def check_offsets(entry: ProducerEntry | None, header: BatchHeader) -> None:
    """Whether a coordinator's batch, which counts no sequences, comes from the newest producer."""
    if entry is not None and header.producer_epoch < entry.producer_epoch:
        raise _fenced(entry, header)


def _fenced(entry: ProducerEntry, header: BatchHeader) -> InvalidProducerEpoch:
    return InvalidProducerEpoch(
        f"producer {header.producer_id} has epoch {header.producer_epoch}, "
        f"the newest is {entry.producer_epoch}"
    )


def is_ended(entry: ProducerEntry | None, header: BatchHeader, version: int) -> bool:
    """Whether this end of a transaction is in the log already (KAFKA-19999).

    Only where each transaction has an epoch of its own can that be told from the next one's end.
    """
    return (
        version >= EPOCH_FOR_EACH_SINCE
        and entry is not None
        and entry.producer_epoch == header.producer_epoch
        and entry.transaction_start < 0
    )


def check_marker(
    entry: ProducerEntry | None, header: BatchHeader, marker: EndMarker, version: int = 0
) -> None:
    """Whether this end of a transaction comes from the newest producer and coordinator.

    From version 2 on its epoch is above that of the open transaction: the end of the one before,
    delayed on its way, has the same.
    """
    if entry is None:
        return
    is_late = version >= EPOCH_FOR_EACH_SINCE and entry.transaction_start >= 0
    if header.producer_epoch < entry.producer_epoch + is_late:
        raise _fenced(entry, header)
    if marker.coordinator_epoch < entry.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            f"the marker for producer {header.producer_id} has coordinator epoch "
            f"{marker.coordinator_epoch}, the newest is {entry.coordinator_epoch}"
        )


def after_batch(entry: ProducerEntry | None, header: BatchHeader, now: int) -> ProducerEntry:
    """What is known of the producer once this batch is written."""
    batch = ProducerBatch(
        header.last_sequence,
        header.last_offset,
        header.last_offset_delta,
        header.max_timestamp,
    )
    start = header.base_offset if header.is_transactional else -1
    timestamp = max(now, header.max_timestamp)
    producer_id = ProducerId(header.producer_id)
    if entry is None:
        return ProducerEntry(
            producer_id, header.producer_epoch, (batch,), timestamp, transaction_start=start
        )
    kept = entry.batches if entry.producer_epoch == header.producer_epoch else ()
    return entry._replace(
        producer_epoch=header.producer_epoch,
        batches=(*kept[1 - PRODUCER_BATCHES_KEPT :], batch),
        timestamp=timestamp,
        transaction_start=entry.transaction_start if entry.transaction_start >= 0 else start,
    )


def after_marker(
    entry: ProducerEntry | None, header: BatchHeader, marker: EndMarker, now: int
) -> Update:
    """What is known once this marker is written, and the transaction that it ended, if any."""
    producer_id = ProducerId(header.producer_id)
    before = entry or ProducerEntry(producer_id, header.producer_epoch)
    after = before._replace(
        producer_epoch=header.producer_epoch,
        batches=before.batches if before.producer_epoch == header.producer_epoch else (),
        timestamp=max(now, header.max_timestamp),
        coordinator_epoch=marker.coordinator_epoch,
        transaction_start=-1,
    )
    if before.transaction_start < 0:
        return Update(after)
    first, last = Offset(before.transaction_start), Offset(header.last_offset)
    return Update(after, EndedTransaction(producer_id, first, last, marker.committed))


@dataclass(slots=True)
class ProducerState:
    """The producers of one log, as far as its published end."""

    entries: dict[ProducerId, ProducerEntry] = field(default_factory=dict)
    planned: dict[ProducerId, ProducerEntry] = field(default_factory=dict)
    open_transactions: dict[int, ProducerId] = field(
        default_factory=dict
    )  # by first offset, rising
    unreplicated: dict[int, int] = field(default_factory=dict)  # ended ones: first to last offset
    awaited: dict[int, Awaited] = field(default_factory=dict)  # by producer, until it is written
    looks: list[tuple[int, ProducerId]] = field(default_factory=list, compare=False)
    """A heap with one row for each entry: when it is looked at whether the producer is silent."""

    @classmethod
    def of(cls, entries: dict[ProducerId, ProducerEntry]) -> "ProducerState":
        """The state that a snapshot holds."""
        begun = sorted((e.transaction_start, e.producer_id) for e in entries.values())
        state = cls(entries, {}, {start: pid for start, pid in begun if start >= 0})
        state.looks = sorted((it.timestamp, it.producer_id) for it in entries.values())
        return state

    def get(self, producer_id: int) -> ProducerEntry | None:
        """What is known, with what is about to be written."""
        key = ProducerId(producer_id)
        return self.planned.get(key) or self.entries.get(key)

    def plan(self, header: BatchHeader, marker: EndMarker | None, now: int) -> Update:
        """Counts a batch that is not written yet; `publish` or `abandon` follows."""
        if self.awaited:
            self.awaited.pop(header.producer_id, None)
        entry = self.get(header.producer_id)
        if marker is None:
            update = Update(after_batch(entry, header, now))
        else:
            update = after_marker(entry, header, marker, now)
        self.planned[update.entry.producer_id] = update.entry
        return update

    def publish(self, update: Update) -> AbortedTransaction | None:
        """The batch is written; the entry for the transaction index if it was an abort."""
        entry = update.entry
        if entry.producer_id not in self.entries:
            heappush(self.looks, (entry.timestamp, entry.producer_id))
        self.entries[entry.producer_id] = entry
        if self.planned.get(entry.producer_id) is entry:
            del self.planned[entry.producer_id]
        if entry.transaction_start >= 0:
            self.open_transactions.setdefault(entry.transaction_start, entry.producer_id)
        return self._ended(update.ended) if update.ended else None

    def _ended(self, ended: EndedTransaction) -> AbortedTransaction | None:
        self.open_transactions.pop(ended.first_offset, None)
        self.unreplicated[ended.first_offset] = ended.last_offset
        if ended.committed:
            return None
        oldest = next(iter(self.open_transactions), ended.last_offset + 1)
        return AbortedTransaction(
            ended.producer_id, ended.first_offset, ended.last_offset, Offset(oldest)
        )

    def replay(
        self, header: BatchHeader, marker: EndMarker | None, now: int
    ) -> AbortedTransaction | None:
        """Counts a batch that lies in the log already."""
        return self.publish(self.plan(header, marker, now))

    def expect(self, header: BatchHeader, now: int) -> None:
        """A batch waits to be confirmed: none behind it is taken before it."""
        known = self.awaited.get(header.producer_id)
        if known is None or known.gives_way_to(header):
            self.awaited[header.producer_id] = Awaited(
                header.producer_epoch, header.base_sequence, now
            )

    def check_turn(self, header: BatchHeader) -> None:
        """Whether a batch before this one is still to come.

        Where nothing is known of a producer the log takes any sequence; that one would be refused
        for ever as out of order.
        """
        first = self.awaited.get(header.producer_id)
        if first is not None and first.is_before(header):
            raise OutOfOrderSequence(
                f"producer {header.producer_id} sent sequence {header.base_sequence} "
                f"where {first.sequence} was to come"
            )

    def abandon(self) -> None:
        """What was planned has not been written, and will not be."""
        self.planned.clear()

    def on_high_watermark(self, high_watermark: int) -> None:
        """Transactions whose marker is committed no longer hold readers back."""
        self.unreplicated = {
            first: last for first, last in self.unreplicated.items() if last >= high_watermark
        }

    @property
    def first_unstable_offset(self) -> Offset | None:
        """Where the oldest transaction begins that is not decided for good."""
        oldest = next(iter(self.open_transactions), None)
        if self.unreplicated:
            ended = min(self.unreplicated)
            oldest = ended if oldest is None else min(oldest, ended)
        return None if oldest is None else Offset(oldest)

    def expire(self, now: int, after: int) -> int:
        """Forgets who has been silent for so long with no transaction open; how many they were.

        Only those are looked at whose time was over when they were looked at last: a producer that
        writes all day is looked at once in it, and not in each round.
        """
        count, looks = 0, self.looks
        for _ in range(len(looks)):
            looked_at, producer_id = looks[0]
            if now - looked_at < after:
                break
            entry = self.entries[producer_id]
            if entry.transaction_start >= 0 or producer_id in self.planned:
                heapreplace(looks, (now, producer_id))
            elif now - entry.timestamp < after:
                heapreplace(looks, (entry.timestamp, producer_id))
            else:
                heappop(looks)
                del self.entries[producer_id]
                count += 1
        if self.awaited:
            awaited = self.awaited.items()
            self.awaited = {it: first for it, first in awaited if now - first.since < after}
        return count
