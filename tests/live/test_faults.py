"""Everything that can happen to a process happens under load, and nothing acknowledged is lost."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import eventually
from tests.external.zookeeper import RealZookeeper
from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer, SteadyReader, check_kept, check_once, read_all

PARTITIONS: Final = 6
PLAIN, IDEMPOTENT = "plain", "idempotent"
SETTINGS: Final = {"zookeeper.session.timeout.ms": "1500"}


class Load:
    """Producers of both kinds, and a group that reads, while something fails."""

    def __init__(self, cluster: LiveCluster, stack: ExitStack) -> None:
        self.cluster = cluster
        at = cluster.bootstrap
        self.plain = stack.enter_context(SteadyProducer(at, PLAIN, PARTITIONS))
        counting = SteadyProducer(at, IDEMPOTENT, PARTITIONS, **{"enable.idempotence": True})
        self.idempotent = stack.enter_context(counting)
        self.reader = stack.enter_context(SteadyReader(at, PLAIN, "readers"))

    def goes_on(self) -> None:
        """In every partition, whoever leads it now."""
        for producer in (self.plain, self.idempotent):
            before = {number: len(producer.acknowledged[number]) for number in range(PARTITIONS)}
            eventually(
                lambda: all(
                    len(producer.acknowledged[number]) > count  # noqa: B023
                    for number, count in before.items()  # noqa: B023
                ),
                what="producers go on",
            )

    def check(self) -> None:
        """Every acknowledged record is there, once if the producer counts; replicas are equal."""
        for producer in (self.plain, self.idempotent):
            producer.stop()
            assert not producer.failed
        eventually(lambda: self.reader.has_read(self.plain), what="the group has read everything")
        assert not self.reader.failed
        check_kept(self.plain, read_all(self.cluster.bootstrap, PLAIN, PARTITIONS))
        found = read_all(self.cluster.bootstrap, IDEMPOTENT, PARTITIONS)
        check_kept(self.idempotent, found)
        check_once(found)
        self.cluster.check_replicas_equal(PLAIN, IDEMPOTENT)


def dies(load: Load, number: int) -> None:
    """SIGKILL: the controller sees it at once."""
    _goes_and_returns(load, number, load.cluster.brokers[number].kill)


def stops(load: Load, number: int) -> None:
    """SIGTERM: what it leads is moved first."""
    _goes_and_returns(load, number, load.cluster.brokers[number].stop)


def _goes_and_returns(load: Load, number: int, goes: Callable[[], None]) -> None:
    goes()
    load.cluster.await_gone(number, PLAIN, IDEMPOTENT)
    load.goes_on()
    load.cluster.brokers[number].start()


def hangs(load: Load, number: int) -> None:
    """SIGSTOP: its session ends; what wakes up finds itself replaced."""
    load.cluster.brokers[number].pause()
    load.cluster.await_gone(number, PLAIN, IDEMPOTENT)
    load.goes_on()
    load.cluster.brokers[number].resume()


def is_cut_off(load: Load, number: int) -> None:
    """All its connections end at once, also those to ZooKeeper and to clients."""
    load.cluster.brokers[number].cut()


@pytest.fixture(params=["ours", "real"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveCluster]:
    """Three brokers, with topics for both kinds of producers."""
    zookeeper = None
    if request.param == "real":
        classpath = request.getfixturevalue("kafka_classpath")
        zookeeper = RealZookeeper(classpath, tmp_path / "real-zookeeper")
    with LiveCluster(tmp_path / "cluster", 3, SETTINGS, zookeeper) as cluster:
        for topic in (PLAIN, IDEMPOTENT):
            cluster.make(topic, PARTITIONS)
        yield cluster


def test_no_fault_loses_or_doubles_a_record(cluster: LiveCluster) -> None:
    """Leaders and controllers, one after the other, and ZooKeeper in the end."""
    with ExitStack() as stack:
        load = Load(cluster, stack)
        load.goes_on()
        for fault in (dies, hangs, is_cut_off, stops):
            fault(load, cluster.controller())
            cluster.await_isr(PLAIN, IDEMPOTENT, 3)
            load.goes_on()
        cluster.zookeeper.kill()
        load.goes_on()
        leader = cluster.partitions(PLAIN)[0][0]
        cluster.brokers[leader].kill()
        cluster.zookeeper.start()
        cluster.await_gone(leader, PLAIN, IDEMPOTENT)
        load.goes_on()
        cluster.brokers[leader].start()
        cluster.await_isr(PLAIN, IDEMPOTENT, 3)
        load.check()
