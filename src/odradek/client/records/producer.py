"""Producing: records are gathered in batches, each batch is sent until it is acknowledged.

One batch of a partition is under way at a time, and with a producer id each has its number, so
a batch that is sent again is stored once and the order holds. A key decides the partition as it
does with Java's clients (murmur2); records without one go to a partition in turn, batch by batch.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.client.cluster import Cluster
from odradek.client.errors import Refused, check
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import KIB, SECOND, Bytes, Millis
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.compression import Codec
from odradek.records.record import Headers, Record
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

BATCH_BYTES: Final = Bytes(256 * KIB)
DELIVERY: Final = Millis(120 * SECOND)
"""How long a batch is sent again: a broker that lost its power is silent for a part of that."""
SEQUENCES: Final = 1 << 31
MURMUR_SEED: Final = 0x9747B28C
WORD: Final = 0xFFFFFFFF

STALE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors after which the leader is to be asked for anew."""


@dataclass(slots=True)
class ProducerSettings:
    """How a producer produces."""

    acks: int = -1
    codec: Codec = Codec.NONE
    idempotent: bool = True
    timeout_ms: int = 30_000
    batch_bytes: Bytes = BATCH_BYTES
    first_turn: int = 0  # which partition, modulo their number, has the first batch without keys


@dataclass(slots=True)
class _Queue:
    """One partition: the batch that is being filled, those that are full, and what comes next."""

    builder: BatchBuilder | None = None
    full: list[BatchBuilder] = field(default_factory=list)
    sequence: int = 0


class Producer:
    """`add` records, then `flush`; what is returned are the offsets of the batches."""

    def __init__(self, cluster: Cluster, settings: ProducerSettings | None = None) -> None:
        self._cluster = cluster
        self._settings = settings or ProducerSettings()
        self._queues: dict[TopicPartition, _Queue] = {}
        self._producer_id = -1
        self._turn = self._settings.first_turn
        self._under_way: dict[TopicPartition, asyncio.Task[Any]] = {}
        self._abandoned: set[TopicPartition] = set()  # by this flush
        self.given_up: Counter[TopicPartition] = (
            Counter()
        )  # records; some may be there all the same
        self.waiting_bytes = 0

    async def partition_for(self, topic: str, key: bytes | None) -> TopicPartition:
        """Where a record belongs."""
        known = self._cluster.metadata.topics.get(topic)
        if known is None or known.error:
            await self._cluster.patiently(lambda: self._cluster.topic(topic, make=True))
            known = self._cluster.metadata.topics[topic]
        count = len(known.partitions)
        if key is not None:
            return TopicPartition(topic, (murmur2(key) & 0x7FFFFFFF) % count)
        if self.given_up:
            every = [TopicPartition(topic, it) for it in range(count)]
            usable = [it for it in every if it not in self.given_up] or every
            return usable[self._turn % len(usable)]
        return TopicPartition(topic, self._turn % count)

    def add(
        self,
        partition: TopicPartition,
        value: bytes | None,
        key: bytes | None = None,
        headers: Headers = (),
    ) -> None:
        """One more record, with the time of now."""
        queue = self._queues.setdefault(partition, _Queue())
        builder = queue.builder
        if builder is None:
            builder = queue.builder = BatchBuilder(plain_header(attributes=self._settings.codec))
        timestamp = self._cluster.world.clock.wall()
        before = builder.size
        builder.append(Record(builder.count, timestamp, key, value, headers))
        self.waiting_bytes += builder.size - before
        if builder.size >= self._settings.batch_bytes:
            queue.full.append(builder)
            queue.builder = None
            self._turn += 1

    async def flush(self) -> list[tuple[TopicPartition, int]]:
        """Returns once all is acknowledged: each batch's partition and base offset."""
        if self._settings.idempotent and self._settings.acks == -1 and self._producer_id < 0:
            await self._cluster.patiently(self._take_id)
        self._turn += 1
        self.waiting_bytes = 0
        self._abandoned.clear()
        self._under_way.clear()
        sent = await asyncio.gather(*map(self._send_all, sorted(self._queues)))
        if self._abandoned:  # what is sent next must not be taken for what was not
            self._producer_id = -1
            for queue in self._queues.values():
                queue.sequence = 0
        return [(partition, offset) for offsets in sent for partition, offset in offsets]

    @property
    def under_way(self) -> list[TopicPartition]:
        """Of which something is not acknowledged yet."""
        return list(self._under_way)

    def give_up(self, partition: TopicPartition) -> None:
        """What is under way there; `flush` returns with the rest, `given_up` counts the records."""
        self._abandoned.add(partition)
        self._under_way[partition].cancel()

    async def _take_id(self) -> None:
        answer = await (await self._cluster.any()).ask(InitProducerIdRequest(None, 0))
        check(answer.error_code)
        self._producer_id = answer.producer_id

    async def _send_all(self, partition: TopicPartition) -> list[tuple[TopicPartition, int]]:
        queue = self._queues[partition]
        builders, queue.full = queue.full, []
        if queue.builder is not None:
            builders.append(queue.builder)
            queue.builder = None
        sent: list[tuple[TopicPartition, int]] = []
        if (task := asyncio.current_task()) is not None and builders:
            self._under_way[partition] = task
        try:
            for it in builders:
                offset = await self._send(partition, queue, it)
                sent.append((partition, offset))
        except asyncio.CancelledError:
            if partition not in self._abandoned:
                raise
            self.given_up[partition] += sum(it.count for it in builders[len(sent) :])
        finally:
            self._under_way.pop(partition, None)
        return sent

    async def _send(self, partition: TopicPartition, queue: _Queue, builder: BatchBuilder) -> int:
        header = builder.header
        if self._producer_id >= 0:
            header.producer_id, header.producer_epoch = self._producer_id, 0
            header.base_sequence = queue.sequence
            queue.sequence = (queue.sequence + builder.count) % SEQUENCES
        batch = builder.finish()

        async def attempt() -> int:
            return await self._try(partition, batch)

        return await self._cluster.patiently(attempt, DELIVERY)

    async def _try(self, partition: TopicPartition, batch: bytearray) -> int:
        settings = self._settings
        data: Sequence[PartitionProduceData] = [PartitionProduceData(partition.partition, batch)]
        topics = [TopicProduceData(partition.topic, partition_data=data)]
        request = ProduceRequest(None, settings.acks, settings.timeout_ms, topics)
        connection = await self._cluster.leader(partition)
        if not settings.acks:
            await connection.tell(request)
            return -1
        row = (await connection.ask(request)).responses[0].partition_responses[0]
        if row.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return -1  # it is there; where, is not remembered any more
        if row.error_code in STALE:
            self._cluster.forget(partition.topic)
        if row.error_code:
            raise Refused(row.error_code, row.error_message, about=str(partition))
        offset: int = row.base_offset
        return offset


def murmur2(data: bytes) -> int:
    """The hash by which Kafka's clients choose the partition of a key."""
    mixed = MURMUR_SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * 0x5BD1E995 & WORD
        word = (word ^ word >> 24) * 0x5BD1E995 & WORD
        mixed = mixed * 0x5BD1E995 & WORD ^ word
    rest = data[whole:]
    if rest:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * 0x5BD1E995 & WORD
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & WORD
    return mixed ^ mixed >> 15
