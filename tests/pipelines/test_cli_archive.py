"""`odradek archive` as a person runs it: a driver, a JVM and Python workers of their own.

Each of these is killed once, and the broker, too. Then the table holds every record once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.archives import records_of, rows_in
from tests.pipelines.topics import Topics

COUNT = 6_000
PARTITIONS = 2


@pytest.fixture
def filled(topics: Topics) -> str:
    """A topic with so many records."""
    topic = topics.make(partitions=PARTITIONS)
    rows = [{"value": b"%d" % it, "key": b"k", "partition": it % 2} for it in range(COUNT)]
    topics.fill(topic, rows)
    return topic


def call(topics: Topics, topic: str, table: str, *more: str) -> list[str]:
    """The command."""
    start = [sys.executable, "-m", "odradek", "archive", "--bootstrap-server", topics.bootstrap]
    common = ["--topics", topic, "--to", table, "--format", "raw", "--master", "local[2]"]
    return [*start, *common, "--conf", "spark.driver.memory=1g", *more]


def run(topics: Topics, topic: str, table: str, *more: str) -> "subprocess.CompletedProcess[str]":
    """To its end."""
    return subprocess.run(
        call(topics, topic, table, *more), capture_output=True, text=True, timeout=200, check=False
    )


@pytest.fixture
def running(topics: Topics, filled: str, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """An archive of a few records at a time that has committed something."""
    process = subprocess.Popen(
        call(topics, filled, f"delta:{tmp_path}/t", "--max-offsets-per-trigger", "50"),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    assert "batch 1" in process.stderr.readline()
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_it_says_what_it_did_and_nothing_else(topics: Topics, filled: str, tmp_path: Path) -> None:
    """A checkpoint that is lost costs nothing; one of another table is refused in a sentence."""
    table, checkpoint = f"delta:{tmp_path}/t", tmp_path / "checkpoint"
    kept = ("--checkpoint", str(checkpoint), "--once")
    first = run(topics, filled, table, *kept, "--max-offsets-per-trigger", "2500", "--json")
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads(first.stdout)["written"] == COUNT
    for file in checkpoint.iterdir():
        file.unlink()
    topics.fill_numbers(filled, 7)
    second = run(topics, filled, table, *kept)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.startswith("7 records read: 7 written")
    assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))
    other = run(topics, filled, f"parquet:{tmp_path}/other", *kept)
    assert other.returncode == 1
    assert other.stderr.count("\n") == 1
    assert "is of table delta:" in other.stderr


def test_a_killed_driver(
    topics: Topics, filled: str, tmp_path: Path, running: "subprocess.Popen[str]"
) -> None:
    """With its JVM and its workers, at no particular moment."""
    time.sleep(1.0)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    table = f"delta:{tmp_path}/t"
    assert len(rows_in(table)) < COUNT
    assert run(topics, filled, table, "--once").returncode == 0
    assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))


def test_killed_workers(
    topics: Topics, filled: str, tmp_path: Path, running: "subprocess.Popen[str]"
) -> None:
    """The archive goes on by itself."""
    for _ in range(5):
        for worker in workers_of(running.pid):
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.3)
    table = f"delta:{tmp_path}/t"
    wait_for(running, table)
    assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))


def test_a_killed_broker(  # noqa: PLR0917 - what it needs
    topics: Topics,
    filled: str,
    tmp_path: Path,
    broker: OdradekBroker,
    running: "subprocess.Popen[str]",
) -> None:
    """The archive waits for it."""
    broker.kill()
    time.sleep(0.5)
    broker.start()
    table = f"delta:{tmp_path}/t"
    wait_for(running, table)
    assert rows_in(table) == records_of(topics.bootstrap, filled, range(PARTITIONS))


def wait_for(process: "subprocess.Popen[str]", table: str) -> None:
    """Until all is in the table; then the archive is asked to end, and does."""
    for _ in range(600):
        assert process.poll() is None, process.stderr
        if len(rows_in(table)) >= COUNT:
            break
        time.sleep(0.2)
    process.terminate()
    assert process.wait(60) == 0


def workers_of(driver: int) -> list[int]:
    """The Python workers: forked by a daemon that the JVM started."""
    parents: dict[int, tuple[int, bytes]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                parents[int(folder.name)] = (int(fields[1]), (folder / "cmdline").read_bytes())
            except OSError:
                continue

    def is_below(number: int) -> bool:
        while number in parents and number != driver:
            number = parents[number][0]
        return number == driver

    daemons = {it for it, (_, line) in parents.items() if b"pyspark.daemon" in line}
    return [it for it, (up, _) in parents.items() if up in daemons and is_below(it)]
