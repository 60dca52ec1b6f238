"""Who uses transactions: a feeder, copiers of which several have one id, readers, an operator.

A copier takes records of one source partition and puts each into every target partition, in
transactions with its group's position. Two processes at a time have one id, and fence each other;
a life ends where it stands, and some stand still in a transaction and come back when another has
their id. Noted: `txn.began` id, producer id and epoch; `txn.tries` the tag of a transaction;
`txn.aborted` and `txn.committed` likewise, once that was answered; `txn.ends` id, tag, and who the
copier was at its beginning, before a commit is asked for; `txn.read` partition, offset and value,
as readers of committed records are shown it; `txn.stable` partition, leader epoch and last stable
offset; `txn.level` what `transaction.version` was set to; in the end `final.read` as `txn.read`,
and `final.position` a source partition and the position of its group.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

from odradek.client.admin import admin
from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Found, Reader
from odradek.client.records.transactional_producer import V1, V2, TransactionalProducer
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.ports import Address
from odradek.records.record import Record
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.sim.worlds.transactions.delays import DelayingCluster, GivenUp
from odradek.sim.worlds.transactions.faults import HESITATES
from odradek.sim.worlds.transactions.operator import FLEETING, Levels, Operator
from odradek.sim.worlds.transactions.readers import (
    TARGET,
    TARGETS,
    position,
    read,
    read_all,
    unstable,
    watch,
)

SOURCE: Final = "source"
IDS: Final = 2  # each has a source partition
SETTINGS: Final = {"flush.before.ack": "false", "segment.bytes": "4096"}
COPIED_MAX: Final = 4
PROCESSES: Final = ("ab", "a")
"""At a time, of each id: where there are two the epoch rises often, where there is one seldom."""
ABORT_ONE_IN: Final = 3
SPLIT_ONE_IN: Final = 2
ALSO_FLEETING_ONE_IN: Final = 4
HESITATES_ONE_IN: Final = 3
HESITATES_MILLIS_MAX: Final = 600
COMES_BACK_LATE_ONE_IN: Final = 30
LATE_MILLIS_MAX: Final = 9_000
TIMEOUT: Final = Millis(6 * SECOND)
LIFE_MILLIS_MAX: Final = 14_000
LEVEL_MAX: Final = 2  # from it on clients may use version 2
REST_MILLIS_MAX: Final = 600
FED_MAX: Final = 3

Life = Callable[[Cluster], Coroutine[Any, Any, None]]


class TransactionClients:
    """All of them."""

    def __init__(self, world: World, machine: Machine, bootstrap: Sequence[Address]) -> None:
        self._note = world.history.note
        self._machine = machine
        self._bootstrap = list(bootstrap)
        self._chance = machine.random.stream("transactions")
        noted = partial(self._note, "operator", "txn.level")
        self._levels = Levels(machine.random.stream("level"), noted)
        self._numbers = count(1)
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Until the machine ends."""
        await self._live("maker", self._make, once=True)
        moved = [TopicPartition(SOURCE, number) for number in range(IDS)]
        made = admin.NewTopic(FLEETING.topic, 1, 3, SETTINGS)
        operator = Operator(self._chance, [*TARGETS, *moved], self._wait, made)
        lives: list[tuple[str, Life]] = [
            ("feeder", self._feed),
            ("reader", partial(read, note=self._note)),
            ("watcher", partial(watch, note=self._note, rest=self._wait)),
            ("mover", operator.move),
            ("remaker", operator.remake),
        ]
        lives += [
            (f"copier-{number}{process}", self._copier(number))
            for number in range(IDS)
            for process in PROCESSES[number]
        ]
        if self._levels.change:
            lives.append(("leveller", partial(self._levels.alter, rest=self._wait)))
        async with asyncio.TaskGroup() as tasks:
            self._tasks = [tasks.create_task(self._live(*it)) for it in lives]

    def end(self) -> None:
        """All go, where they stand."""
        for task in self._tasks:
            task.cancel()

    def _cluster(self, name: str) -> Cluster:
        world = ClientDeps(self._machine.network, self._machine.clock)
        return Cluster(world, self._bootstrap, name)

    async def _live(self, name: str, life: Life, *, once: bool = False) -> None:
        """One life after the other; each ends by an error, or when its time has come."""
        while True:
            cluster = self._cluster(name)
            millis = LIFE_MILLIS_MAX if once else 1_000 + self._chance.below(LIFE_MILLIS_MAX)
            try:
                async with asyncio.timeout(millis / 1_000):
                    await life(cluster)
                    if once:
                        return
            except (BrokerError, TimeoutError) as error:
                self._note(name, "client.gives_up", type(error).__name__, str(error))
            finally:
                cluster.close()
            await self._rest()

    async def _rest(self, millis_max: int = REST_MILLIS_MAX) -> None:
        await self._wait(self._chance.below(millis_max))

    async def _wait(self, millis: int) -> None:
        clock = self._machine.clock
        await clock.sleep_until(Millis(clock.monotonic() + millis))

    async def _make(self, cluster: Cluster) -> None:
        """The topics, and the level of transactions of this run."""
        there = {topic.name for topic in (await cluster.refresh(None)).topics}
        for name, partitions in ((SOURCE, IDS), (TARGET, len(TARGETS))):
            if name not in there:
                await admin.create_topic(cluster, admin.NewTopic(name, partitions, 3, SETTINGS))
        await self._levels.begin(cluster)

    async def _feed(self, cluster: Cluster) -> None:
        producer = Producer(cluster)
        while True:
            source = TopicPartition(SOURCE, self._chance.below(IDS))
            for _ in range(1 + self._chance.below(FED_MAX)):
                producer.add(source, str(next(self._numbers)).encode())
            await producer.flush()
            self._note("feeder", "source.fed")
            await self._rest()

    def _copier(self, number: int) -> Life:
        async def copy(cluster: Cluster) -> None:
            name = f"copier-{number}"
            delaying = DelayingCluster(self._machine, self._bootstrap, name, self._chance)
            try:
                await self._copy(cluster, delaying, number)
            finally:
                delaying.close()

        return copy

    async def _copy(self, cluster: Cluster, delaying: DelayingCluster, number: int) -> None:
        name, source = f"copier-{number}", TopicPartition(SOURCE, number)
        versions = V2 if self._levels.heard == LEVEL_MAX and self._chance.below(4) else V1
        delaying.delay(versions)
        producer = TransactionalProducer(delaying, name, versions, TIMEOUT)
        await producer.begin()
        began = producer.identity[1:]
        self._note(name, "txn.began", name, began)
        while True:
            rows = await self._next(cluster, name, source)
            if not rows:
                await self._rest()
                continue
            tag = f"{name}.{next(self._numbers)}"
            self._note(name, "txn.tries", tag)
            is_whole = await self._send(producer, rows, tag)
            commits = is_whole and not self._chance.one_in(ABORT_ONE_IN)
            if commits:
                await producer.commit_offsets(name, {source: rows[-1].record.offset + 1})
            await self._hesitate(name)
            if not commits:
                await producer.abort()
                self._note(name, "txn.aborted", tag)
                continue
            self._note(name, "txn.ends", name, tag, began)
            await producer.commit()
            self._note(name, "txn.committed", tag)

    async def _send(self, producer: TransactionalProducer, rows: Sequence[Found], tag: str) -> bool:
        """Each row to each target; whether all were acknowledged."""
        pieces = [rows[:1], rows[1:]] if self._chance.one_in(SPLIT_ONE_IN) else [rows]
        targets = [*TARGETS]
        if self._chance.one_in(ALSO_FLEETING_ONE_IN):
            targets.insert(self._chance.below(len(targets)), FLEETING)
        try:
            for piece in filter(None, pieces):
                await producer.send({it: _copies(piece, tag) for it in targets})
        except GivenUp:
            return False
        return True

    async def _hesitate(self, name: str) -> None:
        """Some for a moment, some for so long that another process has the id meanwhile."""
        if self._chance.one_in(COMES_BACK_LATE_ONE_IN):
            self._note(name, "txn.late")
            await self._rest(LATE_MILLIS_MAX)
        elif self._chance.one_in(HESITATES_ONE_IN):
            self._note(name, HESITATES, name)
            await self._rest(HESITATES_MILLIS_MAX)

    async def _next(self, cluster: Cluster, name: str, source: TopicPartition) -> list[Found]:
        where = await position(cluster, name, source)
        reader = Reader(cluster, {source: where}, committed=True)
        return (await reader.poll(100))[: 1 + self._chance.below(COPIED_MAX)]

    async def audit(self) -> str:
        """All that can be read, once everything is decided; or what is not."""
        cluster = self._cluster("auditor")
        try:
            there = {topic.name for topic in (await cluster.decided()).topics}
            fleeting = [it for it in (FLEETING,) if it.topic in there]
            complaint = await unstable(cluster, [*TARGETS, *fleeting])
            await read_all(cluster, self._note)
            for number in range(IDS):
                where = await position(cluster, f"copier-{number}", TopicPartition(SOURCE, number))
                self._note("auditor", "final.position", number, where)
        finally:
            cluster.close()
        return complaint


def _copies(rows: Sequence[Found], tag: str) -> list[Record]:
    return [
        Record(0, record.timestamp, None, f"{tag} {record.offset}".encode()) for _, record in rows
    ]
