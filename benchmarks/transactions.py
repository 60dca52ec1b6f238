"""Transactions of three of our brokers beside three of Apache Kafka 3.9: one machine, in turns.

As `cluster`, with the same clients (librdkafka, which speaks version 1 of transactions); both have
a state topic of RF 3, min ISR 2. `python benchmarks/transactions.py [--pairs N] [CASE ...]`.

Bars: back to back, ten records a transaction in one partition: 2 times the transactions, p50 at
most 0.6, p99 at most 0.3, CPU at most 0.5. 1 KB and a commit each 100 ms: 1.5 times the messages at
half the CPU. Committed records, a tenth aborted: at least 0.95 of what uncommitted ones are read
with. The coordinator killed: the longest gap in commits at most 0.5 s. librdkafka alone waits that
long before it asks who coordinates in its place; `killed-own` has a hundred of our own producers.
"""

import asyncio
import sys
import threading
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.broker import quantiles, used
from benchmarks.cluster import Case, Cluster, revive, run
from benchmarks.in_turns import Figures
from odradek.client.cluster import ClientDeps
from odradek.client.cluster import Cluster as Client
from odradek.client.records.transaction_requests import V1
from odradek.client.records.transactional_producer import TransactionalProducer
from odradek.coordinator.placement import partition_of
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition as Place
from odradek.records.record import Record
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork

STATE_PARTITIONS: Final = 6
SETTINGS: Final = {
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
    "offsets.topic.replication.factor": "3",
}
STATE: Final = "__transaction_state"
BACK_TO_BACK: Final = 300
RECORDS: Final = 10
COMMIT_SECONDS: Final = 0.1
STREAM_SECONDS: Final = 5
READ: Final = 50_000
READ_A_TRANSACTION: Final = 100
ABORTED_ONE_IN: Final = 10
PRODUCERS: Final = 20
OWN_PRODUCERS: Final = 100
KILLED_SECONDS: Final = 12
WARM_SECONDS: Final = 2


def producer_of(cluster: Cluster, name: str, **settings: Any) -> Producer:
    """One that has its identity."""
    how = {"bootstrap.servers": cluster.bootstrap, "transactional.id": name, **settings}
    producer = Producer(how)
    producer.init_transactions(30)
    return producer


def back_to_back(cluster: Cluster, topic: str) -> Figures:
    """One behind the other, each with ten records in one partition."""
    cluster.make(topic, 1)
    producer = producer_of(cluster, topic, **{"linger.ms": 0})
    took: list[float] = []

    def work() -> float:
        for _ in range(BACK_TO_BACK):
            began = perf_counter()
            producer.begin_transaction()
            for _ in range(RECORDS):
                producer.produce(topic, bytes(100), partition=0)
            producer.commit_transaction(30)
            took.append(perf_counter() - began)
        return BACK_TO_BACK

    return used(cluster, work, "transaction") | quantiles(took, "ms")  # type: ignore[arg-type]


def streamed(cluster: Cluster, topic: str) -> Figures:
    """1 KB as fast as they are taken, and a commit each 100 ms."""
    cluster.make(topic)
    producer = producer_of(cluster, topic, **{"linger.ms": 5})

    def work() -> float:
        count, end = 0, perf_counter() + STREAM_SECONDS
        while perf_counter() < end:
            producer.begin_transaction()
            until = perf_counter() + COMMIT_SECONDS
            while perf_counter() < until:
                with suppress(BufferError):
                    producer.produce(topic, bytes(1_000))
                    count += 1
                producer.poll(0)
            producer.commit_transaction(30)
        return count

    return used(cluster, work, "message")  # type: ignore[arg-type]


def read(cluster: Cluster, topic: str) -> Figures:
    """All records of transactions of a hundred, one in ten of which is aborted."""
    cluster.make(topic)
    producer = producer_of(cluster, topic, **{"linger.ms": 5})
    for number in range(READ // READ_A_TRANSACTION):
        producer.begin_transaction()
        for _ in range(READ_A_TRANSACTION):
            producer.produce(topic, bytes(1_000))
        if number % ABORTED_ONE_IN:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    kept = READ - READ // ABORTED_ONE_IN
    plain = used(cluster, lambda: _read(cluster, topic, "read_uncommitted", READ), "any")  # type: ignore[arg-type]
    committed = used(cluster, lambda: _read(cluster, topic, "read_committed", kept), "committed")  # type: ignore[arg-type]
    return {**committed, **plain}


def _read(cluster: Cluster, topic: str, isolation: str, count: int) -> float:
    """From the beginning; what is read is as much as was written, whoever sees it."""
    how = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": f"{topic}-{isolation}",
        "isolation.level": isolation,
        "enable.auto.commit": False,
    }
    consumer = Consumer(how)
    consumer.assign([TopicPartition(topic, it, 0) for it in range(6)])
    found = 0
    while found < count:
        found += len(consumer.consume(1_000, 10))
    consumer.close()
    return READ


def killed(cluster: Cluster, topic: str) -> Figures:
    """A coordinator is killed under twenty producers: how long one of them commits nothing."""
    cluster.make(topic)
    names = [f"{topic}-{number}" for number in range(PRODUCERS)]
    producers = [producer_of(cluster, name, **{"linger.ms": 0}) for name in names]
    moments: dict[str, list[float]] = {name: [] for name in names}
    began = perf_counter()
    until = began + KILLED_SECONDS
    threads = [
        threading.Thread(target=_commit, args=(producer, topic, moments[name], until))
        for name, producer in zip(names, producers, strict=True)
    ]
    for thread in threads:
        thread.start()
    threads[0].join(WARM_SECONDS)
    ended = _kill_coordinator(cluster, names[0])
    for thread in threads:
        thread.join()
    end = perf_counter()
    revive(cluster, ended)
    cluster.await_isr(topic, 3)
    gaps = [
        after - before
        for commits in moments.values()
        for before, after in pairwise([began, *commits, end])
    ]
    return {"gap s": max(gaps), "commits": float(sum(map(len, moments.values())))}


def _commit(producer: Producer, topic: str, moments: list[float], end: float) -> None:
    """One transaction after the other; one that cannot be committed is aborted."""
    while perf_counter() < end:
        try:
            producer.begin_transaction()
            producer.produce(topic, bytes(100))
            producer.commit_transaction(30)
            moments.append(perf_counter())
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            producer.abort_transaction(30)


def _kill_coordinator(cluster: Cluster, name: str) -> int:
    rows = cluster.admin().list_topics(STATE, timeout=30).topics[STATE].partitions
    ended = int(rows[partition_of(name, STATE_PARTITIONS)].leader)
    cluster.brokers[ended].kill()
    return ended


def killed_own(cluster: Cluster, topic: str) -> Figures:
    """As `killed`, under a hundred producers of ours, which ask again as soon as that may help."""
    cluster.make(topic)
    ended, killed_at, moments = asyncio.run(_commit_own(cluster, topic))
    revive(cluster, ended)
    cluster.await_isr(topic, 3)
    gaps = [pair for commits in moments for pair in pairwise(commits)]
    before = [after - first for first, after in gaps if after < killed_at]
    return {
        "gap s": max(after - first for first, after in gaps),
        "gap s before": max(before),
        "commits": float(sum(map(len, moments))),
    }


async def _commit_own(cluster: Cluster, topic: str) -> tuple[int, float, list[list[float]]]:
    """All on one loop; whom it has killed and when, and when each of them had committed."""
    places = [it.rpartition(":") for it in cluster.bootstrap.split(",")]
    addresses = [(host, int(port)) for host, _, port in places]
    moments: list[list[float]] = [[] for _ in range(OWN_PRODUCERS)]
    end = asyncio.Event()

    async def commit(number: int, producer: TransactionalProducer) -> None:
        rows = {Place(topic, number % 6): [Record(0, 0, None, bytes(100))]}
        while not end.is_set():
            try:
                await producer.send(rows)
                await producer.commit()
                moments[number].append(perf_counter())
            except BrokerError:
                await producer.abort()

    with ExitStack() as stack:
        producers = []
        for number in range(OWN_PRODUCERS):
            client = Client(ClientDeps(SystemNetwork(), SystemClock()), addresses, topic)
            stack.callback(client.close)
            producers.append(TransactionalProducer(client, f"{topic}-{number}", V1))
        await asyncio.gather(*(it.begin() for it in producers))
        async with asyncio.TaskGroup() as tasks:
            for number, producer in enumerate(producers):
                tasks.create_task(commit(number, producer))
            await asyncio.sleep(WARM_SECONDS)
            ended = await asyncio.to_thread(_kill_coordinator, cluster, f"{topic}-0")
            killed_at = perf_counter()
            await asyncio.sleep(KILLED_SECONDS - WARM_SECONDS)
            end.set()
    return ended, killed_at, moments


CASES: Final[dict[str, Case]] = {
    "back-to-back": back_to_back,
    "streamed": streamed,
    "read": read,
    "killed": killed,
    "killed-own": killed_own,
}


if __name__ == "__main__":
    run(CASES, SETTINGS)
