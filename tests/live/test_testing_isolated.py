"""`odradek.testing.cluster(isolated=True)`: brokers that are processes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import odradek.testing
from odradek.testing.errors import WrongCall
from odradek.testing.isolated import IsolatedCluster
from tests.external.tools import ROOT
from tests.live.test_testing_cluster import SETTINGS, consumed, produce

ORPHANS = """
import os, signal, odradek.testing
with odradek.testing.cluster(1, isolated=True) as c:
    print(c.pid(1), c._folder.name, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def c() -> Iterator[IsolatedCluster]:
    """Three brokers, and a topic."""
    with odradek.testing.cluster(settings=SETTINGS, isolated=True) as running:
        running.topic("orders")
        yield running


def _runs(pid: int) -> bool:
    """A process that has ended may wait for somebody who asks how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_is_killed_stopped_and_stands_still(c: IsolatedCluster) -> None:
    """What was acknowledged is there, whatever ends a process."""
    leader = c.leader("orders")
    pid, before = c.pid(leader), c.bootstrap
    produce(c, "a")
    c.kill(leader)
    assert not _runs(pid)
    assert leader not in c.alive
    produce(c, "b")
    c.start(leader)
    assert c.pid(leader) != pid
    c.await_isr("orders")
    c.stop(c.leader("orders"))
    assert len(c.alive) == 2
    produce(c, "c")
    paused = next(it for it in c.alive if it != c.leader("orders"))
    c.pause(paused)
    assert Path(f"/proc/{c.pid(paused)}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    c.resume(paused)
    c.start(next(it for it in c.brokers if it not in c.alive))
    c.await_isr("orders")
    assert c.bootstrap == before
    assert consumed(c, 3) == ["a", "b", "c"]


def test_a_session_expires_and_a_controller_moves(c: IsolatedCluster) -> None:
    """ZooKeeper is in the test's process."""
    c.expire_session(1)
    c.await_isr("orders")
    target = next(it for it in c.brokers if it != c.controller)
    c.move_controller(target)
    assert c.controller == target


def test_what_cannot_be_is_refused(c: IsolatedCluster) -> None:
    """Faults at the doors within a broker, and a broker that cannot start."""
    with pytest.raises(WrongCall, match="need brokers in this process: no isolated=True"):
        c.fail_disk(1, 0)
    with pytest.raises(WrongCall, match="need brokers in this process"):
        c.cut([1], [2])
    with pytest.raises(WrongCall, match="broker 1 runs already"):
        c.start(1)
    with pytest.raises(WrongCall, match="broker 1 does not stand still"):
        c.resume(1)
    c.kill(1)
    with pytest.raises(WrongCall, match="broker 1 does not run"):
        c.kill(1)
    wrong = odradek.testing.cluster(1, settings={"num.partitions": "many"}, isolated=True)
    with pytest.raises(WrongCall, match=r"broker 1 did not start: .*num\.partitions"), wrong:
        pass


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    """However that ends: here with SIGKILL."""
    ended = subprocess.run(
        [sys.executable, "-c", ORPHANS],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    pid = int(ended.stdout.split()[0])
    pause = threading.Event()
    while _runs(pid):
        pause.wait(0.01)
