"""Two people at one cluster: the verb that waits, and somebody who changes what it waits for."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.cli.replicas.reassign import IN_PLACE
from tests.compat.broker_process import eventually
from tests.compat.hostile import Found
from tests.compat.odradek_shell import Shell
from tests.external import tools
from tests.live.cluster import LiveCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Three brokers; a partition needs one."""
    with LiveCluster(tmp_path / "cluster", 3, {"min.insync.replicas": "1"}) as cluster:
        yield cluster


def first_operator(
    cluster: Found, folder: Path, *said: str, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """In a process of its own, with a place of its own."""
    variables = {"ODRADEK_BOOTSTRAP": cluster.bootstrap, "XDG_STATE_HOME": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-m", "odradek", *said],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tools.ROOT / "src"), **variables},
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509 - the child only says how it takes a signal
    )


def _hear_ctrl_c() -> None:
    """As at a terminal; what is started in the background may be deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_first_is_told_that_its_plan_was_replaced(
    cluster: LiveCluster, odradek: Shell, tmp_path: Path
) -> None:
    """The second is told of the first; who waited for the first learns that it did not happen."""
    cluster.place("orders", [1])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for _ in range(6_000):
        producer.produce("orders", b"x" * 1_000)
    producer.flush(10)
    call = ("partition", "reassign", "orders")
    waits = first_operator(
        cluster, tmp_path / "first", *call, "--replicas", "2", "--throttle", "1K"
    )
    eventually(lambda: odradek("partition", "reassignments").rows, what="the first has begun")
    same = odradek(*call, "--replicas", "2", "--no-wait", "--throttle", "1K")
    assert same.rows == []  # it is on its way there
    assert "orders-0 is already under way, begun by an earlier call" in same.err
    assert "partition reassignments says how far; within your throttle: odradek" in same.err
    assert "nothing to do: every partition is where it should be" in same.err
    told = odradek(*call, "--replicas", "3", "--no-wait").err
    assert "orders-0 for instance, are being moved already: their target is replaced" in told
    odradek("partition", "throttle", "64M")
    out, _ = waits.communicate(timeout=60)
    assert waits.returncode == 1, out
    assert "not done: its replicas are [3]" in out
    left = odradek("partition", "reassign", "--cancel").err
    assert "nothing to do: no partition is being moved" in left
    odradek("partition", "throttle", "none")
    eventually(lambda: odradek.run("cluster", "health").code == 0, what="nothing is left")
    assert odradek("partition", "reassign", "--cancel").err == (
        "odradek: nothing to do: no partition is being moved\n"
    )
    again = odradek(*call, "--replicas", "3").err
    assert again == f"odradek: {IN_PLACE}\n"
