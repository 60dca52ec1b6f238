"""How long each client is without an acknowledgement when a broker goes, and what it waits for.

Three brokers, one topic whose partitions each of them leads in turn, `min.insync.replicas` 2. A
client sends to every partition the next record once the last one is acknowledged (acks=all), each
as its documentation says; then a broker that is not the controller is killed (`kill -9`), stopped
(SIGTERM), paused (SIGSTOP, as a machine that hangs) or its connections are cut. The gap is the
longest time between two acknowledgements of one partition since then. What the client said itself
in that time shows what it waited for: `--log` prints it.
`python benchmarks/failover.py [--hits N] [--log] [CLIENT ...]`.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from benchmarks.in_turns import spread
from tests.live.cluster import ClusterBroker, LiveCluster

PARTITIONS: Final = 6
QUIET_SECONDS: Final = 2  # before, in which a client settles
GAP_SECONDS_MAX: Final = 30
AFTER_SECONDS: Final = 1.0  # without a gap, until the next hit
SETTINGS: Final = {"offsets.topic.replication.factor": "3"}


class Acknowledged:
    """When which partition was acknowledged, and what the client has said."""

    def __init__(self) -> None:
        self.is_over = False
        self.errors: list[str] = []
        self._last = dict.fromkeys(range(PARTITIONS), perf_counter())
        self._gaps = dict.fromkeys(range(PARTITIONS), 0.0)
        self._said: list[tuple[float, str]] = []

    def on_ack(self, partition: int) -> None:
        """One more."""
        now = perf_counter()
        self._gaps[partition] = max(self._gaps[partition], now - self._last[partition])
        self._last[partition] = now

    def on_line(self, line: str) -> None:
        """A line of the client's own log."""
        self._said.append((perf_counter(), line))

    def reset(self) -> None:
        """Gaps are counted from now on."""
        self._gaps = dict.fromkeys(range(PARTITIONS), 0.0)
        self._said.clear()

    def await_all(self, since: float) -> float:
        """Until every partition was acknowledged for a while; the longest gap."""
        end = since + GAP_SECONDS_MAX
        while perf_counter() < end:
            sleep(0.05)
            is_settled = min(self._last.values()) > perf_counter() - AFTER_SECONDS / 4
            if perf_counter() > since + AFTER_SECONDS and is_settled:
                return max(self._gaps.values())
        return float("inf")

    def said_since(self, since: float) -> Iterator[str]:
        """What the client said, in seconds from then on."""
        for at, line in self._said:
            if since <= at <= since + AFTER_SECONDS:
                yield f"{at - since:8.3f} {line}"


class _ToLines(logging.Handler):
    """What a client logs."""

    def __init__(self, told: Callable[[str], None]) -> None:
        super().__init__(logging.DEBUG)
        self._told = told

    def emit(self, record: logging.LogRecord) -> None:
        self._told(f"{record.levelname} {record.name}: {record.getMessage()}")


def librdkafka(bootstrap: str, topic: str, acked: Acknowledged, log: logging.Logger) -> None:
    """By its callbacks: one thread sends, and hears."""
    how: dict[str, Any] = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0}
    if log.isEnabledFor(logging.DEBUG):
        how["debug"] = "broker,metadata,topic"
    producer = Producer(how, logger=log)

    def send(partition: int) -> None:
        producer.produce(topic, bytes(100), partition=partition, on_delivery=on_delivery)

    def on_delivery(error: object, message: Any) -> None:
        if error is None:
            acked.on_ack(message.partition())
        else:
            acked.errors.append(str(error))
        if not acked.is_over:
            send(message.partition())

    for partition in range(PARTITIONS):
        send(partition)
    while not acked.is_over:
        producer.poll(0.05)
    producer.flush(5)


def aiokafka(bootstrap: str, topic: str, acked: Acknowledged, _: logging.Logger) -> None:
    """A task for each partition."""

    async def send(producer: AIOKafkaProducer, partition: int) -> None:
        while not acked.is_over:
            try:
                await producer.send_and_wait(topic, bytes(100), partition=partition)
            except Exception as error:  # noqa: BLE001 - it is told, and the next one is sent
                acked.errors.append(repr(error))
            else:
                acked.on_ack(partition)

    async def talk() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
        await producer.start()
        async with asyncio.TaskGroup() as tasks:
            for partition in range(PARTITIONS):
                tasks.create_task(send(producer, partition))
        await producer.stop()

    asyncio.run(talk())


def kafka_python(bootstrap: str, topic: str, acked: Acknowledged, _: logging.Logger) -> None:
    """A thread for each partition."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=0)

    def send(partition: int) -> None:
        while not acked.is_over:
            try:
                producer.send(topic, bytes(100), partition=partition).get(GAP_SECONDS_MAX)
            except Exception as error:  # noqa: BLE001 - it is told, and the next one is sent
                acked.errors.append(repr(error))
            else:
                acked.on_ack(partition)

    threads = [threading.Thread(target=send, args=(it,)) for it in range(PARTITIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.close(5)


Client = Callable[[str, str, Acknowledged, logging.Logger], None]
CLIENTS: Final[Mapping[str, Client]] = {
    "librdkafka": librdkafka,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}
LOGGERS: Final = {"librdkafka": "librdkafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}


@contextmanager
def sending(name: str, bootstrap: str, topic: str, *, is_told: bool) -> Iterator[Acknowledged]:
    """The client, in a thread of its own; its log costs it time, and is kept only if told."""
    acked = Acknowledged()
    log = logging.getLogger(LOGGERS[name])
    handler = _ToLines(acked.on_line)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG if is_told else logging.CRITICAL)
    log.propagate = False
    thread = threading.Thread(target=CLIENTS[name], args=(bootstrap, topic, acked, log))
    thread.start()
    try:
        yield acked
    finally:
        acked.is_over = True
        thread.join(GAP_SECONDS_MAX)
        log.removeHandler(handler)


def _kill(broker: ClusterBroker) -> Callable[[], None]:
    broker.kill()
    return broker.start


def _stop(broker: ClusterBroker) -> Callable[[], None]:
    broker.stop()
    return broker.start


def _pause(broker: ClusterBroker) -> Callable[[], None]:
    broker.pause()
    return broker.resume


def _cut(broker: ClusterBroker) -> Callable[[], None]:
    broker.cut()
    return lambda: None


HITS: Final[Mapping[str, Callable[[ClusterBroker], Callable[[], None]]]] = {
    "kill -9": _kill,
    "SIGTERM": _stop,
    "SIGSTOP": _pause,
    "cut": _cut,
}
"""Each returns what undoes it."""


def measure(cluster: LiveCluster, name: str, hit: str, hits: int, *, is_told: bool) -> None:
    """Prints the gaps of one client; each time it is a new client and a new topic."""
    gaps: list[float] = []
    errors: list[str] = []
    for number in range(hits):
        topic = f"{name}-{hit.replace(' ', '')}-{number}"
        brokers = sorted(cluster.brokers)
        turned = [brokers[it % 3 :] + brokers[: it % 3] for it in range(PARTITIONS)]
        cluster.place(topic, *turned, **{"min.insync.replicas": "2"})
        with sending(name, cluster.bootstrap, topic, is_told=is_told) as acked:
            sleep(QUIET_SECONDS)
            ended = next(it for it in brokers if it != cluster.controller())
            acked.reset()
            since = perf_counter()
            undo = HITS[hit](cluster.brokers[ended])
            gaps.append(acked.await_all(since))
        if is_told:
            print("\n".join(acked.said_since(since)))
        errors += acked.errors
        undo()
        cluster.await_isr(topic, 3)
    said = f", {len(errors)} errors such as {errors[0]}" if errors else ""
    print(f"{name:13} {hit:8} gap {spread(gaps)} s{said}", flush=True)


def main() -> None:
    """A row for each client and each end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clients", nargs="*", choices=[*CLIENTS, []], metavar="CLIENT")
    parser.add_argument("--hits", type=int, default=3)
    parser.add_argument("--only", choices=HITS, action="append")
    parser.add_argument("--log", action="store_true", help="what the client said in that second")
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        LiveCluster(Path(folder), 3, SETTINGS) as cluster,
    ):
        for name in chosen.clients or CLIENTS:
            for hit in chosen.only or HITS:
                measure(cluster, name, hit, chosen.hits, is_told=chosen.log)


if __name__ == "__main__":
    main()
