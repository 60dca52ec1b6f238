"""Every command of the runbooks runs in the state that its section is about."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Ended, Shell
from tests.external import tools
from tests.live.cluster import LiveCluster
from tests.live.test_draining import fill

TEXT: Final = (tools.ROOT / "docs" / "runbooks.md").read_text()
CALL: Final = re.compile(r"`odradek ([^`]+)`")
LOCAL: Final = {"check", "verify", "zookeeper"}
"""Nouns that are about files, and have tests of their own."""
WITHOUT_COMMANDS: Final = {
    "DiskFillsUp",
    "TooManyOpenFiles",
    "UnderMinIsrPartitionCount",
    "ZooKeeper is away",
    "ZooKeeper's data is lost",  # test_restored_zookeeper.py does all of it
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Four brokers, as the runbooks name them."""
    settings = {"min.insync.replicas": "1"}
    with LiveCluster(tmp_path / "cluster", brokers=4, settings=settings) as cluster:
        yield cluster


class Runbooks:
    """What they say, called one after the other as it stands there."""

    def __init__(self, odradek: Shell, cluster: LiveCluster) -> None:
        self.called: set[str] = set()
        self.dirs: dict[str, Path] = {}
        self._odradek = odradek
        self._cluster = cluster

    def call(self, section: str, *left_out: str) -> dict[str, Ended]:
        """All of a section; `--yes` where it would ask. None is misused, none has a bug."""
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        calls = [it for it in CALL.findall(text) if it.split()[0] not in LOCAL]
        assert calls, section
        self.called.add(section)
        return {call: self._run(call) for call in dict.fromkeys(calls) if call not in left_out}

    def _run(self, call: str) -> Ended:
        words = [str(self.dirs.get(it, it)) for it in call.split()]
        ended = self._odradek.run(*words)
        if ended.code == 2 and "not done without --yes" in ended.err:
            ended = self._odradek.run(*words, "--yes")
        assert ended.code in {0, 1}, (call, ended)
        assert "Traceback" not in ended.err, (call, ended)
        is_told = words[:2] == ["cluster", "health"] or "no records lie before that" in ended.err
        assert ended.code == 0 or is_told, (call, ended)
        return ended


@pytest.mark.timeout(240)
def test_runbooks_in_their_states(cluster: LiveCluster, odradek: Shell) -> None:
    """One cluster that breaks in one way after the other, and is mended."""
    books = Runbooks(odradek, cluster)
    cluster.place("orders", [1, 2, 3], [2, 3, 1])
    fill(cluster, "orders", 4_000)
    odradek("consume", "orders", "-e", "-g", "readers")

    for section in ("ConsumerGroupLag", "ControllerMovesOften", "EventLoopBusy"):
        books.call(section)

    disk = books.dirs["/disks/2"] = cluster.brokers[3].directory / "disk-a"
    books.dirs["/disks/1"] = cluster.brokers[3].directory / "disk-b"
    books.call("DiskWears", "logdirs offline /disks/2 --broker 3")
    odradek("logdirs", "uncordon", str(disk), "--broker", "3")
    hanging = books.call("DiskHangs")
    assert "is offline" in hanging["logdirs offline /disks/2 --broker 3"].out
    disk.rename(disk.with_name("old"))
    disk.mkdir()
    books.call("OfflineLogDirectoryCount")
    cluster.await_isr("orders", 3)

    cluster.brokers[3].kill()
    odradek.bootstrap = ",".join(cluster.brokers[it].bootstrap for it in (1, 2, 4))
    cluster.await_gone(3, "orders")
    for section in (
        "BrokerNotScraped",
        "NothingScraped",
        "UnderReplicatedPartitions",
        "OfflinePartitions",
    ):
        books.call(section)
    gone = books.call("BrokerGone", "broker undrain 3")
    assert "is cordoned and empty" in gone["broker drain 3"].err
    cluster.brokers[3].start()
    odradek("broker", "undrain", "3")

    slow = ("--replicas", "1,2,4", "-p", "0", "--throttle", "1K", "--no-wait")
    odradek("partition", "reassign", "orders", *slow)
    cluster.brokers[4].kill()
    odradek.bootstrap = ",".join(cluster.brokers[it].bootstrap for it in (1, 2, 3))
    eventually(
        lambda: "reassignment waits" in odradek.run("cluster", "health").out, what="the move waits"
    )
    waiting = books.call("ReassignmentWaits")
    ((*_, state),) = waiting["partition reassign --cancel"].rows
    assert state == "cancelled"
    odradek("partition", "throttle", "none")
    books.call("DeletionWaits")
    cluster.brokers[4].start()

    for section in ("AbnormalControllerState", "UncleanElection", "ControllerWithheld"):
        books.call(section)
    odradek("controller", "unprefer", "2", "--yes")
    cluster.await_isr("orders", 3)
    books.call("DiskNearlyFull")
    titles = set(re.findall(r"^## (.+)$", TEXT, re.MULTILINE))
    assert titles - books.called == WITHOUT_COMMANDS
