"""What verbs say of a cluster in which something has failed: no more and no less than is true."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster


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
    cluster.brokers[3].kill()
    odradek.bootstrap = cluster.brokers[1].bootstrap
    said = odradek("topic", "delete", "orders", "--yes").out
    assert said.startswith("topic orders is being deleted, and waits: ")
    assert "broker 3 is not registered" in said
    assert "deletion waits" in odradek.run("cluster", "health").out


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
