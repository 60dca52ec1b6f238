"""A rolling restart: one broker at a time, and none where that would refuse writes."""

import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import pytest

from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster


class Restarter:
    """Restarts brokers whose file appears, as an init system would when it is told."""

    def __init__(self, cluster: LiveCluster, folder: Path) -> None:
        self.done: list[int] = []
        self._cluster = cluster
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.command = f"touch {folder}/restart-{{broker}}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._over.wait(0.05):
            for file in self._folder.glob("restart-*"):
                number = int(file.name.rpartition("-")[2])
                file.unlink()
                self._cluster.brokers[number].stop()
                self._cluster.brokers[number].start()
                self.done.append(number)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Three brokers, of which two must have a record."""
    with LiveCluster(tmp_path / "cluster") as cluster:
        yield cluster


CALL: Final = ("cluster", "roll", "--command")


def test_all_are_restarted_and_the_controller_last(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """Whatever the command's exit code is; warnings that may last for weeks are only told."""
    cluster.make("orders", 3)
    cluster.place("single", [1])  # its min.insync.replicas is capped
    odradek("config", "alter", "broker", "1", "-s", "leader.replication.throttled.rate=1000000")
    last = cluster.controller()
    with Restarter(cluster, tmp_path) as restarter:
        ended = odradek(*CALL, f"{restarter.command}; exit 7", "--patience", "60")
        assert ended.out.startswith("3 brokers restarted: ")
        assert sorted(restarter.done) == [1, 2, 3]
        assert restarter.done[-1] == last
        assert ended.err.count("the command ended with 7") == 3
        for warning in ("throttle left", "counts as the number of replicas"):
            assert warning in ended.err
        cluster.await_isr("orders", 3)
        cluster.place("narrow", [1, 2])
        said = odradek.run(*CALL, restarter.command).err
        assert "narrow-0 has 1 in sync, and min.insync.replicas is 2" in said
        assert len(restarter.done) == 3


def test_one_that_does_not_restart_ends_it_and_the_printed_call_goes_on(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """As it is printed, whatever quotes are in the command; who has restarted is left out."""
    cluster.make("orders", 3)
    first, *others = odradek("cluster", "restart-order", "--json").json
    go = tmp_path / "go on"
    with Restarter(cluster, tmp_path) as restarter:
        command = f"[ {{broker}} = {first} ] || [ -e '{go}' ] && {restarter.command}"
        ended = odradek.run(*CALL, command, "--patience", "5")
        assert (ended.code, restarter.done) == (1, [first])
        assert f"broker {others[0]} has not registered anew in 5 s" in ended.err
        assert "the command ended with 1" in ended.err
        go.touch()
        printed = ended.err.rpartition("once that is mended: odradek ")[2]
        odradek(*shlex.split(printed), "--patience", "60")
        assert sorted(restarter.done) == [1, 2, 3]


def test_nothing_is_restarted_while_a_replica_is_out_of_sync(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """One more that is away might be one too many."""
    cluster.make("orders", 3)
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    cluster.await_gone(3, "orders")
    said = odradek.run(*CALL, f"touch {tmp_path}/restarted").err
    assert "the cluster is not healthy: broker 3 is not registered: out of sync" in said
    assert not (tmp_path / "restarted").exists()
