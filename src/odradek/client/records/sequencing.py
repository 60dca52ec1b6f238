"""Idempotent producing: which batch goes out next, and what is sent again, partition by partition.

Every batch of a partition gets its sequence numbers once, when it is added. Up to five are in
flight, which is how many a broker remembers. When one is refused in a way that trying again mends,
those behind it will be refused too: the partition waits until all its answers are in, and begins
again with the first one that was not acknowledged. A broker that has a batch already says so.

Invariant: of each partition the batches that were sent stand before those that were not, unless
the partition waits.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from odradek.client.errors import Refused
from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_PRODUCER, ProducerId, TopicPartition
from odradek.model.positions import NO_OFFSET, NO_PRODUCER_EPOCH, Offset, ProducerEpoch
from odradek.records.batch import TRANSACTIONAL_BIT, read_header, seal

IN_FLIGHT_MAX: Final = 5
SEQUENCES: Final = 1 << 31
NOTHING_TO_MEND: Final = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})


class ProducerIdentity(NamedTuple):
    """What InitProducerId gave; without one batches may be stored twice."""

    producer_id: ProducerId = NO_PRODUCER
    epoch: ProducerEpoch = NO_PRODUCER_EPOCH


class Produced(NamedTuple):
    """A batch that was acknowledged; offset -1: it was stored before, where is not known."""

    partition: TopicPartition
    base_offset: Offset
    record_count: int


@dataclass(slots=True, eq=False)
class Outgoing:
    """One batch on its way."""

    partition: TopicPartition
    data: bytearray
    record_count: int
    is_sent: bool = False


@dataclass(slots=True)
class _Queue:
    """One partition: 0 <= in_flight <= IN_FLIGHT_MAX."""

    batches: deque[Outgoing] = field(default_factory=deque)
    sequence: int = 0
    in_flight: int = 0
    is_waiting: bool = False  # until in_flight is 0


class Sequencing:
    """All batches that were not acknowledged yet."""

    def __init__(self, identity: ProducerIdentity, *, is_transactional: bool = False) -> None:
        self.unacknowledged_bytes = 0
        self._identity = identity
        self._attributes = TRANSACTIONAL_BIT if is_transactional else 0
        self._ready: dict[TopicPartition, None] = {}  # with a batch that may go out now
        self._queues: dict[TopicPartition, _Queue] = {}

    def add(self, partition: TopicPartition, data: bytearray) -> None:
        """A finished batch; its producer fields and checksum are written here."""
        queue = self._queues.setdefault(partition, _Queue())
        header = read_header(data)
        assert header.size == len(data), (header.size, len(data))
        if self._identity.producer_id >= 0:
            header.producer_id, header.producer_epoch = self._identity
            header.base_sequence = queue.sequence
            header.attributes |= self._attributes
            queue.sequence = (queue.sequence + header.record_count) % SEQUENCES
            seal(data, header)
        queue.batches.append(Outgoing(partition, data, header.record_count))
        self._look_at(partition, queue)
        self.unacknowledged_bytes += len(data)

    def partitions(self) -> list[TopicPartition]:
        """Those with a batch that may go out now."""
        return list(self._ready)

    def _look_at(self, partition: TopicPartition, queue: _Queue) -> None:
        if self._next(queue) is None:
            self._ready.pop(partition, None)
        else:
            self._ready[partition] = None

    def take(self, partitions: Iterable[TopicPartition], bytes_max: int) -> list[Outgoing]:
        """One batch of each for one request, up to so many bytes, but one at least."""
        taken: list[Outgoing] = []
        size = 0
        for partition in partitions:
            queue = self._queues[partition]
            batch = self._next(queue)
            if batch is None or (taken and size + len(batch.data) > bytes_max):
                continue
            batch.is_sent = True
            queue.in_flight += 1
            self._look_at(partition, queue)
            size += len(batch.data)
            taken.append(batch)
        return taken

    def _next(self, queue: _Queue) -> Outgoing | None:
        limit = IN_FLIGHT_MAX if self._identity.producer_id >= 0 else 1
        if queue.is_waiting or queue.in_flight >= limit:
            return None
        return next((it for it in queue.batches if not it.is_sent), None)

    def answered(
        self, batch: Outgoing, code: int, base_offset: int = NO_OFFSET, text: str | None = None
    ) -> Produced | Refused | None:
        """What became of one: acknowledged, to be sent again (None), or refused for good."""
        queue = self._queues[batch.partition]
        queue.in_flight -= 1
        outcome: Produced | Refused | None = None
        if code in NOTHING_TO_MEND:
            queue.batches.remove(batch)
            self.unacknowledged_bytes -= len(batch.data)
            offset = NO_OFFSET if code else Offset(base_offset)
            outcome = Produced(batch.partition, offset, batch.record_count)
        else:
            behind = queue.is_waiting and code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            if not ErrorCode(code).retriable and not behind:
                outcome = Refused(code, text, about=str(batch.partition))
            batch.is_sent = False
            queue.is_waiting = True
        if not queue.in_flight:
            queue.is_waiting = False
        self._look_at(batch.partition, queue)
        return outcome
