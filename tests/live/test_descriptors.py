"""Clients that use up the descriptors of a broker: its pages still answer."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster

LIMIT = 256


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """One broker with pages."""
    settings = {
        "admin.listener": "127.0.0.1:@",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
    }
    with LiveCluster(tmp_path / "cluster", brokers=1, settings=settings) as cluster:
        yield cluster


def page(cluster: LiveCluster, path: str) -> str:
    """What it says."""
    with urlopen(f"http://{cluster.brokers[1].pages}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def test_pages_answer_when_clients_have_taken_all_descriptors(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """And a segment can still be made; clients get in again once others have gone."""
    broker = cluster.brokers[1]
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    host, _, port = broker.bootstrap.partition(":")
    opened = Path(f"/proc/{broker.pid}/fd")
    with ExitStack() as crowd:
        for _ in range(LIMIT):
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=10))
        eventually(lambda: len(list(opened.iterdir())) > LIMIT * 5 // 8, what="they are in")
        for _ in range(3):
            assert "process_open_fds" in page(cluster, "/metrics")
            assert page(cluster, "/health/live")
        assert "could not be accepted" not in broker.log()
        assert broker.log().count("connections.wait") == 1
    odradek("produce", "orders", said=b"a\n")
    assert odradek("consume", "orders", "-e").out == "a\n"


def test_health_names_a_broker_that_soon_has_no_descriptors(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """Before clients are kept out: health is one of them."""
    broker, many = cluster.brokers[1], 2 * LIMIT
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (many, many))
    assert "too many open files" not in odradek.run("cluster", "health").out
    host, _, port = broker.bootstrap.partition(":")
    with ExitStack() as crowd:
        for _ in range(many * 81 // 100):
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=10))
        named = f"files open, of {many} that it may; odradek broker clients 1"
        eventually(lambda: named in odradek.run("cluster", "health").out, what="it is named")
