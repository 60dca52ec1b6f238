"""Transactions of three of our brokers beside three of Apache Kafka 3.9: one machine, in turns.

As `cluster`, with the same clients (librdkafka, which speaks version 1 of transactions); both have
a state topic of RF 3, min ISR 2. `python benchmarks/transactions.py [--pairs N] [CASE ...]`.

Bars: back to back, ten records a transaction in one partition: 2 times the transactions, p50 at
most 0.6, p99 at most 0.3, CPU at most 0.5; `-own` is a producer of ours, in version 1 on both, and
`-2` in version 2 on ours, which Kafka 3.9 does not speak: there it is version 1. 1 KB and a commit
each 100 ms: 1.5 times the messages at half the CPU. A hundred producers, each with 20 partitions in
every transaction: 1.5 times the transactions. Committed records, a tenth aborted: at least 0.95 of
what uncommitted ones are read with. The coordinator killed: the longest gap in commits at most
0.5 s. librdkafka alone waits that long before it asks who coordinates in its place; `killed-own`
has a hundred of our own producers. A coordinator of 20,000 ids moved: loaded in at most 0.4 s,
others' p99 meanwhile at most 10 ms, 1 KB an id at most. Words counted by Streams exactly once: 1.2
times the records.
"""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.broker import quantiles, used
from benchmarks.cluster import Case, Cluster, revive, run
from benchmarks.in_turns import Figures
from benchmarks.streams import counted
from benchmarks.transactions_loaded import client_of, loaded
from odradek.client.admin import features
from odradek.client.records.transaction_requests import V1, V2, Versions
from odradek.client.records.transactional_producer import TransactionalProducer
from odradek.coordinator.placement import partition_of
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition as Place
from odradek.records.record import Record

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
HUNDRED: Final = 100
HUNDRED_PARTITIONS: Final = 20
HUNDRED_SECONDS: Final = 8
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


def back_to_back_own(cluster: Cluster, topic: str) -> Figures:
    """As `back_to_back`, by a producer of ours in version 1."""
    return _back_to_back_own(cluster, topic, V1)


def back_to_back_2(cluster: Cluster, topic: str) -> Figures:
    """Likewise, in version 2 where it is spoken; a cluster is left as it was."""
    if cluster.name == "kafka":
        return _back_to_back_own(cluster, topic, V1)
    asyncio.run(_set_level(cluster, 2))
    found = _back_to_back_own(cluster, topic, V2)
    asyncio.run(_set_level(cluster, 0))
    return found


async def _set_level(cluster: Cluster, level: int) -> None:
    client = client_of(cluster, "levels")
    await features.alter(client, features.TRANSACTION_VERSION, level)
    client.close()


def _back_to_back_own(cluster: Cluster, topic: str, versions: Versions) -> Figures:
    cluster.make(topic, 1)
    took: list[float] = []

    async def work() -> None:
        client = client_of(cluster, topic)
        producer = TransactionalProducer(client, topic, versions)
        await producer.begin()
        rows = {Place(topic, 0): [Record(it, 0, None, bytes(100)) for it in range(RECORDS)]}
        for _ in range(BACK_TO_BACK):
            began = perf_counter()
            await producer.send(rows)
            await producer.commit()
            took.append(perf_counter() - began)
        client.close()

    def all_of_it() -> float:
        asyncio.run(work())
        return BACK_TO_BACK

    return used(cluster, all_of_it, "transaction") | quantiles(took, "ms")  # type: ignore[arg-type]


def hundred(cluster: Cluster, topic: str) -> Figures:
    """So many producers at once, with a record for each of twenty partitions in a transaction."""
    cluster.make(topic, HUNDRED_PARTITIONS)
    took: list[float] = []
    with ThreadPoolExecutor(HUNDRED) as threads:
        names = [f"{topic}-{number}" for number in range(HUNDRED)]
        producers = list(threads.map(partial(producer_of, cluster), names))

        def work() -> float:
            end = perf_counter() + HUNDRED_SECONDS
            for times in threads.map(partial(_to_all, topic, end), producers):
                took.extend(times)
            return len(took)

        return used(cluster, work, "transaction") | quantiles(took, "ms")  # type: ignore[arg-type]


def _to_all(topic: str, end: float, producer: Producer) -> list[float]:
    """One transaction after the other, and how long each took."""
    took = []
    while (began := perf_counter()) < end:
        producer.begin_transaction()
        for partition in range(HUNDRED_PARTITIONS):
            producer.produce(topic, bytes(100), partition=partition)
        producer.commit_transaction(30)
        took.append(perf_counter() - began)
    return took


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
            client = client_of(cluster, topic)
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
    "back-to-back-own": back_to_back_own,
    "back-to-back-2": back_to_back_2,
    "streamed": streamed,
    "hundred": hundred,
    "read": read,
    "killed": killed,
    "killed-own": killed_own,
    "loaded": partial(loaded, partitions=STATE_PARTITIONS),
    "streams": counted,
}


if __name__ == "__main__":
    run(CASES, SETTINGS)
