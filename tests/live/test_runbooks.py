"""Every command that operators read runs; those of a runbook in the state of its section."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Ended, Shell
from tests.external import tools
from tests.live.cluster import LiveCluster
from tests.live.mounted_disks import MEGABYTE, MountedDisk, why_not
from tests.live.test_draining import fill

DOCS: Final = tools.ROOT / "docs"
TEXT: Final = (DOCS / "runbooks.md").read_text()
OTHER_PAGES: Final = ("operations.md", "cluster.md", "events.md")
CALL: Final = re.compile(r"`odradek ([^`]+)`")
LOCAL: Final = {"audit", "check", "dump-log", "verify", "zookeeper"}
"""Nouns that are about files, and have tests of their own."""
SENTENCES: Final = (
    "no records lie before that",
    "has no connection to ZooKeeper",
    "has no member",
    "has no open transaction",
    "they are left out",
)
"""Why there is nothing to do or to tell."""
WITHOUT_COMMANDS: Final = {
    "A broker that advertises another's address",  # compat/test_doctor.py
    "A coordinator that refuses",  # test_rare_faults.py, as the next
    "A partition's state is missing",
    "Brokers apart",  # scenarios/cluster/test_brokers_apart.py
    "CertificateEnded",
    "DiskFillsUp",
    "UnderMinIsrPartitionCount",
    "ZooKeeper is away",
    "ZooKeeper's data is lost",  # test_restored_zookeeper.py does all of it
    "min.insync.replicas above the number of replicas",  # test_drawn_faults.py
}
ON_A_WHOLE_CLUSTER: Final = (
    "cluster health",
    "cluster restart-order",
    "broker clients 3",
    "group describe",
    "group list --state PreparingRebalance",
    "transaction hanging",
    "logdirs describe",
    "logdirs partitions",
    "logdirs balance",
    "logdirs move DIR TOPICS --broker N",
    "controller move BROKER",
    "controller prefer BROKER",
    "broker demote 3",
    "broker undrain 3",
    "partition elect",
    "partition reassign orders -r 3",
    "partition reassign orders -p 0 --replicas 2,1,3",
    "partition reassign --file moves.json",
    "partition reassign --brokers 1,2,3,4",
    "partition elect orders --unclean",
    "broker drain 3",
    "broker undrain 3",
)
WHILE_REPLICAS_MOVE: Final = (
    "partition reassignments",
    "partition throttle 50M",
    "partition reassign --cancel",
    "partition throttle none",
)
IN_OTHER_STATES: Final = {
    "check FILE": "tests/unit/cli/test_check.py",
    "check server.properties --drop DIR": "tests/unit/runtime",
    "cluster roll --command 'ssh {host} systemctl restart odradek'": "tests/live/test_rolling.py",
    "group remove-member": "tests/compat/test_cli_groups.py",
    "dump-log": "tests/unit/cli/test_dump_log.py",
    "logdirs move --throttle": "tests/live/test_throttles.py",
    "logdirs replace DIR --broker N": "tests/live/test_runbooks.py",  # a runbook's as well
    "serve FILE": "tests/live/test_up.py",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Four brokers, as the runbooks name them."""
    settings = {"min.insync.replicas": "1"}
    with LiveCluster(tmp_path / "cluster", brokers=4, settings=settings) as cluster:
        yield cluster


@pytest.fixture
def odradek_with_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Iterator[tuple[LiveCluster, Shell, MountedDisk]]:
    """Three brokers, of which the third has a disk that can be broken, and the command."""
    if reason := why_not():
        pytest.skip(reason)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "cluster"
    with MountedDisk(folder / "broker-3" / "disk-a") as disk, LiveCluster(folder) as cluster:
        odradek = Shell(capfdbinary, monkeypatch)
        odradek.bootstrap = cluster.bootstrap
        yield cluster, odradek, disk


class Runbooks:
    """What they say, called one after the other as it stands there."""

    def __init__(self, odradek: Shell, cluster: LiveCluster) -> None:
        self.called: set[str] = set()
        self.words: dict[str, str] = {}
        self._odradek = odradek
        self._cluster = cluster

    def call(self, section: str, *left_out: str) -> dict[str, Ended]:
        """All of a section; `--yes` where it would ask. None is misused, none has a bug."""
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        calls = [it for it in CALL.findall(text) if it.split()[0] not in LOCAL]
        assert calls, section
        self.called.add(section)
        return {call: self.run(call) for call in dict.fromkeys(calls) if call not in left_out}

    def run(self, call: str) -> Ended:
        """One of them."""
        words = [self.words.get(it, it) for it in call.split()]
        ended = self._odradek.run(*words)
        if ended.code == 2 and "not done without --yes" in ended.err:
            ended = self._odradek.run(*words, "--yes")
        assert ended.code in {0, 1}, (call, ended)
        assert "Traceback" not in ended.err, (call, ended)
        looks = words[:2] == ["cluster", "health"] or words == ["doctor"]
        is_told = looks or any(it in ended.err for it in SENTENCES)
        assert ended.code == 0 or is_told, (call, ended)
        return ended


@pytest.mark.timeout(240)
def test_runbooks_in_their_states(cluster: LiveCluster, odradek: Shell) -> None:
    """One cluster that breaks in one way after the other, and is mended."""
    books = Runbooks(odradek, cluster)
    cluster.place("orders", [1, 2, 3], [2, 3, 1])
    fill(cluster, "orders", 4_000)
    odradek("consume", "orders", "-e", "-g", "readers")

    calm = ("ConsumerGroupLag", "ControllerMovesOften", "EventLoopBusy", "CertificateEndsSoon")
    # test_secured_cluster.py has a certificate that ends, test_transactions_cli.py what hangs
    for section in (*calm, "TransactionsLate", "TooManyOpenFiles"):
        books.call(section)

    disk, other = (cluster.brokers[3].directory / it for it in ("disk-a", "disk-b"))
    books.words |= {"/disks/2": str(disk), "/disks/1": str(other)}
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
    books.call("MoveStands", WHILE_REPLICAS_MOVE[1], WHILE_REPLICAS_MOVE[3])
    cluster.brokers[4].kill()
    odradek.bootstrap = ",".join(cluster.brokers[it].bootstrap for it in (1, 2, 3))
    eventually(
        lambda: "reassignment waits" in odradek.run("cluster", "health").out, what="the move waits"
    )
    waiting = books.call("ReassignmentWaits", WHILE_REPLICAS_MOVE[1])
    ((*_, state),) = waiting["partition reassign --cancel"].rows
    assert state == "cancelled"
    odradek("partition", "throttle", "none")
    books.call("DeletionWaits")
    cluster.brokers[4].start()

    for section in ("AbnormalControllerState", "UncleanElection", "ControllerWithheld"):
        books.call(section)
    odradek("controller", "unprefer", "2", "--yes")
    cluster.await_isr("orders", 3)
    books.call("A log that is corrupt at rest")  # of a replica on broker 3
    books.call("DiskNearlyFull")  # spreads replicas anew
    titles = set(re.findall(r"^## (.+)$", TEXT, re.MULTILINE))
    assert titles - books.called == WITHOUT_COMMANDS

    books.words |= {"DIR": str(other), "TOPICS": "orders", "N": "3"}
    books.words["BROKER"] = "1" if cluster.controller() == 2 else "2"
    run_the_other_pages(books, odradek, cluster)


def run_the_other_pages(books: Runbooks, odradek: Shell, cluster: LiveCluster) -> None:
    """Their commands on a cluster that is well, and while replicas are copied."""
    plan = cluster.brokers[1].directory / "moves.json"
    row = {"topic": "orders", "partition": 1, "replicas": [2, 3, 1]}
    plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
    books.words["moves.json"] = str(plan)
    for call in ON_A_WHOLE_CLUSTER:
        books.run(call)
    odradek("controller", "unprefer", books.words["BROKER"], "--yes")
    slow = ("--replicas", "3,4,1", "-p", "0", "--throttle", "1K", "--no-wait")
    odradek("partition", "reassign", "orders", "-p", "0", "--replicas", "1,2,3")
    odradek("partition", "reassign", "orders", *slow)
    assert "1 reassignment" in books.run(WHILE_REPLICAS_MOVE[1]).out
    for call in WHILE_REPLICAS_MOVE:
        books.run(call)
    assert odradek.run("cluster", "health").code == 0
    pages = " ".join((DOCS / name).read_text() for name in OTHER_PAGES)
    assert {" ".join(it.split()) for it in CALL.findall(pages)} == {
        *ON_A_WHOLE_CLUSTER,
        *WHILE_REPLICAS_MOVE,
        *IN_OTHER_STATES,
    }
    assert all((tools.ROOT / it).exists() for it in IN_OTHER_STATES.values())


@pytest.mark.timeout(240)
def test_runbooks_of_disks_that_break_and_of_zookeeper(
    odradek_with_disk: tuple[LiveCluster, Shell, MountedDisk],
) -> None:
    """A disk that is full, that hangs, that fails; then ZooKeeper is away, and a broker with it."""
    cluster, odradek, disk = odradek_with_disk
    books = Runbooks(odradek, cluster)
    books.words |= {"/disks/2": str(disk.path), "1,2,3,4": "1,2,3"}
    cluster.place("orders", *([[1, 2, 3]] * 4))
    odradek("consume", "orders", "-e", "-g", "readers")
    room = rf"\nbroker 3: {disk.path}: \S+ (?:B|MiB) of \S+ MiB free; make room: [^\t]+\t{{}}\t-\n"
    disk.fill(leaving=4 * MEGABYTE)
    assert re.search(room.format("disk nearly full"), odradek.run("cluster", "health").out)
    disk.fill()
    assert re.search(room.format("disk full"), odradek.run("cluster", "health").out)
    books.call("DiskNearlyFull")
    (disk.path / "full").unlink()
    cluster.await_isr("orders", 3)

    disk.freeze()
    try:
        lost = eventually_hangs(odradek, disk)
        hanging = books.call("DiskHangs")
    finally:
        disk.thaw()
    assert lost == "hangs"
    assert "is offline" in hanging["logdirs offline /disks/2 --broker 3"].out
    disk.pull()
    disk.insert()
    books.call("OfflineLogDirectoryCount")
    cluster.await_isr("orders", 3)

    disk.break_down()
    eventually(lambda: "log dir offline" in health_after_a_write(odradek), what="it has failed")
    books.call("UnderReplicatedPartitions")
    odradek("broker", "undrain", "3")
    disk.pull()
    disk.insert()
    books.call("OfflineLogDirectoryCount")
    cluster.await_isr("orders", 3)

    cluster.zookeeper.kill()
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    for section in ("AbnormalControllerState", "BrokerNotScraped", "NothingScraped"):
        books.call(section)
    listed = odradek("group", "list")
    assert "broker 3 does not answer" in listed.err
    assert "ZooKeeper is away" in odradek.run("cluster", "health").out
    cluster.zookeeper.start()
    cluster.brokers[3].start()
    cluster.await_isr("orders", 3)


def eventually_hangs(odradek: Shell, disk: MountedDisk) -> str:
    """The state that is listed once a write has been tried."""
    states: list[str] = []

    def is_told() -> bool:
        odradek.run("produce", "orders", "--timeout", "2", "-X", "acks=1", said=b"a\nb\nc\nd\n")
        rows = odradek("logdirs", "list").rows
        states[:] = [row[-1] for row in rows if row[1] == str(disk.path)]
        return states != ["online"]

    eventually(is_told, what="it is told that the disk hangs")
    return states[0]


def health_after_a_write(odradek: Shell) -> str:
    """What is told of it; the write may be refused."""
    odradek.run("produce", "orders", "-X", "acks=1", said=b"a\nb\nc\nd\n")
    return odradek.run("cluster", "health").out
