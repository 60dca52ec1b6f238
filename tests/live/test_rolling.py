"""A rolling restart: one broker at a time, and none where that would refuse writes."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.compat.broker_process import eventually
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


@pytest.fixture
def odradek(
    cluster: LiveCluster,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    """The command, at all of them."""
    shell = Shell(capfdbinary, monkeypatch)
    shell.bootstrap = cluster.bootstrap
    return shell


def test_all_are_restarted_and_the_controller_last(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """And nothing where a broker is missing, or where min.insync.replicas would not hold."""
    cluster.make("orders", 3)
    call = ("cluster", "roll", "--command")
    last = cluster.controller()
    with Restarter(cluster, tmp_path) as restarter:
        said = odradek(*call, restarter.command, "--patience", "60").out
        assert said.startswith("3 brokers restarted: ")
        assert sorted(restarter.done) == [1, 2, 3]
        assert restarter.done[-1] == last
        cluster.await_isr("orders", 3)
        cluster.place("narrow", [1, 2])
        said = odradek.run(*call, restarter.command).err
        assert "narrow-0 has 1 in sync, and min.insync.replicas is 2" in said
        odradek("topic", "delete", "narrow", "--yes")
        eventually(lambda: odradek.run("cluster", "health").code == 0, what="all is healthy")
        said = odradek.run(*call, "exit 7").err
        assert "the command ended with 7" in said
        assert "--since " in said
        assert len(restarter.done) == 3
        # in here: a broker dies with the thread that has started it
        cluster.brokers[3].kill()
        odradek.bootstrap = cluster.brokers[1].bootstrap
        cluster.await_gone(3, "orders")
        said = odradek.run(*call, "true").err
        assert "the cluster is not healthy" in said
