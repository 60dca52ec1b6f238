"""Everything that can happen to a process happens under load, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final, Self

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from tests.compat.broker_process import eventually
from tests.compat.java_clients import fresh
from tests.external.zookeeper import RealZookeeper
from tests.live.cluster import LiveCluster
from tests.live.connections import cut_connections
from tests.live.workload import SteadyProducer, SteadyReader, check_kept, check_once, read_all

PARTITIONS: Final = 6
SETTINGS: Final = {"zookeeper.session.timeout.ms": "1500"}


class Load:
    """Producers of both kinds, and a group that reads, while something fails.

    One broker leads all partitions; `ends` checks what they have written.
    """

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.topics = (fresh("plain"), fresh("idempotent"))
        for topic in self.topics:
            cluster.place(topic, *[sorted(cluster.brokers)] * PARTITIONS)
        at, (plain, idempotent) = cluster.bootstrap, self.topics
        self._plain = SteadyProducer(at, plain, PARTITIONS)
        self._counting = SteadyProducer(at, idempotent, PARTITIONS, **{"enable.idempotence": True})
        self._reader = SteadyReader(at, plain, fresh("readers"))
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for part in (self._plain, self._counting, self._reader):
            self._stack.enter_context(part)
        self.goes_on()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def goes_on(self) -> None:
        """In every partition, whoever leads it now."""
        for topic, producer in zip(self.topics, (self._plain, self._counting), strict=True):
            before = {number: len(producer.acknowledged[number]) for number in range(PARTITIONS)}
            try:
                eventually(
                    lambda: all(
                        len(producer.acknowledged[number]) > count  # noqa: B023
                        for number, count in before.items()  # noqa: B023
                    ),
                    what="producers go on",
                )
            except AssertionError as error:
                now = {number: len(producer.acknowledged[number]) for number in before}
                error.add_note(f"{topic}: acknowledged {before}, then {now}")
                error.add_note(self.cluster.logs())
                raise

    def goes_on_without(self, number: int) -> None:
        """This broker leads nothing, and nobody waits for it."""
        self.cluster.await_gone(number, *self.topics)
        self.goes_on()

    def goes_on_with_all(self) -> None:
        """Every replica is in sync again."""
        self.cluster.await_isr(*self.topics, len(self.cluster.brokers))
        self.goes_on()

    def ends(self) -> None:
        """Every acknowledged record is there, once if the producer counts; replicas are equal."""
        for producer in (self._plain, self._counting):
            producer.stop()
            assert not producer.failed
        eventually(lambda: self._reader.has_read(self._plain), what="the group has read everything")
        assert not self._reader.failed
        plain, idempotent = self.topics
        check_kept(self._plain, read_all(self.cluster.bootstrap, plain, PARTITIONS))
        found = read_all(self.cluster.bootstrap, idempotent, PARTITIONS)
        check_kept(self._counting, found)
        check_once(found)
        self.cluster.check_replicas_equal(*self.topics)

    def controller(self) -> int:
        """It follows, or leads all."""
        return self.cluster.controller()

    def leader(self) -> int:
        """Of all partitions."""
        return self.cluster.partitions(self.topics[0])[0][0]

    def follower(self) -> int:
        """One that leads nothing, and is not the controller if another one is not."""
        rest = set(self.cluster.brokers) - {self.leader()}
        return min(rest - {self.controller()} or rest)


def dies(load: Load, number: int) -> None:
    """SIGKILL: the controller sees it at once."""
    load.cluster.brokers[number].kill()
    load.goes_on_without(number)
    load.cluster.brokers[number].start()


def stops(load: Load, number: int) -> None:
    """SIGTERM: what it leads is moved first."""
    load.cluster.brokers[number].stop()
    load.goes_on_without(number)
    load.cluster.brokers[number].start()


def hangs(load: Load, number: int) -> None:
    """SIGSTOP: its session ends; what wakes up finds itself replaced."""
    load.cluster.brokers[number].pause()
    load.goes_on_without(number)
    load.cluster.brokers[number].resume()


def is_cut_off(load: Load, number: int) -> None:
    """All its connections end at once, also those to ZooKeeper and to clients."""
    load.cluster.brokers[number].cut()


@pytest.fixture(scope="module", params=["ours", "real"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveCluster]:
    """Three brokers for all tests with this ZooKeeper: use topics of your own."""
    folder = tmp_path_factory.mktemp("faults")
    zookeeper = None
    if request.param == "real":
        classpath = request.getfixturevalue("kafka_classpath")
        zookeeper = RealZookeeper(classpath, folder / "real-zookeeper")
    with LiveCluster(folder / "cluster", 3, SETTINGS, zookeeper) as cluster:
        yield cluster


@pytest.mark.parametrize("role", [Load.controller, Load.leader, Load.follower])
def test_no_fault_of_a_broker_loses_or_doubles_a_record(
    cluster: LiveCluster, role: Callable[[Load], int]
) -> None:
    """One fault after the other, each at the broker that has the role then."""
    with Load(cluster) as load:
        for fault in (dies, hangs, is_cut_off, stops):
            fault(load, role(load))
            load.goes_on_with_all()
        load.ends()


def make_nothing(cluster: LiveCluster) -> None:
    """A topic is asked for and not made, for longer than a session lasts."""
    topic = NewTopic(fresh("never"), 1, 3)
    admin = cluster.admin()  # kept until there is an answer, which may else never be handed over
    (asked,) = admin.create_topics([topic], request_timeout=3).values()
    with pytest.raises(KafkaException):
        asked.result()


def test_no_fault_of_zookeeper_loses_or_doubles_a_record(cluster: LiveCluster) -> None:
    """Clients go on without it. A leader that dies meanwhile is replaced once it is back."""
    zookeeper = cluster.zookeeper
    with Load(cluster) as load:
        cut_connections(zookeeper.pid)
        load.goes_on_with_all()
        os.kill(zookeeper.pid, signal.SIGSTOP)
        make_nothing(cluster)
        load.goes_on()
        os.kill(zookeeper.pid, signal.SIGCONT)
        cluster.make(fresh("made-after-a-pause"), 1)
        load.goes_on_with_all()
        zookeeper.stop()
        load.goes_on()
        zookeeper.start()
        cluster.make(fresh("made-after-a-stop"), 1)
        zookeeper.kill()
        leader = load.leader()
        cluster.brokers[leader].kill()
        zookeeper.start()
        load.goes_on_without(leader)
        cluster.brokers[leader].start()
        load.goes_on_with_all()
        load.ends()
