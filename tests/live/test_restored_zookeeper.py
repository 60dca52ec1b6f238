"""ZooKeeper's data is lost, and a backup that is older than the cluster takes its place."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Three brokers, and their ZooKeeper in a process of its own."""
    with LiveCluster(tmp_path / "cluster") as cluster:
        yield cluster


def produce(cluster: LiveCluster, topic: str, *values: str) -> list[str]:
    """By an idempotent producer, which has a new id each time; what was acknowledged."""
    acknowledged: list[str] = []

    def told(error: KafkaError | None, it: Message) -> None:
        if error is None:
            acknowledged.append((it.value() or b"").decode())

    quiet = {"log_level": 2}  # until it is collected it tells of brokers that are gone
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": "true"}
    producer = Producer({**settings, **quiet})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=told)
    producer.flush(30)
    return acknowledged


@pytest.mark.timeout(300)
def test_a_backup_that_is_older_than_the_cluster_loses_no_record(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """As the runbook says. Since the backup leaders have changed and producers have come."""
    data, backup = tmp_path / "cluster" / "zookeeper", tmp_path / "backup"
    cluster.place("orders", [1, 2, 3], [2, 3, 1])
    acknowledged = produce(cluster, "orders", *(f"a{it}" for it in range(100)))
    cluster.zookeeper.stop()
    shutil.copytree(data, backup)
    cluster.zookeeper.start()
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="ZooKeeper is back")

    for number in (1, 2, 3, 1):
        cluster.brokers[number].stop()
        cluster.brokers[number].start()
        cluster.await_isr("orders", 3)
        acknowledged += produce(cluster, "orders", *(f"b{number}{it}" for it in range(50)))
    cluster.place("later", [1, 2, 3])
    assert produce(cluster, "later", "c") == ["c"]
    assert len(acknowledged) == 300

    call = ("zookeeper", "raise-epochs", "--connect", cluster.zookeeper.connect_string)
    refused = odradek.fails(*call)
    assert "brokers 1, 2, 3 are registered" in refused
    assert "zookeeper.session.timeout.ms" in refused
    cluster.zookeeper.kill()
    shutil.rmtree(data)
    for broker in cluster.brokers.values():
        broker.stop()
    shutil.copytree(backup, data)
    cluster.zookeeper.start()
    eventually(lambda: odradek.run(*call).code == 0, what="the former sessions are over")
    for broker in cluster.brokers.values():
        broker.launch()
    for broker in cluster.brokers.values():
        broker.await_start()
    assert odradek("broker", "list").rows
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is in sync")
    acknowledged += produce(cluster, "orders", *(f"d{it}" for it in range(50)))
    found = odradek("consume", "orders", "-e").out.split()
    assert found == acknowledged
    assert len(found) == 350
    cluster.check_replicas_equal("orders")
    stray = {it.parent.parent.name for it in (tmp_path / "cluster").glob("*/*/later-0*-stray")}
    assert stray == {"broker-1", "broker-2", "broker-3"}
