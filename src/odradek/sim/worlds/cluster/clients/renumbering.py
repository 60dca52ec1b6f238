"""An idempotent producer that begins anew when it is told of a gap, as librdkafka does.

It has up to five batches of a partition on their way, each of which arrives when it does. Where one
is out of order although none before it was, those before it are in doubt: the producer waits for
all answers, asks for an epoch, and sends under it all that has no answer, from sequence 0. What a
leader has taken of that without an answer stands twice then. So no broker may tell of a gap that
its own refusals have made. After a loss of records it gives up instead: gaps are true then.

Noted, beside what any producer does: `client.begins_anew` partition.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import ClassVar, Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.errors import check
from odradek.client.records.sequencing import IN_FLIGHT_MAX, NOTHING_TO_MEND
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.records.batch import read_header, seal
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.record import Record
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker.administrator import Note
from odradek.sim.worlds.broker.clients import Topic
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BATCHES_MAX: Final = 8
TIMEOUT_MS: Final = 10_000
LATE_MILLIS_MAX: Final = 400  # between two batches
BEGUN_ANEW: Final = "client.begins_anew"


class Numbered(NamedTuple):
    """A record that has no answer yet."""

    sequence: int
    value: str


class Answer(NamedTuple):
    """Of one batch; what is not known is an error that trying again mends."""

    code: int
    offset: int


class RenumberingProducer:
    """Of one topic."""

    def __init__(
        self, note: Note, chance: SeededRandom, topic: Topic, losses: Callable[[], int]
    ) -> None:
        self._note, self._chance, self._topic = note, chance, topic
        self._losses = losses  # how often records may have been lost
        self._lives = count(1)

    async def produce(self, cluster: Cluster) -> None:
        """For ever: some batches of a partition, until all are acknowledged."""
        life = _Life(cluster, losses=self._losses)
        name, values = f"renumbering-{next(self._lives)}", count(1)
        await life.identify()
        while True:
            partition = TopicPartition(self._topic.name, self._chance.below(self._topic.partitions))
            for _ in range(1 + self._chance.below(BATCHES_MAX)):
                value = f"{name}/{next(values)}"
                self._note("producer", "client.sends", *partition, (value,))
                life.add(partition, value)
            while life.queue:
                for offset, value in await life.send(partition, self._late):
                    self._note("producer", "client.acked", *partition, offset, (value,))
                if life.is_told_of_gap:
                    life.check_for_losses()
                    self._note("producer", BEGUN_ANEW, *partition)
                    await life.begin_anew(partition)
                await self._late(cluster)

    def _late(self, cluster: Cluster) -> Awaitable[None]:
        """Until the next batch leaves."""
        clock = cluster.world.clock
        return clock.sleep_until(Millis(clock.monotonic() + self._chance.below(LATE_MILLIS_MAX)))


class _Life:
    """One producer id after the other, each with sequences of its own."""

    def __init__(self, cluster: Cluster, losses: Callable[[], int]) -> None:
        self.queue: list[Numbered] = []  # of one partition
        self.is_told_of_gap = False
        self._cluster = cluster
        self._losses, self._lost = losses, losses()
        self._identity = -1, -1
        self._next: dict[TopicPartition, int] = {}  # sequences

    async def identify(self) -> None:
        """Another id, or another epoch."""
        self._identity = await self._cluster.patiently(self._ask_who)

    async def _ask_who(self) -> tuple[int, int]:
        connection = await self._cluster.any()
        answer = await connection.ask(InitProducerIdRequest(None, 0, *self._identity))
        check(answer.error_code)
        return answer.producer_id, answer.producer_epoch

    def add(self, partition: TopicPartition, value: str) -> None:
        """Behind all others."""
        sequence = self._next.get(partition, 0)
        self.queue.append(Numbered(sequence, value))
        self._next[partition] = sequence + 1

    def check_for_losses(self) -> None:
        """Gives up where a gap may be true."""
        if self._losses() != self._lost:
            check(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    async def begin_anew(self, partition: TopicPartition) -> None:
        """All that has no answer, whether a leader has it or not."""
        await self.identify()
        self.is_told_of_gap = False
        left, self.queue = self.queue, []
        self._next.clear()
        for _, value in left:
            self.add(partition, value)

    async def send(
        self, partition: TopicPartition, late: Callable[[Cluster], Awaitable[None]]
    ) -> list[tuple[int, str]]:
        """What may be on its way at once, on one connection; what was acknowledged of it."""
        connection = await self._cluster.patiently(partial(self._leader, partition))
        going: list[tuple[Numbered, asyncio.Task[Answer]]] = []
        async with asyncio.TaskGroup() as tasks:
            for batch in self.queue[:IN_FLIGHT_MAX]:
                asked = self._ask(connection, partition, batch)
                going.append((batch, tasks.create_task(asked)))
                await late(self._cluster)
        return [row for batch, asked in going if (row := self._hear(batch, asked.result()))]

    async def _leader(self, partition: TopicPartition) -> Connection:
        try:
            return await self._cluster.leader(partition)
        except BrokerError:
            self._cluster.forget(partition.topic)  # another may lead by now
            raise

    def _hear(self, batch: Numbered, answer: Answer) -> tuple[int, str] | None:
        if answer.code in NOTHING_TO_MEND:
            self.queue.remove(batch)
            return (answer.offset, batch.value) if answer.offset >= 0 else None
        is_behind = batch is not self.queue[0]
        if answer.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and is_behind:
            self.is_told_of_gap = True
        elif not ErrorCode(answer.code).retriable:
            check(answer.code)
        return None

    async def _ask(
        self, connection: Connection, partition: TopicPartition, batch: Numbered
    ) -> Answer:
        data = [PartitionProduceData(partition.partition, self._batch(batch))]
        topics = [TopicProduceData(partition.topic, partition_data=data)]
        try:
            answer = await connection.ask(ProduceRequest(None, -1, TIMEOUT_MS, topics))
        except BrokerError as error:
            self._cluster.forget(partition.topic)
            return Answer(error.code, -1)
        row = answer.responses[0].partition_responses[0]
        if row.error_code:
            self._cluster.forget(partition.topic)
        return Answer(row.error_code, row.base_offset)

    def _batch(self, batch: Numbered) -> bytearray:
        builder = BatchBuilder(plain_header(attributes=0))
        builder.append(Record(0, self._cluster.world.clock.wall(), None, batch.value.encode(), ()))
        data = builder.finish()
        header = read_header(data)
        header.producer_id, header.producer_epoch = self._identity
        header.base_sequence = batch.sequence
        seal(data, header)
        return data


class ProducersAreToldOfNoGap(Invariant):
    """Who sends its batches in their order is told of no gap, unless records may be lost.

    What it would send again then stands twice, if a leader had taken it: mostly none had.
    """

    watches: ClassVar = frozenset({BEGUN_ANEW})

    def on(self, event: Event) -> None:
        """It is told of one."""
        topic, number = event.details
        raise AssertionError(f"{topic}-{number}: a batch is out of order, and none before it was")
