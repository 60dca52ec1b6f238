"""What verbs say of a cluster in which something has failed: no more and no less than is true."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import ClusterBroker, LiveCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Three brokers."""
    with LiveCluster(tmp_path) as cluster:
        yield cluster


def test_a_deletion_that_waits_for_a_broker_says_so(cluster: LiveCluster, odradek: Shell) -> None:
    """As `cluster health` says it; and the verb that takes a log dir offline can be repeated."""
    cluster.make("orders", 1)
    cluster.make("whole", 1)
    assert odradek("topic", "delete", "whole", "--yes").out == "topic whole deleted\n"
    disk = cluster.brokers[2].directory / "disk-a"
    call = ("logdirs", "offline", str(disk), "--broker", "2", "--yes")
    assert f"{disk} is offline; " in odradek(*call).out
    again = odradek(*call).out
    assert again.startswith(f"{disk} is offline since ")
    assert again.endswith("an operator took it offline; its disk can be pulled\n")
    states = {row[1]: row[-1] for row in odradek("logdirs", "list", "--broker", "2").rows}
    assert states[str(disk)] == "offline: an operator took it offline"
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    said = odradek("topic", "delete", "orders", "--yes").out
    assert said.startswith("topic orders is being deleted, and waits: ")
    assert "broker 3 is not registered" in said
    assert "deletion waits" in odradek.run("cluster", "health").out
    for option in ((), ("--if-not-exists",)):
        refused = odradek.fails("topic", "create", "orders", *option)
        assert "is being deleted" in refused
        assert "cluster health says what its deletion waits for" in refused


def test_a_log_dir_that_failed_by_itself_is_offline_already(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """That it is, is no error: its disk can be pulled; the reason is the system's."""
    broker = cluster.brokers[2]
    disk = broker.directory / "disk-a"
    broker.stop()
    disk.rename(disk.with_name("away"))
    disk.touch()
    broker.start()
    said = odradek("logdirs", "offline", str(disk), "--broker", "2", "--yes").out
    assert said.startswith(f"{disk} is offline since ")
    assert said.endswith("; its disk can be pulled\n")
    assert "an operator took it offline" not in said


def test_an_unclean_election_says_what_would_be_lost(cluster: LiveCluster, odradek: Shell) -> None:
    """Before it asks: who could lead, up to where its records are known to be committed."""
    cluster.place("orders", [1, 2], **{"min.insync.replicas": "1"})
    odradek("produce", "orders", said=b"a\nb\nc\n")
    cluster.brokers[2].stop()
    odradek("produce", "orders", said=b"d\n")
    cluster.brokers[1].kill()
    cluster.brokers[2].start()
    odradek.bootstrap = cluster.brokers[3].bootstrap
    call = ("partition", "elect", "orders", "--unclean")

    def asked() -> str:
        ended = odradek.run(*call)
        assert ended.code == 2, ended
        return ended.err

    eventually(lambda: re.search("orders-0 +2 ", asked()), what="broker 2 is a candidate")
    title, row, question = asked().splitlines()
    assert title.split() == ["partition", "candidate", "holds", "from", "to", "lost"]
    assert row.split()[:2] == ["orders-0", "2"]
    assert re.search("  0   2  what only 1 has from offset 3 on$", row), row
    assert question.endswith("what only other replicas have: not done without --yes")
    ((*_, leader, state),) = odradek(*call, "--yes").rows
    assert (leader, state) == ("2", "elected")


def test_the_last_preferred_controller_is_not_given_up_unasked(odradek: Shell) -> None:
    """There would be no controller once it stops."""
    odradek("config", "alter", "broker", "-s", "allow.preferred.controller.fallback=false")
    odradek("controller", "prefer", "1")
    said = odradek.fails("controller", "unprefer", "1", code=2)
    assert "broker 1 is the last preferred one" in said
    assert odradek("controller", "unprefer", "1", "--yes").code == 0


def test_a_broker_that_is_gone_is_preferred_no_longer(cluster: LiveCluster, odradek: Shell) -> None:
    """It cannot be asked; the others know, and it knows when it comes back."""
    odradek("controller", "prefer", "3")
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap

    def is_gone() -> bool:
        return {row[0] for row in odradek("broker", "list").rows} == {"1", "2"}

    eventually(is_gone, what="broker 3 is not registered any more")
    said = odradek("controller", "unprefer", "3", "--yes").out
    assert said == "broker 3 is preferred no longer\n"
    assert "there is no broker 3" in odradek.fails("controller", "unprefer", "3", "--yes")
    assert "there is no broker 33" in odradek.fails("controller", "unprefer", "33", "--yes")
    assert "there is no broker 3" in odradek.fails("controller", "prefer", "3")
    cluster.brokers[3].start()
    eventually(lambda: not is_gone(), what="broker 3 is registered again")
    assert odradek("controller", "describe", "--json").json["preferred"] == []


def spoil(broker: ClusterBroker, topic: str) -> tuple[Path, int]:
    """A bit of the second batch, in the page cache and on the disk: its file, and where it begins.

    Batches of one record that are equally long.
    """
    (file,) = broker.directory.glob(f"disk-*/{topic}-0/*.log")
    data = bytearray(file.read_bytes())
    begins = int.from_bytes(data[8:12], "big") + 12
    data[begins + 40] ^= 1
    with file.open("r+b") as opened:
        opened.write(data)
    return file, begins


def test_a_consumer_that_meets_a_corrupt_batch_says_where(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """It was in the page cache, so the broker had not looked at it; it does once asked again."""
    cluster.place("lone", [2], **{"min.insync.replicas": "1"})
    cluster.place("orders", [2, 1, 3])
    for topic in ("lone", "orders"):
        for value in (b"a\n", b"b\n", b"c\n"):
            odradek("produce", topic, said=value)
    cluster.await_isr("orders", 3)
    spoil(cluster.brokers[2], "orders")
    assert odradek("consume", "orders", "-e").out == "a\nb\nc\n"
    cluster.await_isr("orders", 3)
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="the batch is mended")
    file, position = spoil(cluster.brokers[2], "lone")
    ended = odradek.run("consume", "lone", "-e")
    assert (ended.code, ended.out) == (1, "a\n")
    assert "lone-0 at offset 1: the batch there fails its checksum at broker 2" in ended.err
    assert "odradek cluster health names its file" in ended.err
    told = odradek.run("cluster", "health").out
    named = f"{file.parent.parent}: lone-0/{file.name} is corrupt at byte {position}, offset 1"
    assert f"broker 2: {named}" in told
    assert odradek("consume", "lone", "-o", "2", "-e").out == "c\n"


def test_a_broker_that_stands_still_is_named_and_holds_up_no_listing(
    cluster: LiveCluster, odradek: Shell
) -> None:
    """Its port is open and it is registered, until its session is over."""
    cluster.make("orders", 1)
    odradek("consume", "orders", "-e", "-g", "readers")
    odradek.bootstrap = cluster.brokers[1].bootstrap
    cluster.brokers[3].pause()
    sick = odradek.run("cluster", "health")
    listed = [odradek.run(*call) for call in (("group", "list"), ("logdirs", "list"))]
    cluster.brokers[3].resume()
    assert (sick.code, [it.code for it in listed]) == (1, [0, 0])
    assert "broker 3" in sick.out
