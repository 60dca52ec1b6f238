"""What comes between while brokers are emptied: a death, a second drain, a controller that goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.test_draining import fill, replicas, status
from tests.live.test_two_operators import first_operator

NONE_LEFT = "throttle taken from 0 brokers, 0 topics\n"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Five brokers; partitions have two replicas, so that there is room for another try."""
    settings = {"min.insync.replicas": "1", "offsets.topic.replication.factor": "2"}
    with LiveCluster(tmp_path / "cluster", brokers=5, settings=settings) as cluster:
        yield cluster


def test_where_replicas_go_dies(cluster: LiveCluster, odradek: Shell, tmp_path: Path) -> None:
    """They go elsewhere; where there is nowhere else the verb ends, and names who is missing."""
    cluster.place("orders", [3, 1], [3, 1])
    cluster.place("wide", [3, 1, 2, 5], [3, 1, 2, 5])
    fill(cluster, "orders", 6_000)
    fill(cluster, "wide", 6_000)
    folder = tmp_path / "first"
    waits = first_operator(cluster, folder, "broker", "drain", "3", "--throttle", "1K")

    def going() -> dict[str, str]:
        return {row[0]: row[1] for row in odradek("partition", "reassignments").rows}

    eventually(lambda: going().get("wide-0") == "4,1,2,5", what="all are on their way")
    assert "4" in going()["orders-0"] + going()["orders-1"]
    cluster.brokers[4].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    eventually(
        lambda: "4" not in going()["orders-0"] + going()["orders-1"], what="another is chosen"
    )
    odradek("partition", "throttle", "64M")
    _, told = waits.communicate(timeout=120)
    assert waits.returncode == 1, told
    assert "wide-0: waiting for broker 4 to be registered again" in told
    assert not any(3 in row or 4 in row for row in replicas(odradek, "orders"))
    cluster.brokers[4].start()
    assert "is cordoned and empty" in odradek("broker", "drain", "3", "--throttle", "64M").err
    assert replicas(odradek, "wide") == [[4, 1, 2, 5]] * 2
    assert odradek("partition", "throttle", "none").out == NONE_LEFT


def test_who_drains_again_is_told_what_stands(cluster: LiveCluster, odradek: Shell) -> None:
    """The broker to which all goes has died; so does `--status`, and both say what to do."""
    cluster.place("orders", [3, 1], [3, 1])
    cluster.place("wide", [3, 1, 2, 5])
    fill(cluster, "orders", 6_000)
    fill(cluster, "wide", 6_000)
    odradek("broker", "drain", "3", "--throttle", "1K", "--no-wait")
    assert status(odradek, "3")["standing"] == 0
    cluster.brokers[4].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    eventually(lambda: status(odradek, "3")["standing"] > 0, what="it is known that 4 has gone")
    told = odradek("broker", "drain", "3", "--status").err
    assert "wide-0: waiting for broker 4 to be registered again" in told
    what_to_do = "start what is waited for, or another broker to take its place; then odradek "
    assert f"{what_to_do}broker drain 3" in told
    ended = odradek.run("broker", "drain", "3", "--throttle", "64M")
    assert ended.code == 1
    assert "still has 1 replica: wide-0: waiting for broker 4 to be registered again" in ended.err
    assert f"{what_to_do}broker drain 3" in ended.err
    assert not any({3, 4} & {*row} for row in replicas(odradek, "orders"))
    assert status(odradek, "3")["standing"] == 1
    cluster.brokers[4].start()
    assert "is cordoned and empty" in odradek("broker", "drain", "3", "--throttle", "64M").err
    assert status(odradek, "3")["standing"] == 0
    assert replicas(odradek, "wide") == [[4, 1, 2, 5]]


def test_two_brokers_are_emptied_at_once(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """The second takes further what the first sends to its broker; both end well."""
    cluster.place("orders", [3, 1], [3, 2], [3, 5])
    fill(cluster, "orders", 6_000, partitions=2)  # the third moves within any throttle
    folder = tmp_path / "first"
    waits = first_operator(cluster, folder, "broker", "drain", "3", "--throttle", "1K")
    eventually(
        lambda: any(row[1].startswith("4,") for row in odradek("partition", "reassignments").rows),
        what="the first has begun",
    )
    assert "is cordoned and empty" in odradek("broker", "drain", "4", "--throttle", "64M").err
    _, told = waits.communicate(timeout=60)
    assert (waits.returncode, "broker 3 is cordoned and empty" in told) == (0, True), told
    assert not any({3, 4} & {*row} for row in replicas(odradek, "orders"))
    assert odradek("partition", "throttle", "none").out == NONE_LEFT


def test_of_two_drains_at_once_none_that_is_refused_leaves_its_mark(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """There is room for one of them: both may be refused, or one replaces what the other began."""
    cluster.place("wide", [1, 2, 3, 4], **{"min.insync.replicas": "1"})
    drains = {
        it: first_operator(cluster, tmp_path / it, "broker", "drain", it) for it in ("3", "4")
    }
    told = {it: drain.communicate(timeout=60)[1] for it, drain in drains.items()}
    assert any(drain.returncode for drain in drains.values())
    for it in drains:
        assert status(odradek, it)["cordoned"] == (f"broker {it} is cordoned" in told[it]), told


def test_the_controller_is_emptied_and_stopped(cluster: LiveCluster, odradek: Shell) -> None:
    """It carries out its own drain; the next controller knows of the cordon."""
    going = cluster.controller()
    others = [it for it in cluster.brokers if it != going]
    cluster.place("orders", [going, others[0]], [others[1], going])
    fill(cluster, "orders")
    assert "is cordoned and empty" in odradek("broker", "drain", str(going)).err
    cluster.brokers[going].stop()
    odradek.bootstrap = cluster.brokers[others[0]].bootstrap
    eventually(lambda: cluster.controller() in others, what="another is the controller")
    cluster.brokers[going].start()
    eventually(lambda: status(odradek, str(going))["registered"], what="it is back")
    odradek("topic", "create", "later", "-p", "10", "-r", "2")
    assert not any(going in row for row in replicas(odradek, "later"))
