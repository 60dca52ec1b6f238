"""Our broker beside Apache Kafka 3.9 in ZooKeeper mode: the same clients, one machine, one run.

Both run all the time; each case is done by one and then by the other, in pairs (`in_turns`), which
also say what the machine was like. The JVM is warmed up by the first pair, which is shown apart.
CPU seconds are the servers', from the kernel's books.
`python benchmarks/broker.py [--pairs N] [CASE ...]`.
`--before DIR` takes, in Kafka's place, our broker as it is in another working tree.

Bars, replication factor 1, acks=1: produce at least 1.2 times Kafka's throughput (100 B: 1.0), user
CPU at most 0.8 of Kafka's, system at most 1.0; consume at least 1.0, CPU at most 0.9; 50 raw
connections with one 100 B request each at least 1.0 times the requests, at most 0.75 of the CPU; 50
producers at least 1.0 times the requests, p99 at most 0.5; 1,000 messages a second: p50 at most
0.8, p99 and p99.9 at most 1.0, and p99 at most 0.3 ms for a raw client; start at most 0.6 s and 0.3
of Kafka's; memory at most 70 MB idle and 160 MB after the load.
"""

import argparse
import compileall
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.in_turns import Figures, in_turns, told
from odradek.records.batch import headers
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.schema import Request
from tests.compat.broker_process import Broker, KafkaBroker, OdradekBroker
from tests.external import tools

TICKS: Final = os.sysconf("SC_CLK_TCK")
RAW_SECONDS: Final = 4
RAW_CONNECTIONS: Final = 50
PACED_SECONDS: Final = 5
PACE: Final = 1_000
MESSAGES: Final = 400_000  # of 1 KB in a case
SIX_PARTITIONS: Final = {"num.partitions": "6"}
FETCH_SETTINGS: Final = {"fetch.queue.backoff.ms": 1, "fetch.min.bytes": 1}


class Server(NamedTuple):
    """One of the two."""

    name: str
    broker: Broker

    @property
    def pid(self) -> int:
        """Of its process."""
        process = self.broker._process  # type: ignore[attr-defined]  # noqa: SLF001 - whose else
        return int(process.pid)

    def cpu(self) -> tuple[float, float]:
        """User and system seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return int(fields[11]) / TICKS, int(fields[12]) / TICKS

    def rss(self) -> float:
        """Megabytes."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1_024
        return 0.0


Case = Callable[[Server, str], Figures]


def used(server: Server, work: Callable[[], float], unit: str) -> Figures:
    """What the server spent on some work, per unit of it."""
    user, system = server.cpu()
    began = perf_counter()
    count = work()
    took = perf_counter() - began
    user_after, system_after = server.cpu()
    return {
        f"{unit}/s": count / took,
        f"user us/{unit}": (user_after - user) / count * 1e6,
        f"system us/{unit}": (system_after - system) / count * 1e6,
    }


def make(server: Server, topic: str, partitions: int = 6) -> None:
    """A topic."""
    admin = AdminClient({"bootstrap.servers": server.broker.bootstrap})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(30)


def produce(server: Server, topic: str, size: int, count: int, **settings: Any) -> float:
    """So many messages by one librdkafka producer."""
    producer = Producer(
        {
            "bootstrap.servers": server.broker.bootstrap,
            "acks": 1,
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 500_000,
            "queue.buffering.max.kbytes": 1 << 20,
            **settings,
        }
    )
    value = os.urandom(size // 2) + bytes(size - size // 2)
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
            except BufferError:
                producer.poll(0.01)
                continue
            break
    assert producer.flush(120) == 0, "not all was delivered"
    return count


def case_produce(size: int, count: int, **settings: Any) -> Case:
    """One producer, six partitions."""

    def case(server: Server, topic: str) -> Figures:
        make(server, topic)
        return used(server, lambda: produce(server, topic, size, count, **settings), "message")

    return case


def case_consume(server: Server, topic: str) -> Figures:
    """1 KB from the page cache, by librdkafka."""
    make(server, topic)
    produce(server, topic, 1_000, MESSAGES)
    return used(server, lambda: consume(server, topic, MESSAGES), "message")


def case_tail(server: Server, topic: str) -> Figures:
    """1 KB as it is written: a consumer that keeps up with a producer. CPU is that of both."""
    make(server, topic)

    def both() -> float:
        producer = threading.Thread(target=produce, args=(server, topic, 1_000, MESSAGES // 2))
        producer.start()
        count = consume(server, topic, MESSAGES // 2)
        producer.join()
        return count

    return used(server, both, "message")


def consume(server: Server, topic: str, count: int, **settings: Any) -> float:
    """So many messages from the beginning on, by one librdkafka consumer."""
    where = {"bootstrap.servers": server.broker.bootstrap, "group.id": "g"}
    consumer = Consumer({**where, **FETCH_SETTINGS, **settings})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(6)])
    taken = 0
    while taken < count:
        taken += len(consumer.consume(10_000, 1))
    consumer.close()
    return taken


def case_raw(server: Server, topic: str) -> Figures:
    """50 connections, each with one request of 100 B in flight."""
    make(server, topic, 1)
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(100))])
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    frame = raw_frame(ProduceRequest(None, 1, 30_000, data), 7)
    host, _, port = server.broker.bootstrap.partition(":")
    poll, socks = select.epoll(), {}
    for _ in range(RAW_CONNECTIONS):
        sock = socket.create_connection((host, int(port)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        socks[sock.fileno()] = sock
        poll.register(sock.fileno(), select.EPOLLIN)
    latencies: list[float] = []

    def drive() -> float:
        sent = dict.fromkeys(socks, perf_counter())
        for sock in socks.values():
            sock.send(frame)
        end = perf_counter() + RAW_SECONDS
        while perf_counter() < end:
            for fd, _ in poll.poll(1):
                socks[fd].recv(4_096)
                now = perf_counter()
                latencies.append(now - sent[fd])
                sent[fd] = now
                socks[fd].send(frame)
        return len(latencies)

    figures = used(server, drive, "request")
    for sock in socks.values():
        sock.close()
    return figures | quantiles(latencies, "ms")


def case_java(server: Server, topic: str) -> Figures:
    """1 KB from Kafka's ProducerPerformance, then to its ConsumerPerformance.

    Each tool says itself how fast it was: its JVM's start does not count. What is consumed was
    spread evenly before: this consumer asks again for a partition that has ended, and takes nothing
    else until the broker's wait is over, from any broker.
    """
    make(server, topic)
    make(server, f"{topic}-even")
    fill_evenly(server, f"{topic}-even")
    bootstrap = f"bootstrap.servers={server.broker.bootstrap}"
    size = ("--num-records", str(MESSAGES), "--record-size", "1000", "--throughput", "-1")
    how = ("--producer-props", bootstrap, "acks=1", "linger.ms=5", "batch.size=131072")
    said = java("ProducerPerformance", "--topic", topic, *size, *how)
    sent = float(said.splitlines()[-1].split(", ")[1].split()[0])
    bounds = ("--bootstrap-server", server.broker.bootstrap, "--messages", str(MESSAGES))
    how = ("--topic", f"{topic}-even", "--hide-header", "--timeout", "60000")
    said = java("ConsumerPerformance", *bounds, *how)
    return {"produced/s": sent, "consumed/s": float(said.split(", ")[9])}


def fill_evenly(server: Server, topic: str) -> None:
    """All messages, to one partition after the other."""
    how = {"acks": 1, "linger.ms": 5, "queue.buffering.max.messages": MESSAGES + 1}
    producer = Producer({"bootstrap.servers": server.broker.bootstrap, **how})
    for number in range(MESSAGES):
        producer.produce(topic, bytes(1_000), partition=number % 6)
        producer.poll(0)
    assert producer.flush(120) == 0, "not all was delivered"


def java(tool: str, *arguments: str) -> str:
    """What one of Kafka's tools prints."""
    main = f"org.apache.kafka.tools.{tool}"
    command = [tools.java(), "-Xmx512m", "-cp", tools.kafka_classpath(), main, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=180).stdout


def case_paced(server: Server, topic: str) -> Figures:
    """1,000 messages a second of 1 KB, linger 0: until acknowledged, and until read."""
    make(server, topic, 1)
    acked: list[float] = []
    read: list[float] = []
    bootstrap = server.broker.bootstrap
    producer = Producer({"bootstrap.servers": bootstrap, "acks": 1, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", **FETCH_SETTINGS})
    consumer.assign([TopicPartition(topic, 0, 0)])
    total, stop = PACE * PACED_SECONDS, threading.Event()

    def follow() -> None:
        while not stop.is_set() and len(read) < total:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                read.append(perf_counter() - float(message.value()[:20]))

    follower = threading.Thread(target=follow)
    follower.start()
    user, system = server.cpu()
    began = perf_counter()
    for number in range(total):
        while perf_counter() < began + number / PACE:
            producer.poll(0.0002)
        sent = perf_counter()

        def on_delivery(error: object, message: object, sent: float = sent) -> None:
            del message
            if error is None:
                acked.append(perf_counter() - sent)

        producer.produce(topic, f"{sent:020.9f}".encode() + bytes(980), on_delivery=on_delivery)
        producer.poll(0)
    producer.flush(10)
    sleep(0.3)
    stop.set()
    follower.join()
    user_after, system_after = server.cpu()
    consumer.close()
    busy = (user_after - user + system_after - system) / PACED_SECONDS
    return quantiles(acked, "ms acked") | quantiles(read, "ms read") | {"core share": busy}


def case_paced_raw(server: Server, topic: str) -> Figures:
    """The same without a client library: one socket produces, one waits for what comes."""
    make(server, topic, 1)
    host, _, port = server.broker.bootstrap.partition(":")
    producer, reader = (socket.create_connection((host, int(port))) for _ in range(2))
    for sock in (producer, reader):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    batch = build_batch([Record(0, 1_700_000_000_000, None, bytes(1_000))])
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    produce = raw_frame(ProduceRequest(None, 1, 30_000, data), 7)
    poll = select.epoll()
    poll.register(producer.fileno(), select.EPOLLIN)
    poll.register(reader.fileno(), select.EPOLLIN)
    acked: list[float] = []
    read: list[float] = []
    sent_at: list[float] = []
    total = PACE * PACED_SECONDS
    reader.sendall(raw_fetch(topic, 0))
    began = perf_counter()
    while len(acked) < total or len(read) < total:
        if len(acked) == len(sent_at) < total and (perf_counter() >= began + len(sent_at) / PACE):
            sent_at.append(perf_counter())
            producer.sendall(produce)
        for fd, _ in poll.poll(0.0002):
            if fd == producer.fileno():
                producer.recv(4_096)
                acked.append(perf_counter() - sent_at[-1])
            else:
                answer = raw_answer(reader)
                now = perf_counter()
                (row,) = read_response(FetchResponse, 11, answer)[1].responses[0].partitions
                assert not isinstance(row.records, list)
                for _ in headers(row.records or b""):
                    read.append(now - sent_at[len(read)])
                reader.sendall(raw_fetch(topic, len(read)))
    producer.close()
    reader.close()
    return quantiles(acked, "ms acked") | quantiles(read, "ms read")


def raw_frame(request: Request, version: int) -> bytes:
    """A whole request."""
    return b"".join(request_frame(request, version, 1, "raw"))  # type: ignore[arg-type]


def raw_fetch(topic: str, offset: int) -> bytes:
    """A request that waits for one byte."""
    wanted = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    return raw_frame(request, 11)


def raw_answer(sock: socket.socket) -> bytearray:
    """A whole answer, without its length."""
    left = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
    return bytearray(sock.recv(left, socket.MSG_WAITALL))


def case_many(server: Server, topic: str) -> Figures:
    """50 librdkafka producers, linger 0, one request of at most ten messages in flight each.

    One thread fills all their queues, so that their own threads, and not the interpreter, decide
    how fast requests are sent. Round trips are as librdkafka counts them.
    """
    make(server, topic, 6)
    requests: dict[int, int] = {}
    windows: list[tuple[float, float]] = []  # p50 and p99 of the round trips in a second

    def told(number: int, said: str) -> None:
        for broker in json.loads(said)["brokers"].values():
            if broker["nodeid"] >= 0 and broker["rtt"]["cnt"]:
                requests[number] = broker["tx"]
                windows.append((broker["rtt"]["p50"] / 1e6, broker["rtt"]["p99"] / 1e6))

    how = {
        "bootstrap.servers": server.broker.bootstrap,
        "acks": 1,
        "linger.ms": 0,
        "batch.num.messages": 10,
        "max.in.flight.requests.per.connection": 1,
        "queue.buffering.max.messages": 1_000,
        "statistics.interval.ms": 1_000,
    }
    producers = [Producer({**how, "stats_cb": partial(told, number)}) for number in range(50)]

    def drive() -> float:
        stop = perf_counter() + RAW_SECONDS
        while perf_counter() < stop:
            for producer in producers:
                with suppress(BufferError):
                    for _ in range(10):
                        producer.produce(topic, bytes(100))
                producer.poll(0)
        for producer in producers:
            producer.flush(10)
        return sum(requests.values())

    figures = used(server, drive, "request")
    p50s, p99s = zip(*windows, strict=True)
    return figures | {"p50 ms": 1_000 * median(p50s), "p99 ms": 1_000 * median(p99s)}


def case_topics(server: Server, topic: str) -> Figures:
    """1,000 topics of one partition, in one request; and how busy the server is afterwards."""
    admin = AdminClient({"bootstrap.servers": server.broker.bootstrap})
    began = perf_counter()
    wanted = [NewTopic(f"{topic}-{number}", 1, 1) for number in range(1_000)]
    for future in admin.create_topics(wanted, operation_timeout=60, request_timeout=90).values():
        future.result(90)
    took = perf_counter() - began
    sleep(2)
    before = sum(server.cpu())
    sleep(5)
    idle = (sum(server.cpu()) - before) / 5
    for future in admin.delete_topics([it.topic for it in wanted], request_timeout=90).values():
        future.result(90)
    return {"seconds": took, "idle core share": idle}


def case_start(server: Server, topic: str) -> Figures:
    """From the start of the process to the first acknowledged record."""
    server.broker.stop()
    began = perf_counter()
    server.broker.start()
    produce(server, topic, 100, 1)
    return {"seconds": perf_counter() - began, "RSS MB": server.rss()}


CASES: Final[dict[str, Case]] = {
    "raw": case_raw,
    "1kb": case_produce(1_000, MESSAGES),
    "100b": case_produce(100, 2 * MESSAGES),
    "lz4": case_produce(
        1_000, MESSAGES, **{"compression.type": "lz4", "enable.idempotence": True, "acks": "all"}
    ),
    "consume": case_consume,
    "tail": case_tail,
    "java": case_java,
    "paced": case_paced,
    "paced-raw": case_paced_raw,
    "many": case_many,
    "topics": case_topics,
    "start": case_start,
}


def quantiles(values: Sequence[float], unit: str) -> Figures:
    """The middle and the tail, in milliseconds."""
    ordered = sorted(values)
    return {
        f"p{share * 100:g} {unit}": ordered[int(len(ordered) * share)] * 1e3
        for share in (0.5, 0.99, 0.999)
    }


def main() -> None:
    """In turns; our bytecode is there, as where it was installed."""
    compileall.compile_dir(str(Path(__file__).parents[1] / "src"), quiet=1)
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="DIR", help="a working tree, not Kafka")
    chosen = parser.parse_args()
    KafkaBroker.options = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
    with tempfile.TemporaryDirectory() as directory:
        ours = OdradekBroker(Path(directory) / "odradek", **SIX_PARTITIONS)
        servers = (Server("odradek", ours), other(Path(directory), chosen.before))
        for server in servers:
            server.broker.start()
            print(f"{server.name}: {server.rss():.0f} MB when idle")
        try:
            for name in chosen.cases or CASES:
                compare(name, servers, chosen.pairs)
        finally:
            for server in servers:
                print(f"{server.name}: {server.rss():.0f} MB in the end")
                server.broker.stop()


def other(directory: Path, before: Path | None) -> Server:
    """Kafka, or ourselves as we were."""
    if before is None:
        return Server("kafka", KafkaBroker(directory / "kafka"))
    compileall.compile_dir(str(before / "src"), quiet=1)
    broker = OdradekBroker(directory / "before", **SIX_PARTITIONS)
    broker.source = before / "src"
    return Server("before", broker)


def compare(name: str, servers: tuple[Server, Server], pairs: int) -> None:
    """One case: the figures of both, and the ratios of ours to the other's."""
    ours, theirs = (partial(_turn, server, name) for server in servers)
    print("\n" + told(name, in_turns(ours, theirs, pairs), ("ours", servers[1].name)), flush=True)


def _turn(server: Server, name: str, number: int) -> Figures:
    return CASES[name](server, f"{name}-{number}")


if __name__ == "__main__":
    main()
