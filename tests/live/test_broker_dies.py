"""A broker dies, stops or hangs under producers with acks=all: no acknowledged record is lost."""

from pathlib import Path
from time import sleep
from typing import Final

import pytest

from tests.compat.broker_process import eventually
from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer, check_kept, check_once, read_all

PARTITIONS: Final = 6
TOPIC: Final = "orders"


@pytest.mark.parametrize("idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("way", ["kill", "stop"])
def test_a_broker_that_goes_and_comes_back_loses_nothing(
    tmp_path: Path, way: str, *, idempotent: bool
) -> None:
    """Each broker in turn, the controller among them."""
    with LiveCluster(tmp_path) as cluster:
        cluster.make(TOPIC, PARTITIONS)
        with SteadyProducer(
            cluster.bootstrap, TOPIC, PARTITIONS, **{"enable.idempotence": idempotent}
        ) as producer:
            for broker in cluster.brokers.values():
                before = sum(map(len, producer.acknowledged.values()))
                getattr(broker, way)()
                cluster.await_isr(TOPIC, 2)
                broker.start()
                cluster.await_isr(TOPIC, 3)
                eventually(lambda: sum(map(len, producer.acknowledged.values())) > before)  # noqa: B023
            producer.stop()
        found = read_all(cluster.bootstrap, TOPIC, PARTITIONS)
        assert not producer.failed
        check_kept(producer, found)
        if idempotent:
            check_once(found)


def test_a_broker_that_hangs_is_replaced_once_its_session_is_over(tmp_path: Path) -> None:
    """A time-out proves nothing, so ZooKeeper decides; what wakes up finds itself replaced."""
    with LiveCluster(tmp_path, settings={"zookeeper.session.timeout.ms": "4000"}) as cluster:
        cluster.make(TOPIC, PARTITIONS)
        with SteadyProducer(cluster.bootstrap, TOPIC, PARTITIONS) as producer:
            hanging = cluster.brokers[2]
            hanging.pause()
            sleep(1)
            eventually(
                lambda: all(leader != 2 for leader, _ in cluster.partitions(TOPIC).values()),
                seconds=30,
                what="broker 2 leads nothing any more",
            )
            hanging.resume()
            cluster.await_isr(TOPIC, 3)
            producer.stop()
        check_kept(producer, read_all(cluster.bootstrap, TOPIC, PARTITIONS))
        assert not producer.failed
