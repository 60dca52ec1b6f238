"""A bound on what a broker copies between its disks: it ends with its verb, or is named."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek import testing
from odradek.cli.brokers import cluster_health
from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.test_draining import replicas
from tests.live.test_two_operators import first_operator


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """One broker with two log dirs."""
    settings = {"default.replication.factor": "1", "min.insync.replicas": "1"}
    with LiveCluster(tmp_path, 1, settings) as cluster:
        yield cluster


def test_a_throttle_between_log_dirs_that_was_left_is_named(
    cluster: LiveCluster, odradek: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By progress while it bounds a copy, by health afterwards, and by the next move.

    Health names a copy to which nothing comes; here a moment of that is long enough.
    """
    cluster.make("orders", 1, 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(6_000):
        producer.produce("orders", b"x" * 1_000)
    producer.flush(10)
    (row,) = (it for it in odradek("logdirs", "partitions", "orders").rows)
    here = Path(row[3])
    other = here.with_name("disk-b" if here.name == "disk-a" else "disk-a")
    begun = odradek("logdirs", "move", str(other), "orders", "--throttle", "300K", "--no-wait")
    assert "the throttle stays; once the move is over: odradek partition throttle none" in begun.err
    named = "a throttle between log dirs of 300.0 KiB/s is set on broker 1"
    assert named in odradek("logdirs", "describe").err
    assert named in odradek("partition", "reassignments").err
    assert "throttle left" not in odradek.run("cluster", "health").out
    changed = odradek("partition", "throttle", "400K")
    assert changed.out == "moves between log dirs of broker 1: 400.0 KiB/s\n"
    named = named.replace("300.0", "400.0")
    assert named in odradek("logdirs", "describe").err
    with monkeypatch.context() as patch:
        patch.setattr(cluster_health, "STANDS", 1)
        stands = f"nothing has come to {other} of broker 1 for a minute; {named}: "
        eventually(
            lambda: stands in odradek.run("cluster", "health").out,
            what="that it stands is named",
        )
    assert "move between log dirs stands" not in odradek.run("cluster", "health").out
    eventually(
        lambda: [it[6] for it in odradek("logdirs", "partitions", "orders").rows] == ["no"],
        what="the copy is over",
    )
    assert "throttle left" in odradek.run("cluster", "health").out
    told = odradek("logdirs", "move", str(here), "orders", "--no-wait").err
    assert f"{named}, and bounds this move, too" in told
    taken = odradek("partition", "throttle", "none").out
    assert taken == "throttle taken from 1 broker, 0 topics\n"
    assert odradek("cluster", "health").code == 0


def test_a_throttle_of_a_log_dir_move_that_had_none_goes_with_it(
    odradek: Shell, tmp_path: Path
) -> None:
    """It is changed while it runs, and the command that waits for it takes it away."""
    slow = {"replica.alter.log.dirs.io.max.bytes.per.second": "1000"}
    settings = {"default.replication.factor": "1", "min.insync.replicas": "1", **slow}
    with LiveCluster(tmp_path / "slow", 1, settings) as cluster:
        odradek.bootstrap = cluster.bootstrap
        cluster.make("orders", 1, 1)
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        for _ in range(6_000):  # more than the first piece has
            producer.produce("orders", b"x" * 1_000)
        producer.flush(10)
        (row,) = odradek("logdirs", "partitions", "orders").rows
        here = Path(row[3])
        other = here.with_name("disk-b" if here.name == "disk-a" else "disk-a")
        waits = first_operator(cluster, tmp_path / "first", "logdirs", "move", str(other), "orders")
        eventually(
            lambda: odradek.run("partition", "throttle", "64M").code == 0, what="it has begun"
        )
        _, told = waits.communicate(timeout=60)
        assert waits.returncode == 0, told
        taken = odradek("partition", "throttle", "none").out
        assert taken == "throttle taken from 0 brokers, 0 topics\n"
        assert "no partition is being moved" in odradek.fails("partition", "throttle", "50M")


def test_a_throttle_of_a_move_that_had_none_goes_with_it(odradek: Shell, tmp_path: Path) -> None:
    """Where a command waits for it."""
    with testing.cluster() as c:
        odradek.bootstrap = c.bootstrap
        odradek("topic", "create", "orders", "-p", "1", "-r", "2")
        ((first, second),) = replicas(odradek, "orders")
        (new,) = {*c.brokers} - {first, second}
        c.cut({new}, {first, second})
        call = ("partition", "reassign", "orders", "--replicas", f"{first},{new}")
        waits = first_operator(c, tmp_path / "first", *call)
        eventually(
            lambda: odradek.run("partition", "throttle", "64M").code == 0, what="it has begun"
        )
        c.heal()
        _, told = waits.communicate(timeout=60)
        assert waits.returncode == 0, told
        taken = odradek("partition", "throttle", "none").out
        assert taken == "throttle taken from 0 brokers, 0 topics\n"
