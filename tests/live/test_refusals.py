"""Brokers that must not join: another of the same number, and one of another cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.cluster import ClusterBroker, LiveCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """One broker; what is refused is refused soon, because sessions are short."""
    settings = {"zookeeper.session.timeout.ms": "1500", "default.replication.factor": "1"}
    with LiveCluster(tmp_path / "cluster", 1, settings) as cluster:
        yield cluster


def said_by(cluster: LiveCluster, folder: Path, number: int) -> str:
    """A further broker starts in this folder, and must not; its last words."""
    settings = {
        "zookeeper.connect": cluster.zookeeper.connect_string,
        "zookeeper.session.timeout.ms": "1500",
    }
    broker = ClusterBroker(folder, number, **settings)
    with pytest.raises(AssertionError, match="did not start"):
        broker.start()
    return broker.log().splitlines()[-1]


def test_a_second_broker_with_the_same_number_is_refused(
    cluster: LiveCluster, tmp_path: Path
) -> None:
    """At another address, with dirs of its own; the first one stays registered and serves."""
    assert "another broker is registered as 1" in said_by(cluster, tmp_path / "second", 1)
    cluster.make("orders", 1, 1)
    assert cluster.partitions("orders") == {0: (1, [1])}


def test_a_broker_of_another_cluster_is_refused(cluster: LiveCluster, tmp_path: Path) -> None:
    """Its dirs say where they belong: its logs would be taken for replicas of ours."""
    with LiveCluster(tmp_path / "other", 1) as other:
        other.brokers[1].stop()
    folder = tmp_path / "other" / "broker-1"
    said = said_by(cluster, folder, 1)
    assert "disk-a" in said
    assert "cluster" in said
