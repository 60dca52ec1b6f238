"""A coordinator is moved that has twenty thousand transactional ids: how long it reads them.

A case of `transactions`. The ids are all in one partition of the state topic, each of a producer
that has begun and sent nothing. Then its leader changes from broker to broker, as an operator moves
it. Meanwhile somebody asks the new leader about an id, again and again: from the last time that it
was not the coordinator to the first time that it knows the id it has loaded. Another client sends
one record after the other to a partition which that broker leads: those under way while it loads
are told apart from the others.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.broker import quantiles
from benchmarks.cluster import SETTLE_SECONDS, Cluster
from benchmarks.in_turns import Figures
from odradek.client.admin.placement import Election, elect, reassign
from odradek.client.cluster import ClientDeps
from odradek.client.cluster import Cluster as Client
from odradek.client.connection import Connection
from odradek.client.errors import check
from odradek.client.records.transaction_requests import INIT, TIMEOUT, TransactionalIdentity
from odradek.client.records.transactional_producer import (
    ACKS_ALL,
    PRODUCE_TIMEOUT,
    TransactionalProducer,
)
from odradek.coordinator.placement import partition_of
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.ports import Address
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

IDS: Final = 20_000
CONNECTIONS: Final = 64  # each begins one producer at a time
MOVES: Final = 6
QUIET_SECONDS: Final = 1.0  # before each of them
PAUSE_SECONDS: Final = 0.001  # between two questions, and between two records
PRODUCE_VERSION: Final = 9


def client_of(cluster: Cluster, name: str) -> Client:
    """One of our own."""
    return Client(ClientDeps(SystemNetwork(), SystemClock()), addresses(cluster), name)


def addresses(cluster: Cluster) -> list[Address]:
    """Of its brokers."""
    places = [it.rpartition(":") for it in cluster.bootstrap.split(",")]
    return [(host, int(port)) for host, _, port in places]


def loaded(cluster: Cluster, topic: str, partitions: int) -> Figures:
    """Each turn has a partition of its own, and ids of its own."""
    cluster.make(topic, 3)
    number = int(topic.rpartition("-")[2]) % partitions
    place = TopicPartition(TRANSACTION_STATE_TOPIC, number)
    names = list(islice(_ids(topic, number, partitions), IDS))
    return asyncio.run(_measured(cluster, topic, place, names))


def _ids(topic: str, partition: int, partitions: int) -> Iterator[str]:
    for number in count():
        name = f"{topic}-copier-{number}"
        if partition_of(name, partitions) == partition:
            yield name


async def _measured(
    cluster: Cluster, topic: str, place: TopicPartition, names: list[str]
) -> Figures:
    with ExitStack() as stack:
        client = client_of(cluster, topic)
        stack.callback(client.close)
        await TransactionalProducer(client, names[0]).begin()  # makes the state topic
        await _begin(client, place, names)
        moves = Moves(client, topic, place, names[-1])
        led = [await client.leader_id(place)]
        brokers = sorted(client.brokers)
        grown: list[float] = []
        for _ in range(MOVES):
            target = brokers[(brokers.index(led[-1]) + 1) % len(brokers)]
            before = _rss(cluster, target)
            await moves.move(target)
            if target not in led:
                grown.append(1_024 * (_rss(cluster, target) - before) / len(names))
            led.append(target)
    during, quiet = moves.told_apart()
    took = [end - began for began, end in moves.windows]
    return {
        "loaded s": median(took),
        "loaded s at most": max(took),
        "KB an id": max(grown),
        **quantiles(during, "ms loading"),
        **quantiles(quiet, "ms quiet"),
    }


def _rss(cluster: Cluster, broker: BrokerId) -> float:
    return cluster.rss()[[*cluster.brokers].index(broker)]


async def _begin(client: Client, place: TopicPartition, names: list[str]) -> None:
    """A producer of each id; a broker answers one request of a connection after the other."""
    left = iter(names)
    leader = await client.leader_id(place)
    address = client.brokers[leader].address

    async def work() -> None:
        connection = await Connection.open(*client.world, address, "begins")
        for name in left:
            asked = TransactionalIdentity(name).init(TIMEOUT, goes_on=False)

            async def attempt(asked: InitProducerIdRequest = asked) -> None:
                check((await connection.ask(asked, INIT)).error_code)

            await client.patiently(attempt)
        connection.close()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CONNECTIONS):
            tasks.create_task(work())


class Moves:
    """Of one partition of the state topic; when it was loaded, and records sent meanwhile."""

    def __init__(self, client: Client, topic: str, place: TopicPartition, name: str) -> None:
        self.windows: list[tuple[float, float]] = []
        self._records: list[tuple[float, float]] = []  # sent, and acknowledged
        self._client = client
        self._topic = topic
        self._place = place
        self._name = name  # an id of this partition
        self._is_over = False

    def told_apart(self) -> tuple[list[float], list[float]]:
        """How long records took: those under way in one of the windows, and all others."""
        during: list[float] = []
        quiet: list[float] = []
        for sent, acked in self._records:
            is_during = any(sent < end and acked > began for began, end in self.windows)
            (during if is_during else quiet).append(acked - sent)
        return during, quiet

    async def move(self, target: BrokerId) -> None:
        """Until this broker leads the partition, and has loaded it."""
        client, place = self._client, self._place
        others = [it for it in sorted(client.brokers) if it != target]
        self._is_over = False
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send(target))
            await asyncio.sleep(QUIET_SECONDS)
            asking = tasks.create_task(self._ask(target))
            await reassign(client, {place: [target, *others]})
            await elect(client, Election.PREFERRED, [place])
            async with asyncio.timeout(SETTLE_SECONDS):
                self.windows.append(await asking)
            self._is_over = True
        client.forget(place.topic)

    async def _open(self, broker: BrokerId) -> Connection:
        client = self._client
        return await Connection.open(*client.world, client.brokers[broker].address, self._topic)

    async def _ask(self, target: BrokerId) -> tuple[float, float]:
        """Until it knows the id: since when it has known that it coordinates it."""
        connection = await self._open(target)
        began = perf_counter()
        while True:
            asked = perf_counter()
            answer = await connection.ask(DescribeTransactionsRequest([self._name]))
            code = answer.transaction_states[0].error_code
            if not code:
                connection.close()
                return began, perf_counter()
            if code == ErrorCode.NOT_COORDINATOR:
                began = asked
            await asyncio.sleep(PAUSE_SECONDS)

    async def _send(self, target: BrokerId) -> None:
        """One record after the other, acknowledged by all replicas."""
        connection = await self._open(target)
        numbers = {await self._leader(it): it for it in range(3)}
        batch = build_batch([Record(0, 0, None, bytes(100))])
        data = TopicProduceData(
            self._topic, partition_data=[PartitionProduceData(numbers[target], batch)]
        )
        request = ProduceRequest(None, ACKS_ALL, PRODUCE_TIMEOUT, [data])
        while not self._is_over:
            sent = perf_counter()
            await connection.ask(request, PRODUCE_VERSION)
            self._records.append((sent, perf_counter()))
            await asyncio.sleep(PAUSE_SECONDS)
        connection.close()

    async def _leader(self, partition: int) -> BrokerId:
        return await self._client.leader_id(TopicPartition(self._topic, partition))
