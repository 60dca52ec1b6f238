"""Several brokers as their users start them: processes of their own, beside a ZooKeeper of theirs.

with LiveCluster(tmp_path) as cluster:
    cluster.make("orders", partitions=6, replicas=3)
    cluster.brokers[1].kill()
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.broker_process import OdradekBroker, eventually
from tests.crash.zookeeper_process import ZookeeperProcess
from tests.external.zookeeper import free_port

PATIENCE_SECONDS: Final = 30


class ClusterBroker(OdradekBroker):
    """One of several: its number is in its settings."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, **{"broker.id": str(number), **settings})
        self.number = number

    def pause(self) -> None:
        """Its process stands still: sockets stay open, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on."""
        os.kill(self.pid, signal.SIGCONT)


class LiveCluster:
    """Brokers 1 to n and their ZooKeeper, which has a process of its own."""

    def __init__(
        self, directory: Path, brokers: int = 3, settings: Mapping[str, str] | None = None
    ) -> None:
        (directory / "zookeeper").mkdir(parents=True)
        self.zookeeper = ZookeeperProcess(directory / "zookeeper", "--port", str(free_port()))
        self._directory = directory
        self._count = brokers
        self._settings = settings or {}
        self.brokers: dict[int, ClusterBroker] = {}

    def __enter__(self) -> Self:
        self.zookeeper.start()
        host, port = self.zookeeper.address
        common = {
            "zookeeper.connect": f"{host}:{port}",
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.replication.factor": "3",
            **self._settings,
        }
        for number in range(1, self._count + 1):
            folder = self._directory / f"broker-{number}"
            self.brokers[number] = ClusterBroker(folder, number, **common)
        for broker in self.brokers.values():
            broker.start()
        return self

    def __exit__(self, *error: object) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.stop()

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients have them."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def admin(self) -> AdminClient:
        """A client of all of them."""
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def make(self, topic: str, partitions: int, replicas: int = 3, **settings: str) -> None:
        """A topic; returns once every partition is led and every replica in sync."""
        new = NewTopic(topic, partitions, replicas, config=settings)
        admin = self.admin()
        admin.create_topics([new])[topic].result(PATIENCE_SECONDS)
        self.await_isr(topic, replicas)

    def partitions(self, topic: str) -> dict[int, tuple[int, list[int]]]:
        """Leader and ISR of each partition, as a broker that lives says."""
        found = self.admin().list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
        return {number: (it.leader, sorted(it.isrs)) for number, it in found.partitions.items()}

    def await_isr(self, topic: str, count: int) -> None:
        """Until every partition has so many replicas in sync."""
        eventually(
            lambda: all(
                leader > 0 and len(isr) == count for leader, isr in self.partitions(topic).values()
            ),
            seconds=PATIENCE_SECONDS,
            what=f"{count} replicas of {topic} are in sync",
        )
