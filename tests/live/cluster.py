"""Several brokers as their users start them: processes of their own, beside a ZooKeeper of theirs.

with LiveCluster(tmp_path) as cluster:
    cluster.make("orders", partitions=6, replicas=3)
    cluster.brokers[1].kill()
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.model.ids import TopicPartition
from odradek.records.batch import headers
from tests.compat.broker_process import Broker, OdradekBroker, eventually
from tests.crash.zookeeper_process import ZookeeperProcess
from tests.external.kafka import RealKafka
from tests.external.ports import free_port
from tests.external.zookeeper import RealZookeeper
from tests.live.connections import cut_connections

PATIENCE_SECONDS: Final = 60
TICK_MS: Final = 500  # a session lasts 1 s at least, 10 s at most
LOG_CHARACTERS: Final = 6_000  # of the end of a broker's log
PASSING_ERRORS: Final = {KafkaError.NOT_CONTROLLER, KafkaError.INVALID_REPLICATION_FACTOR}


class ClusterBroker(OdradekBroker):
    """One of several: its number is in its settings."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, **{"broker.id": str(number), **settings})
        self.number = number

        self.is_paused = False

    @property
    def pages(self) -> str:
        """The address of its /metrics, if it has one."""
        return self._settings["admin.listener"]

    def pause(self) -> None:
        """Its process stands still: sockets stay open, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """It goes on."""
        os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def cut(self) -> None:
        """Every connection of its process breaks; what it listens on stays."""
        cut_connections(self.pid)


class LiveCluster:
    """Brokers 1 to n and their ZooKeeper, which has a process of its own.

    `zookeeper` is a real one, if there shall be one. Its sessions may be short. A `#` in a setting
    stands for the broker's number, a `@` for a free port of its own.
    """

    kind: Callable[..., ClusterBroker] = ClusterBroker
    kind_of_kafka: Callable[..., RealKafka] = RealKafka

    def __init__(
        self,
        directory: Path,
        brokers: int = 3,
        settings: Mapping[str, str] | None = None,
        zookeeper: RealZookeeper | OwnZookeeper | None = None,
    ) -> None:
        directory.mkdir(exist_ok=True)
        self.zookeeper = OwnZookeeper(directory / "zookeeper") if zookeeper is None else zookeeper
        self._directory = directory
        self._count = brokers
        self._settings = {
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.replication.factor": "3",
            **(settings or {}),
        }
        self.brokers: dict[int, ClusterBroker] = {}
        self.kafkas: dict[int, RealKafka] = {}

    def __enter__(self) -> Self:
        self.zookeeper.start()
        self.add(*range(1, self._count + 1))
        return self

    def __exit__(self, *error: object) -> None:
        for broker in self.all.values():
            broker.kill()
        self.zookeeper.stop()
        for number, broker in self.brokers.items():
            said = broker.log()
            assert "loop.mistake" not in said, f"broker {number}:\n{said[-LOG_CHARACTERS:]}"

    def add(self, *numbers: int) -> None:
        """Starts brokers of ours, at once."""
        settings = {**self._settings, "zookeeper.connect": self.zookeeper.connect_string}
        for number in numbers:
            folder = self._directory / f"broker-{number}"
            mine = {name: value.replace("#", str(number)) for name, value in settings.items()}
            mine = {name: value.replace("@", str(free_port())) for name, value in mine.items()}
            self.brokers[number] = self.kind(folder, number, **mine)
            self.brokers[number].launch()
        for number in numbers:
            self.brokers[number].await_start()

    def add_kafka(self, number: int, classpath: str) -> RealKafka:
        """Starts a broker of Kafka's."""
        kafka = self.kafkas[number] = self.kind_of_kafka(
            classpath,
            self._directory / f"kafka-{number}",
            self.zookeeper.connect_string,
            number,
            settings=self._settings,
        )
        kafka.start()
        return kafka

    @property
    def all(self) -> Mapping[int, Broker]:
        """Ours and Kafka's."""
        return {**self.brokers, **self.kafkas}

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients have them."""
        return ",".join(broker.bootstrap for broker in self.all.values())

    def admin(self) -> AdminClient:
        """A client of all that are awake: it would wait for one that is not."""
        awake = [broker.bootstrap for broker in self.brokers.values() if not broker.is_paused]
        awake += [broker.bootstrap for broker in self.kafkas.values()]
        return AdminClient({"bootstrap.servers": ",".join(awake)})

    def make(self, topic: str, partitions: int, replicas: int = 3, **settings: str) -> None:
        """A topic; returns once every partition is led and every replica in sync."""
        self._make(NewTopic(topic, partitions, replicas, config=settings))
        self.await_isr(topic, replicas)

    def place(self, topic: str, *assignments: list[int], **settings: str) -> None:
        """A topic whose replicas are on these brokers; returns once all are in sync."""
        replicas = list(assignments)
        self._make(NewTopic(topic, len(replicas), replica_assignment=replicas, config=settings))
        self.await_isr(topic, len(assignments[0]))

    def _make(self, topic: NewTopic) -> None:
        """Asks again while the controller changes, which Java's client does by itself.

        And while brokers are missing: those whose sessions have ended come back one by one.
        """

        def is_made() -> bool:
            admin = self.admin()  # anew: it would ask the controller of before
            try:
                admin.create_topics([topic])[topic.topic].result(PATIENCE_SECONDS)
            except KafkaException as refusal:
                if refusal.args[0].code() not in PASSING_ERRORS:
                    raise
                return False
            return True

        eventually(is_made, seconds=PATIENCE_SECONDS, what=f"{topic.topic} is not made")

    def drop(self, topic: str) -> None:
        """Deletes a topic."""
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(PATIENCE_SECONDS)

    def controller(self) -> int:
        """As a broker that lives says."""
        found: int = self.admin().list_topics(timeout=PATIENCE_SECONDS).controller_id
        return found

    def partitions(self, topic: str) -> dict[int, tuple[int, list[int]]]:
        """Leader and ISR of each partition, as a broker that lives says."""
        found = self.admin().list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
        return {number: (it.leader, sorted(it.isrs)) for number, it in found.partitions.items()}

    def await_isr(self, *topics_and_count: str | int) -> None:
        """Until every partition of these topics has so many replicas in sync."""
        *topics, count = topics_and_count
        what = f"has {count} replicas in sync"
        self._await_all(topics, lambda leader, isr: leader > 0 and len(isr) == count, what)

    def await_gone(self, number: int, *topics: str) -> None:
        """Until no partition of these topics is led by this broker or has it in sync."""

        def is_gone(leader: int, isr: list[int]) -> bool:
            return leader > 0 and leader != number and number not in isr

        self._await_all(topics, is_gone, f"has broker {number} in its ISR no more")

    def _await_all(
        self, topics: Iterable[Any], is_so: Callable[[int, list[int]], bool], what: str
    ) -> None:
        """A broker that has not heard of a topic knows none of its partitions."""
        for topic in topics:

            def all_are(topic: str = topic) -> bool:
                states = self.partitions(topic).values()
                return bool(states) and all(is_so(*it) for it in states)

            eventually(all_are, seconds=PATIENCE_SECONDS, what=f"{topic} {what}")

    def logs(self) -> str:
        """The last lines of every broker, for who asks why something did not happen."""
        brokers = self.brokers.items()
        return "\n".join(f"broker {it}:\n{each.log()[-LOG_CHARACTERS:]}" for it, each in brokers)

    def log_of(self, number: int, partition: TopicPartition) -> bytes:
        """The record batches of this replica, as they stand in its files."""
        (folder,) = self._folder(number).glob(f"*/{partition}")
        return b"".join(file.read_bytes() for file in sorted(folder.glob("*.log")))

    def batches(self, partition: TopicPartition, offsets: Collection[int]) -> Iterator[str]:
        """The headers of those batches that hold these records, in each replica that is in sync."""
        for number in self.partitions(partition.topic)[partition.partition][1]:
            for _, it in headers(self.log_of(number, partition)):
                if any(it.base_offset <= offset <= it.last_offset for offset in offsets):
                    yield (
                        f"broker {number}: {it.base_offset} to {it.last_offset}, leader epoch "
                        f"{it.leader_epoch}, producer {it.producer_id} epoch {it.producer_epoch}, "
                        f"sequence {it.base_sequence}"
                    )

    def check_replicas_equal(self, *topics: str) -> None:
        """Byte for byte. Nothing is written any more, and all replicas are in sync."""
        for topic in topics:
            assert self._equal_bytes(topic, {}), f"{topic} is empty"

    def check_replicas_equal_from(self, topic: str, starts: Mapping[int, int]) -> None:
        """The same of the batches that begin there or later: below, segments go one by one."""
        self._equal_bytes(topic, starts)

    def _equal_bytes(self, topic: str, starts: Mapping[int, int]) -> int:
        size = 0
        for number, (_, isr) in self.partitions(topic).items():
            partition, start = TopicPartition(topic, number), starts.get(number, 0)
            first, *others = (_begin(self.log_of(it, partition), start) for it in isr)
            assert [other == first for other in others] == [True] * len(others), partition
            size += len(first)
        return size

    def _folder(self, number: int) -> Path:
        name = f"kafka-{number}" if number in self.kafkas else f"broker-{number}"
        return self._directory / name


def _begin(log: bytes, start: int) -> bytes:
    """Without the batches that begin below this offset."""
    at = 0
    while at < len(log):
        base, size = struct.unpack_from(">qi", log, at)
        if base >= start:
            break
        at += 12 + size
    return log[at:]


class OwnZookeeper(ZookeeperProcess):
    """Our own server, with a port that it keeps from life to life."""

    def __init__(self, directory: Path, tick_ms: int = TICK_MS) -> None:
        directory.mkdir()
        super().__init__(directory, "--port", str(free_port()), "--tick-time", str(tick_ms))

    @property
    def connect_string(self) -> str:
        """As `zookeeper.connect` has it."""
        host, port = self.address
        return f"{host}:{port}"
