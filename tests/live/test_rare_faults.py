"""Runbooks of what hardly ever happens, in the states that they are about."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import pytest
from kazoo.client import KazooClient

from odradek.client.records.producer import murmur2
from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.test_runbooks import Runbooks
from tests.live.test_two_operators import first_operator

BACK = "group reset-offsets readers -t orders:0 --to-offset 4711 --execute"
LAST_BYTES = -8
OFFSETS = "__consumer_offsets"
STATE = "/brokers/topics/orders/partitions/0/state"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Two brokers; one partition has all groups."""
    settings = {
        "default.replication.factor": "2",
        "min.insync.replicas": "1",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "2",
    }
    with LiveCluster(tmp_path / "cluster", brokers=2, settings=settings) as cluster:
        yield cluster


def spoil_log_of_groups(cluster: LiveCluster, number: int) -> Path:
    """One bit of its last batch turns, while the broker is away."""
    (log,) = cluster.brokers[number].directory.glob(f"*/{OFFSETS}-0/*.log")
    data = bytearray(log.read_bytes())
    data[LAST_BYTES] ^= 1
    log.write_bytes(data)
    return log


def test_a_coordinator_that_refuses(cluster: LiveCluster, odradek: Shell) -> None:
    """Health names it and its file; a second replica mends it, or its log is put aside."""
    books = Runbooks(odradek, cluster)
    cluster.make("orders", 1, 2)
    odradek("produce", "orders", said=b"a\nb\n")
    odradek("consume", "orders", "-e", "-g", "readers")
    cluster.await_isr(OFFSETS, 2)

    cluster.brokers[2].stop()
    cluster.brokers[1].stop()
    log = spoil_log_of_groups(cluster, 1)
    cluster.brokers[1].start()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    told = f"broker 1 cannot read the log: {OFFSETS}-0/{log.name}: corrupt at byte "
    eventually(lambda: told in odradek.run("cluster", "health").out, what="it is named")
    assert "coordinator refuses" in odradek.run("cluster", "health").out
    listed = odradek.run("group", "list")
    assert (listed.code, listed.rows) == (1, [])
    assert "broker 1 cannot read the log of some groups: they are left out" in listed.err
    books.call("A coordinator that refuses", BACK)

    cluster.brokers[2].start()
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="it is mended")
    assert odradek("group", "describe", "readers").rows[0][1:4] == ["orders", "0", "2"]

    cluster.brokers[2].stop()
    cluster.brokers[1].stop()
    kept = cluster.brokers[1].directory / "kept" / log.parent.name
    kept.parent.mkdir()
    log.parent.rename(kept)
    cluster.brokers[1].start()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    ended = books.run(f"partition elect {OFFSETS} -p 0 --unclean")
    print(ended, odradek.run("cluster", "health"))
    books.run(BACK)
    assert odradek("group", "describe", "readers").rows[0][1:4] == ["orders", "0", "2"]
    shown = odradek("dump-log", str(kept), "--deep").out
    assert '"group":"readers","topic":"orders","partition":0' in shown


def test_a_state_that_is_empty(cluster: LiveCluster, odradek: Shell) -> None:
    """No member can join: it is named, and made again as one that is missing is."""
    cluster.place("orders", [1, 2])
    cluster.brokers[1].stop()
    odradek.bootstrap = cluster.brokers[2].bootstrap
    odradek("produce", "orders", said=b"a\n")
    tree = KazooClient(cluster.zookeeper.connect_string)
    tree.start()
    try:
        tree.set(STATE, b"")
        cluster.brokers[1].start()
        named = f"{STATE} in ZooKeeper cannot be read"
        eventually(lambda: named in odradek.run("cluster", "health").out, what="it is named")
        connect = ("--connect", cluster.zookeeper.connect_string)
        restore = ("zookeeper", "restore-state", "orders", "0", *connect, "--leader", "2", "--yes")
        assert "orders-0 is led by broker 2" in odradek(*restore).out
        assert "is there: it is not replaced" in odradek.fails(*restore)
    finally:
        tree.stop()
        tree.close()
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="it is mended")
    cluster.await_isr("orders", 2)
    cluster.check_replicas_equal("orders")


class Running(NamedTuple):
    """A command, and what it is given and tells."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]


@contextmanager
def running(cluster: LiveCluster, folder: Path, *said: str) -> Iterator[Running]:
    """Until the block ends."""
    with first_operator(cluster, folder, *said, stdin=subprocess.PIPE) as begun:
        assert begun.stdin is not None
        assert begun.stdout is not None
        assert begun.stderr is not None
        try:
            yield Running(begun.stdin, begun.stdout, begun.stderr)
        finally:
            begun.kill()


def goes_on_with_the_others(producing: Running, reading: Running) -> None:
    """Each says of which partition it does not know the leader, and why."""
    keys = {murmur2(key.encode()) % 2: key for key in "abcdefgh"}
    producing.stdin.write(f"{keys[0]}:lost\n{keys[1]}:x\n")
    producing.stdin.flush()
    assert next(reading.stdout) == "1 x\n"
    for it in (producing, reading):
        while not (line := next(it.stderr)).startswith("odradek: no leader: "):
            assert "trying again" in line
        assert line.startswith(
            f"odradek: no leader: 1 (orders: 0): {STATE} in ZooKeeper is missing"
        )
    producing.stdin.write(f"{keys[1]}:y\n")
    producing.stdin.close()
    assert next(reading.stdout) == "1 y\n"
    told = producing.stderr.read()
    assert "2 records produced to orders\n" in told
    assert "not produced, because there is no leader: 1 of orders-0" in told


def test_a_state_that_is_missing(cluster: LiveCluster, odradek: Shell, tmp_path: Path) -> None:
    """When the leader dies no other is elected, until a person says which shall lead."""
    books = Runbooks(odradek, cluster)
    cluster.place("orders", [1, 2], [2, 1])
    odradek("produce", "orders", "-p", "0", said=b"a\nb\n")
    tree = KazooClient(cluster.zookeeper.connect_string)
    tree.start()
    try:
        with (
            running(cluster, tmp_path, "produce", "orders", "-K", ":") as producing,
            running(cluster, tmp_path, "consume", "orders", "-f", "%p %s\\n") as reading,
        ):
            assert [next(reading.stdout) for _ in "ab"] == ["0 a\n", "0 b\n"]
            tree.delete(STATE)
            cluster.brokers[1].stop()
            odradek.bootstrap = cluster.brokers[2].bootstrap
            named = f"{STATE} in ZooKeeper is missing: odradek zookeeper restore-state orders 0"
            eventually(lambda: named in odradek.run("cluster", "health").out, what="it is named")
            goes_on_with_the_others(producing, reading)
        books.call("A partition's state is missing")
        connect = ("--connect", cluster.zookeeper.connect_string)
        restore = ("zookeeper", "restore-state", "orders", "0", *connect, "--leader")
        assert "broker 7 has no replica of orders-0: 1, 2 have" in odradek.fails(*restore, "7")
        assert "broker 1 is not registered" in odradek.fails(*restore, "1")
        unasked = odradek.run(*restore, "2")
        assert (unasked.code, tree.exists(STATE)) == (2, None)
        assert "not done without --yes" in unasked.err
        assert re.search(r"^ +2 +0 +2 +\d+$", unasked.err, re.MULTILINE), unasked
        restored = odradek(*restore, "2", "--yes")
        assert "orders-0 is led by broker 2" in restored.out
        assert "is there: it is not replaced" in odradek.fails(*restore, "2", "--yes")
    finally:
        tree.stop()
        tree.close()
    eventually(lambda: "no leader" not in odradek.run("cluster", "health").out, what="it is led")
    odradek("produce", "orders", "-p", "0", said=b"c\n")
    cluster.brokers[1].start()
    cluster.await_isr("orders", 2)
    assert odradek("consume", "orders", "-p", "0", "-e").out.split() == ["a", "b", "c"]
    assert odradek.run("cluster", "health").code == 0
    cluster.check_replicas_equal("orders")
