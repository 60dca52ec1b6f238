"""A rolling restart: one broker at a time, and none where that would refuse writes."""

import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.test_draining import fill
from tests.live.test_two_operators import first_operator


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
        assert "; or with --below-min-isr" in said
        assert len(restarter.done) == 3


def test_one_that_does_not_restart_ends_it_and_the_printed_call_goes_on(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """As it is printed, whatever quotes are in it; who has restarted, by hand too, is left out."""
    cluster.make("orders", 3)
    first, *others = odradek("cluster", "restart-order", "--json").json
    go = tmp_path / "go on"
    with Restarter(cluster, tmp_path) as restarter:
        command = f"[ {{broker}} = {first} ] || [ -e '{go}' ] && {restarter.command}"
        ended = odradek.run(*CALL, command, "--patience", "20")
        assert (ended.code, restarter.done) == (1, [first])
        assert f"broker {others[0]} has not registered anew in 20 s" in ended.err
        assert "the command ended with 1" in ended.err
        by_hand = cluster.brokers[others[-1]]
        by_hand.stop()
        by_hand.start()
        go.touch()
        printed = ended.err.rpartition("once that is mended: odradek ")[2]
        odradek(*shlex.split(printed), "--patience", "60")
        assert restarter.done == [first, *others[:-1]]


def test_a_command_that_goes_on_holds_up_nothing_and_an_interrupt_says_how_to_go_on(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """The registration is the sign: a broker may run where its command does."""
    cluster.make("orders", 3)
    first, *_, last = odradek("cluster", "restart-order", "--json").json
    stays = f"for _ in $(seq 600); do [ -e '{tmp_path}/over' ] && break; sleep 0.1; done"
    with Restarter(cluster, tmp_path) as restarter:
        command = f"[ {{broker}} = {last} ] || {{ {restarter.command}; {stays}; }}"
        roll = first_operator(cluster, tmp_path / "first", *CALL, command)
        eventually(lambda: len(restarter.done) == 2, what="two are restarted")
        assert roll.stderr is not None
        first_said = roll.stderr.readline()
        while f"broker {last} (3 of 3)" not in roll.stderr.readline():
            assert roll.poll() is None
        second = first_operator(cluster, tmp_path / "first", *CALL, command)
        _, refused = second.communicate(timeout=30)
        assert f"another roll of this cluster is under way: process {roll.pid}\n" in refused
        roll.send_signal(signal.SIGINT)
        roll.wait(30)
        (tmp_path / "over").touch()  # its commands have its end of the pipe
        _, told = roll.communicate(timeout=30)
        assert roll.returncode == 130, told
        printed = told.rpartition("what was begun goes on; then: odradek ")[2].splitlines()[0]
        assert shlex.split(printed)[:3] == [*CALL]
        assert "--since" in printed
        assert first_said == f"whenever this ends, the rest is restarted by: odradek {printed}\n"
    assert first in restarter.done


def test_a_roll_meets_a_move_a_deletion_and_a_disk_that_failed(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """The first two go on over it; the third holds it up, and nothing is restarted."""
    cluster.make("orders", 3)
    cluster.place("moved", [1, 2], **{"min.insync.replicas": "1"})
    fill(cluster, "moved", 6_000)
    slow = ("-p", "0", "--replicas", "1,3", "--throttle", "1K", "--no-wait")
    odradek("partition", "reassign", "moved", *slow)
    assert "waits" in odradek("topic", "delete", "moved", "--yes").out
    with Restarter(cluster, tmp_path) as restarter:
        ended = odradek(*CALL, restarter.command, "--patience", "60")
        assert sorted(restarter.done) == [1, 2, 3]
        assert "not in the way: topic moved is being reassigned: deletion waits" in ended.err
        assert [row[0] for row in odradek("partition", "reassignments").rows] == ["moved-0"]
        odradek("partition", "throttle", "none")
        eventually(lambda: "moved" not in odradek("topic", "list").out, what="it is deleted")
        disk = str(cluster.brokers[2].directory / "disk-a")
        odradek("logdirs", "offline", disk, "--broker", "2", "--yes")
        said = odradek.run(*CALL, restarter.command).err
        assert "the cluster is not healthy: " in said
        assert "once that is mended: odradek cluster roll" in said
        assert len(restarter.done) == 3


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
