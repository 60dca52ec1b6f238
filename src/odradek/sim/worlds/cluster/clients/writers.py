"""Producers that do what few others do: send on without waiting, and write values of keys.

The first is idempotent, and has some batches of one partition under way on one connection. The
second writes a compacted topic: the n-th record of a key says so in its header, and has a value or
is a tombstone. Noted: `key.sends` key, n, and whether it is one; `key.acked` key, n, and the leader
epoch at that moment; `keys.asked` before that topic is read from its beginning, and `keys.found`
the last n of each key once it was read to its end, with the leader epoch that told this end.
"""

import asyncio
from itertools import count
from typing import Any, ClassVar, Final, NamedTuple

from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused, check
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Reader
from odradek.client.records.sequencing import Outgoing, Produced, ProducerIdentity, Sequencing
from odradek.model.errors import BrokerError
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.records.build import BatchBuilder, plain_header
from odradek.records.record import Record
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker.administrator import Note, Rest
from odradek.sim.worlds.broker.clients import Topic
from odradek.sim.worlds.cluster.view import ClusterView
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

AHEAD_MAX: Final = 5  # batches under way
TIMEOUT_MS: Final = 10_000
KEYS: Final = 6
COMPACTED: Final = "states"
COMPACTED_SETTINGS: Final = {
    "cleanup.policy": "compact",
    "flush.before.ack": "true",
    "segment.bytes": "1024",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "2000",
}
TOMBSTONE_ONE_IN: Final = 4
VALUE: Final = bytes(40)
COUNTED: Final = b"n"  # the header


class PipelinedProducer:
    """Of one topic; what it notes is what any producer does."""

    def __init__(self, note: Note, chance: SeededRandom, rest: Rest, topic: Topic) -> None:
        self._note, self._chance, self._rest, self._topic = note, chance, rest, topic
        self._lives = count(1)

    async def produce(self, cluster: Cluster) -> None:
        """For ever: some batches at once, and those that were refused again in their order."""
        answer = await (await cluster.any()).ask(InitProducerIdRequest(None, 0))
        check(answer.error_code)
        identity = ProducerIdentity(ProducerId(answer.producer_id), ProducerEpoch(0))
        batches, name, values = Sequencing(identity), f"pipelined-{next(self._lives)}", count(1)
        while True:
            partition = TopicPartition(self._topic.name, self._chance.below(self._topic.partitions))
            said: dict[int, str] = {}
            for _ in range(1 + self._chance.below(AHEAD_MAX)):
                value = f"{name}/{next(values)}"
                self._note("producer", "client.sends", *partition, (value,))
                data = _batch(value, cluster)
                said[id(data)] = value
                batches.add(partition, data)
            while batches.unacknowledged_bytes:
                await self._send(cluster, partition, batches, said)
                await self._rest()

    async def _send(
        self,
        cluster: Cluster,
        partition: TopicPartition,
        batches: Sequencing,
        said: dict[int, str],
    ) -> None:
        """All that may go out, on one connection, one request behind the other."""
        connection = await cluster.leader(partition)
        going: list[tuple[Outgoing, asyncio.Task[Any]]] = []
        async with asyncio.TaskGroup() as tasks:
            while batches.partitions():
                (batch,) = batches.take([partition], 1)
                data = [PartitionProduceData(partition.partition, batch.data)]
                topics = [TopicProduceData(partition.topic, partition_data=data)]
                request = ProduceRequest(None, -1, TIMEOUT_MS, topics)
                going.append((batch, tasks.create_task(_asked(connection, request))))
        for batch, asked in going:
            code, offset = asked.result()
            outcome = batches.answered(batch, code, offset)
            if isinstance(outcome, Refused):
                raise outcome
            if isinstance(outcome, Produced):
                if outcome.base_offset >= 0:
                    row = (outcome.base_offset, (said[id(batch.data)],))
                    self._note("producer", "client.acked", *partition, *row)
            else:
                cluster.forget(partition.topic)


async def _asked(connection: Any, request: ProduceRequest) -> tuple[int, int]:
    """The code and the offset; a broken connection is an error that trying again mends."""
    try:
        row = (await connection.ask(request)).responses[0].partition_responses[0]
    except BrokerError as error:
        return error.code, -1
    return row.error_code, row.base_offset


def _batch(value: str, cluster: Cluster) -> bytearray:
    builder = BatchBuilder(plain_header(attributes=0))
    builder.append(Record(0, cluster.world.clock.wall(), None, value.encode(), ()))
    return builder.finish()


class KeyedClients:
    """One writes, one reads all of it again and again."""

    def __init__(self, note: Note, chance: SeededRandom, rest: Rest, view: ClusterView) -> None:
        self._note, self._chance, self._rest = note, chance, rest
        self._view = view
        self._numbers = count(1)

    async def write(self, cluster: Cluster) -> None:
        """One record after the other, each when the one before is acknowledged."""
        try:
            new = admin.NewTopic(COMPACTED, 1, 3, settings=COMPACTED_SETTINGS)
            await admin.create_topic(cluster, new)
        except BrokerError as error:
            self._note("writer", "client.not_made", COMPACTED, error.code.name)
        producer = Producer(cluster)
        while True:
            for _ in range(1 + self._chance.below(2 * KEYS)):
                key, number = f"key-{self._chance.below(KEYS)}", next(self._numbers)
                value = None if self._chance.one_in(TOMBSTONE_ONE_IN) else VALUE
                header = ((COUNTED, str(number).encode()),)
                producer.add(TopicPartition(COMPACTED, 0), value, key.encode(), header)
                self._note("writer", "key.sends", key, number, value is None)
                await producer.flush()
                self._note("writer", "key.acked", key, number, *self._stored())
            await self._rest()

    def _stored(self) -> tuple[int, bool]:
        """The leader epoch in which it was stored, or a later one; whether all replicas have it."""
        state = self._view.state(TopicPartition(COMPACTED, 0))
        assert state is not None, "somebody led it, or it would not have been acknowledged"
        replicas = self._view.topics()[COMPACTED].partitions[0].replicas
        return state.leader_epoch, set(replicas) <= set(state.isr)

    async def read(self, cluster: Cluster) -> None:
        """From the beginning to its end: what is gone on the way was followed by a newer one.

        The end is asked for: a new leader's Fetch may name an older high watermark for a while.
        """
        where = TopicPartition(COMPACTED, 0)
        while True:
            await self._rest()
            self._note("keyed-reader", "keys.asked")
            end = (await offsets_at(cluster, [where], LATEST))[where]
            known = cluster.metadata.partition(where)
            assert known is not None, "it was named to the leader, who has the same"
            reader = Reader(cluster, await offsets_at(cluster, [where], EARLIEST))
            found: dict[str, int] = {}
            while reader.positions[where] < max(end, reader.ends.get(where, end)):
                for _, record in await reader.poll(100):
                    ((_, number),) = record.headers
                    found[(record.key or b"").decode()] = int(number or b"")
            self._note(
                "keyed-reader", "keys.found", tuple(sorted(found.items())), known.leader_epoch
            )


class TheLastOfEachKeyStays(Invariant):
    """Compaction keeps the last record of each key; a tombstone goes, and nothing older is back.

    As with Kafka, a replica that was away for longer than `delete.retention.ms` never learns of a
    tombstone that has gone meanwhile: it keeps what was older, and may lead. And what a writer gave
    up may be on its way yet, and come behind what it wrote later.

    A leader has what was acknowledged in its epoch and in those before. One that does not know yet
    that another was elected still answers readers, as Kafka's does, and does not have the other's.
    """

    watches: ClassVar = frozenset(
        {"key.sends", "key.acked", "keys.asked", "keys.found", "records.may_be_lost"}
    )

    def __init__(self) -> None:
        self._acked: dict[str, _Acked] = {}  # the last of each key
        self._tombstones: dict[str, int] = {}  # the last that was sent of each
        self._unanswered: dict[str, dict[int, bool]] = {}  # whether each is a tombstone
        self._due: dict[str, _Acked] = {}

    def on(self, event: Event) -> None:
        """What is read is as new as what was acknowledged before."""
        match event.what, event.details:
            case "key.sends", (key, number, is_tombstone):
                self._unanswered.setdefault(key, {})[number] = is_tombstone
                if is_tombstone:
                    self._tombstones[key] = number
            case "key.acked", (key, number, leader_epoch, is_everywhere):
                self._acked[key] = _Acked(number, leader_epoch, is_everywhere)
                del self._unanswered[key][number]
            case "records.may_be_lost", (topic,):
                if topic == COMPACTED:
                    self._acked.clear()
                    self._due = {}
            case "keys.asked", _:
                self._due = dict(self._acked)
            case "keys.found", (rows, leader_epoch):
                self._judge(dict(rows), leader_epoch)

    def _judge(self, found: dict[str, int], leader_epoch: int) -> None:
        for key, (number, acked_in, is_everywhere) in self._due.items():
            if acked_in > leader_epoch:
                continue
            last, unanswered = self._tombstones.get(key, -1), self._unanswered.get(key, {})
            is_tombstone = last == number
            another_may_follow = last > number or any(unanswered.values())
            if key not in found:
                may_be = is_tombstone or another_may_follow
                assert may_be, f"{key} is gone, and its record {number} was acknowledged"
            elif found[key] < number and found[key] not in unanswered:
                may_be = another_may_follow or (is_tombstone and not is_everywhere)
                assert may_be, f"{key} has {found[key]}, {number} was acknowledged"


class _Acked(NamedTuple):
    """The last of a key; the leader epoch at that moment: it was stored in no later one."""

    number: int
    leader_epoch: int
    is_everywhere: bool
