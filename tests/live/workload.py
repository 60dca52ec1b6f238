"""Producers that write all the time and remember what was acknowledged, and what is read back."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from logging import Handler, Logger, LogRecord
from time import monotonic
from typing import Any, Final, Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from odradek.model.ids import TopicPartition as Partition
from tests.compat.broker_process import eventually
from tests.live.cluster import LiveCluster

T = TypeVar("T")

PATIENCE_SECONDS: Final = 60
LOOKED_UP: Final = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE)
"""What a consumer tells its user of, and finds its way from: the coordinator has moved."""


class Log(Handler):
    """The last lines that a client says of itself."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=200)

    def emit(self, record: LogRecord) -> None:
        """One line."""
        self.lines.append(f"{record.created:.3f} {record.getMessage()}")


class SteadyProducer:
    """Sends numbered values to every partition of a topic, a round each few milliseconds.

    `gaps` says for each partition the longest time between two acknowledgements, `latencies` how
    long each record took, in seconds.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        *,
        first: int = 0,
        pause: float = 0.005,
        **settings: Any,
    ) -> None:
        self.acknowledged: dict[int, list[tuple[int | None, bytes]]] = defaultdict(list)
        self.failed: list[str] = []
        self._acknowledged_at: dict[int, float] = {}
        self.gaps: dict[int, float] = defaultdict(float)
        self.latencies: list[float] = []
        self._topic = topic
        self._partitions = range(first, first + partitions)
        self._pause = pause
        self.log = Log()
        logger = Logger(topic)  # noqa: LOG001 - of this producer alone
        logger.addHandler(self.log)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "linger.ms": 0,
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "topic.metadata.refresh.fast.interval.ms": 50,
                "request.timeout.ms": 3_000,  # a broker that hangs answers nothing
                "socket.timeout.ms": 4_000,
                "delivery.timeout.ms": 120_000,
                "debug": "eos",
                **settings,
            },
            logger=logger,
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Sends no more, and waits for what is on its way."""
        if self._thread.is_alive():
            self._stopping.set()
            self._thread.join()
            left = self._producer.flush(120)
            assert left == 0, f"{left} records were never answered"

    def count(self) -> int:
        """How many records were acknowledged."""
        return sum(map(len, self.acknowledged.values()))

    def reset(self) -> None:
        """Gaps and latencies from now on."""
        self.gaps.clear()
        self.latencies = []
        self._acknowledged_at.clear()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(self._pause):
            for partition in self._partitions:
                self._producer.produce(
                    self._topic, b"%d" % number, partition=partition, on_delivery=self._told
                )
            number += 1
            self._producer.poll(0)

    def _told(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        partition, now = message.partition(), monotonic()
        before = self._acknowledged_at.get(partition, now)
        self.gaps[partition] = max(self.gaps[partition], now - before)
        self._acknowledged_at[partition] = now
        self.latencies.append(message.latency())
        self.acknowledged[partition].append((message.offset(), message.value()))


class SteadyReader:
    """A member of a group that reads a topic and commits as it goes."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.values: dict[int, set[bytes]] = defaultdict(set)
        self.failed: list[str] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 100,
                "session.timeout.ms": 6_000,
                "reconnect.backoff.max.ms": 100,
            }
        )
        self._consumer.subscribe([topic])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def has_read(self, producer: SteadyProducer) -> bool:
        """Everything that was acknowledged."""
        return all(
            self.values[partition].issuperset(value for _, value in acknowledged)
            for partition, acknowledged in producer.acknowledged.items()
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(1_000, timeout=0.1):
                if message.error() is None:
                    self.values[message.partition()].add(message.value())
                elif not message.error().retriable() and message.error().code() not in LOOKED_UP:
                    self.failed.append(str(message.error()))


def read_all(
    bootstrap: str,
    topic: str,
    partitions: int,
    floors: Mapping[int, int] | None = None,
    **settings: Any,
) -> dict[int, list[tuple[int, bytes]]]:
    """Every record of a topic up to the high watermarks of now.

    A consumer that had to begin elsewhere than it wanted would hide a loss, so that is an error:
    logs begin at 0, or where records were deleted up to these floors or higher ones.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **settings,
        }
    )
    found: dict[int, list[tuple[int, bytes]]] = {}
    for number in range(partitions):
        low, high = _watermarks(consumer, TopicPartition(topic, number))
        assert low == 0 if floors is None else low >= floors[number], (number, low)
        consumer.assign([TopicPartition(topic, number, low)])
        read: list[tuple[int, bytes]] = []
        deadline = monotonic() + PATIENCE_SECONDS
        while high > low and (not read or read[-1][0] < high - 1):
            assert monotonic() < deadline, f"{topic}-{number} ends at {high}, read {read[-1:]}"
            for message in consumer.consume(min(1_000, high - low - len(read)), timeout=1):
                assert message.error() is None, message.error()
                read.append((message.offset(), message.value()))
        found[number] = read
    consumer.close()
    return found


def _watermarks(consumer: Consumer, where: TopicPartition) -> tuple[int, int]:
    """Asked again where the leader has just changed."""
    ask = partial(consumer.get_watermark_offsets, where, timeout=PATIENCE_SECONDS)
    found: tuple[int, int] = _asked(ask, KafkaError.NOT_LEADER_FOR_PARTITION)
    return found


def committed(bootstrap: str, group: str, topic: str, partitions: int) -> dict[int, int]:
    """By partition what a group has committed; asked again where its coordinator has changed."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    where = [TopicPartition(topic, it) for it in range(partitions)]
    try:
        rows = _asked(partial(consumer.committed, where, timeout=PATIENCE_SECONDS), *LOOKED_UP)
    finally:
        consumer.close()
    return {it.partition: it.offset for it in rows}


def _asked(ask: Callable[[], T], *passing: int) -> T:
    """What these calls of the client answer, which do not retry."""
    found: list[T] = []

    def has_answer() -> bool:
        try:
            found.append(ask())
        except KafkaException as error:
            if error.args[0].code() not in passing:
                raise
        return bool(found)

    eventually(has_answer, what=f"an answer, and none of {passing}")
    return found[0]


def check_kept(producer: SteadyProducer, found: dict[int, list[tuple[int, bytes]]]) -> None:
    """Every acknowledged record is at the offset that it was acknowledged at.

    A producer whose batch came a second time may be told only that the broker has it already.
    """
    for partition, acknowledged in producer.acknowledged.items():
        by_offset = dict(found[partition])
        values = set(by_offset.values())
        for offset, value in acknowledged:
            if offset is None:
                assert value in values, (partition, value)
            else:
                kept = by_offset.get(offset)
                assert kept == value, (partition, offset, value, kept)


def check_once(found: dict[int, list[tuple[int, bytes]]]) -> None:
    """No value is in a partition twice, and they are in their order."""
    for partition, records in found.items():
        offsets: dict[int, list[int]] = defaultdict(list)
        for offset, value in records:
            offsets[int(value)].append(offset)
        doubled = {value: them for value, them in offsets.items() if len(them) > 1}
        if doubled:
            raise Doubled(partition, [it for them in doubled.values() for it in them])
        assert list(offsets) == sorted(offsets), partition


def check_once_of(
    cluster: LiveCluster,
    topic: str,
    found: dict[int, list[tuple[int, bytes]]],
    producer: SteadyProducer,
) -> None:
    """The same; what is doubled is shown as the replicas have it, and what its producer said."""
    try:
        check_once(found)
    except Doubled as error:
        for line in cluster.batches(Partition(topic, error.partition), error.offsets):
            error.add_note(line)
        error.add_note("\n".join(producer.log.lines))
        raise


class Doubled(AssertionError):
    """Values of a partition stand at several offsets."""

    def __init__(self, partition: int, offsets: list[int]) -> None:
        super().__init__(f"partition {partition}: doubled at {offsets[:10]}")
        self.partition = partition
        self.offsets = offsets
