"""Who uses brokers: producers, readers, a group of two, an administrator; all on one machine.

Noted, beside what the names say: `client.sends` topic, partition, values; `client.acked` topic,
partition, offset, values; `client.looks` topic and, of each partition that it is told of, number
and offset, before a reader begins there; `client.read` topic, partition, offsets with their values,
and the leader epoch that was asked; `client.end` topic, partition, end, behind what was read.
Members and the administrator have modules and notes of their own. A producer whose batch was
refused for good, or that has lost patience, goes on as somebody else: whether that batch is there,
is not known. When all is over an auditor reads everything.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from itertools import count, groupby
from typing import Any, Final, NamedTuple

from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.client.records.reader import Reader
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import Bytes, Millis
from odradek.ports import Address
from odradek.records.compression import Codec
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.stage.broker_machine import BROKER, PORT
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.broker.administrator import Administrator
from odradek.sim.worlds.broker.members import GroupLife

DURABLE: Final = "orders"  # synced before it is acknowledged
FAST: Final = "events"
AUDITOR: Final = "auditor"
PARTITIONS: Final = 5  # of each
MEMBERS: Final = ("member-1", "member-2")
PAUSE_MILLIS_MAX: Final = 2_000
READER_RESTS_MILLIS_MAX: Final = 500
RECORDS_MAX: Final = 5  # in one go
BATCH_BYTES: Final = Bytes(64)
LIFE_SECONDS: Final = 20  # then clients that wait have lost patience
CODECS: Final = tuple(Codec)
FAST_ACKS: Final = (0, 1)
FROM_BEGINNING_ONE_IN: Final = 3

Life = Callable[[Cluster], Coroutine[Any, Any, None]]


class Topic(NamedTuple):
    """One that is produced to and read, and how."""

    name: str
    partitions: int
    settings: Mapping[str, str]
    producing: Callable[[SeededRandom], ProducerSettings]
    """Of one life of one of its producers."""
    producers: int = 1
    replicas: int = -1


def _codec(chance: SeededRandom) -> Codec:
    return CODECS[chance.below(len(CODECS))]


def durably(chance: SeededRandom) -> ProducerSettings:
    """Each record once, and acknowledged when all have it."""
    return ProducerSettings(codec=_codec(chance))


def plainly(
    chance: SeededRandom, acks: Sequence[int], batch_bytes: Bytes = BATCH_BYTES
) -> ProducerSettings:
    """A record in a batch, or a few, and whatever the acknowledgement may mean."""
    return ProducerSettings(
        acks=acks[chance.below(len(acks))],
        codec=_codec(chance),
        idempotent=False,
        batch_bytes=batch_bytes,
    )


SEGMENT: Final = {"segment.bytes": "4096"}
TOPICS: Final = (
    Topic(DURABLE, PARTITIONS, {"flush.before.ack": "true", **SEGMENT}, durably),
    Topic(
        FAST,
        PARTITIONS,
        {"flush.before.ack": "false", **SEGMENT},
        partial(plainly, acks=FAST_ACKS),
    ),
)


class Users(NamedTuple):
    """Whom they use, and what for."""

    bootstrap: Sequence[Address] = ((BROKER, PORT),)
    topics: Sequence[Topic] = TOPICS
    static: Sequence[str] = ()  # members of the group that are
    records_max: int = RECORDS_MAX


ONE_BROKER: Final = Users()


class Clients:
    """All of them."""

    def __init__(self, world: World, machine: Machine, users: Users = ONE_BROKER) -> None:
        self._note = world.history.note
        self._machine = machine
        self._users = users
        self._chance = machine.random.stream("clients")
        self._values = count(1)
        self._administering: list[asyncio.Task[None]] = []
        self._seen: dict[TopicPartition, int] = {}  # the highest end of each

    async def run(self) -> None:
        """For ever."""
        note, chance = self._note, self._chance
        async with asyncio.TaskGroup() as tasks:
            for topic in self._users.topics:
                for number in range(1, topic.producers + 1):
                    produce = partial(self._produce, topic)
                    tasks.create_task(self._live(f"{topic.name}-{number}", produce))
            tasks.create_task(self._live("reader", self._read))
            for name in MEMBERS:
                member = GroupLife(name, note, chance.stream(name), self._rest)
                member.instance_id = name if name in self._users.static else None
                tasks.create_task(self._live(name, member.consume))
            for name, administer in self.administrators():
                self._administering.append(tasks.create_task(self._live(name, administer)))

    def end_administration(self) -> None:
        """The administrator stops where he is."""
        for task in self._administering:
            task.cancel()

    def administrators(self) -> Sequence[tuple[str, Life]]:
        """Who changes the cluster, each by a name."""
        chance = self._chance.stream("admin")
        administrator = Administrator(self._note, chance, self._rest)
        return (("admin", administrator.administer),)

    async def _live(self, name: str, life: Life) -> None:
        """One life after the other: an error ends one, and the next begins a little later."""
        while True:
            world = ClientDeps(self._machine.network, self._machine.clock)
            cluster = Cluster(world, list(self._users.bootstrap), name)
            try:
                async with asyncio.timeout(LIFE_SECONDS):
                    await self._prepare(cluster)
                    await life(cluster)
            except (BrokerError, TimeoutError) as error:
                self._note(name, "client.gives_up", type(error).__name__, str(error))
            finally:
                cluster.close()
            await self._rest()

    async def _rest(self, millis_max: int = PAUSE_MILLIS_MAX) -> None:
        clock = self._machine.clock
        pause = self._chance.below(millis_max)
        await clock.sleep_until(Millis(clock.monotonic() + pause))

    async def _prepare(self, cluster: Cluster) -> None:
        """The first client makes the topics."""
        answer = await cluster.refresh(None)
        there = {topic.name for topic in answer.topics}
        for topic in self._users.topics:
            if topic.name not in there:
                new = admin.NewTopic(
                    topic.name, topic.partitions, topic.replicas, settings=topic.settings
                )
                try:
                    await admin.create_topic(cluster, new)
                except BrokerError as error:
                    self._note("clients", "client.not_made", topic.name, error.code.name)

    # Producing

    async def _produce(self, topic: Topic, cluster: Cluster) -> None:
        producer, name = Producer(cluster, topic.producing(self._chance)), next(self._values)
        while True:
            partition = TopicPartition(topic.name, self._chance.below(topic.partitions))
            amount = 1 + self._chance.below(self._users.records_max)
            values = [f"{name}/{next(self._values)}" for _ in range(amount)]
            for value in values:
                producer.add(partition, value.encode())
            self._note("producer", "client.sends", *partition, tuple(values))
            sent = await producer.flush()
            self._note_acked(partition, values, sent)
            await self._rest()

    def _note_acked(
        self, partition: TopicPartition, values: list[str], sent: list[tuple[TopicPartition, int]]
    ) -> None:
        """Of one batch; what was sent in several is noted value by value if that can be told."""
        if len(sent) == 1 and sent[0][1] >= 0:
            self._note("producer", "client.acked", *partition, sent[0][1], tuple(values))
        elif len(sent) == len(values) and all(offset >= 0 for _, offset in sent):
            for value, (_, offset) in zip(values, sent, strict=True):
                self._note("producer", "client.acked", *partition, offset, (value,))

    # Reading

    async def _read(self, cluster: Cluster) -> None:
        """One topic and then the other, each time from somewhere, and often from the beginning."""
        for topic in self._names:
            partitions = await admin.partitions_of(cluster, topic)
            positions = await offsets_at(cluster, partitions, EARLIEST)
            for partition in partitions if self._chance.below(FROM_BEGINNING_ONE_IN) else ():
                seen = self._seen.get(partition, 0)
                positions[partition] = max(positions[partition], self._chance.below(seen + 1))
            await self._read_on("reader", topic, Reader(cluster, positions))
            await self._rest(READER_RESTS_MILLIS_MAX)

    async def audit(self, but: Collection[str] = ()) -> None:
        """Reads everything once, from the beginning, `but` these topics."""
        around = ClientDeps(self._machine.network, self._machine.clock)
        cluster = Cluster(around, list(self._users.bootstrap))
        try:
            for topic in [name for name in self._names if name not in but]:
                partitions = await admin.partitions_of(cluster, topic)
                positions = await offsets_at(cluster, partitions, EARLIEST)
                await self._read_on(AUDITOR, topic, Reader(cluster, positions))
        finally:
            cluster.close()

    @property
    def _names(self) -> list[str]:
        return [topic.name for topic in self._users.topics]

    async def _read_on(self, who: str, topic: str, reader: Reader) -> None:
        starts = tuple((it.partition, at) for it, at in sorted(reader.positions.items()))
        self._note(who, "client.looks", topic, starts)
        quiet = 0
        while quiet < 2:
            found = await reader.poll(100)
            quiet = 0 if found else quiet + 1
            for partition, some in groupby(found, key=lambda it: it.partition):
                records = [(it.record.offset, (it.record.value or b"").decode()) for it in some]
                leader_epoch = reader.leader_epochs[partition]
                self._note(who, "client.read", *partition, tuple(records), leader_epoch)
        for partition, end in sorted(reader.ends.items()):
            if reader.positions[partition] < end and who != AUDITOR:
                continue  # a fetch leaves out what only a disk has that hangs
            self._seen[partition] = max(end, self._seen.get(partition, 0))
            self._note(who, "client.end", *partition, end)
