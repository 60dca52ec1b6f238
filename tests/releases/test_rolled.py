"""The last release and this one in one cluster: rolled forward under load, back, and forward again.

`ODRADEK_ROLLS=10` does so ten times.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.test_faults import Load
from tests.live.workload import read_all
from tests.releases.conftest import Releases
from tests.releases.releases import RolledCluster

TIMES: Final = int(os.environ.get("ODRADEK_ROLLS", "1"))
MOVED: Final = "moved"
MOVED_RECORDS: Final = 4_000
SLOW: Final = "5000"  # bytes in a second: a move that outlasts all rolls


@pytest.fixture
def odradek(
    cluster: RolledCluster,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """The command of this release."""
    shell = Shell(capfdbinary, monkeypatch)
    shell.bootstrap = cluster.bootstrap
    return shell


@pytest.fixture
def cluster(tmp_path: Path, releases: Releases) -> Iterator[RolledCluster]:
    """Of the last release."""
    with RolledCluster(tmp_path / "cluster", releases.last) as cluster:
        yield cluster


def throttled(odradek: Shell, *change: str) -> None:
    """Sets the rate of both ends of every move, or takes it away."""
    for end in ("leader", "follower"):
        name = f"{end}.replication.throttled"
        odradek("config", "alter", "topic", MOVED, "-s", f"{name}.replicas=*")
        for number in ("1", "3"):
            odradek("config", "alter", "broker", number, change[0], f"{name}.rate{change[1]}")


def begin_a_move(cluster: RolledCluster, odradek: Shell) -> None:
    """From broker 1 to broker 3, too slow to end by itself."""
    cluster.place(MOVED, [1])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(MOVED_RECORDS):
        producer.produce(MOVED, bytes(1_000))
    assert producer.flush(60) == 0
    throttled(odradek, "-s", f"={SLOW}")
    odradek("partition", "reassign", MOVED, "--replicas", "3", "--no-wait")


def end_the_move(cluster: RolledCluster, odradek: Shell) -> None:
    """It is still under way, and ends once it may be fast."""
    assert MOVED in odradek("partition", "reassignments").out
    throttled(odradek, "-d", "")
    eventually(lambda: cluster.partitions(MOVED)[0] == (3, [3]), what="the move ends")
    (records,) = read_all(cluster.bootstrap, MOVED, 1).values()
    assert len(records) == MOVED_RECORDS


@pytest.mark.timeout(300 * TIMES)
def test_forward_back_and_forward(
    cluster: RolledCluster, odradek: Shell, releases: Releases
) -> None:
    """Nothing is lost, doubled or reordered; a group and a move between brokers go on."""
    begin_a_move(cluster, odradek)
    with Load(cluster) as load:
        for _ in range(TIMES):
            for source in (releases.this, releases.last, releases.this):
                cluster.roll(source, load.goes_on_with_all)
        load.goes_on_with_all()
        end_the_move(cluster, odradek)
        load.ends()


@pytest.mark.timeout(600)
def test_a_level_of_transactions_waits_for_the_last_broker(
    cluster: RolledCluster, odradek: Shell, releases: Releases
) -> None:
    """The last release knows none, and says nothing of that; who sets it is told which broker."""
    raised = ("cluster", "features", "transaction.version=2")
    last = cluster.controller()
    first, second = {1, 2, 3} - {last}
    cluster.roll_one(first, releases.this)
    assert "knows no features; upgrade every broker first" in odradek.fails(*raised)
    cluster.roll_one(last, releases.this)
    if cluster.controller() == second:
        odradek("controller", "move", str(first))
    said = odradek.fails(*raised)
    assert f"broker {second} is of a release that knows transaction.version up to 0" in said
    cluster.roll_one(second, releases.this)
    odradek(*raised)
