"""The same table whatever Spark runs on: a standalone cluster and a Spark Connect server."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.external.ports import free_port
from tests.pipelines.moving.archives import records_of, rows_in
from tests.pipelines.programs import MASTER, Worker, java
from tests.pipelines.topics import Topics

COUNT = 1_000
COUNT_KILLED = 3_000
BATCHES = 60
CONFS = (
    "--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=1g",
    "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false",
)  # fmt: skip
SLOTS = """
import sys
from odradek.pipelines import session
from odradek.pipelines.moving.jobs import tasks_for
from odradek.pipelines.positions import OffsetRange
small = [OffsetRange("t", "", number, 0, 1) for number in range(8)]
print(tasks_for(session(remote=sys.argv[1]), small))
"""
"""How many tasks share eight small ranges."""


@contextmanager
def master(folder: Path) -> Iterator[str]:
    """Of a standalone cluster; its URL."""
    more = ("--port", str(free_port()), "--webui-port", "0")
    with java(folder / "master.log", r"spark://127[^ \n]*", *MASTER, *more) as url:
        yield url


@contextmanager
def working(folder: Path, url: str, cores: int) -> Iterator[Worker]:
    """A worker."""
    worker = Worker(folder, url, cores)
    try:
        yield worker
    finally:
        worker.kill()


@pytest.fixture
def filled(topics: Topics) -> str:
    """A topic of two partitions."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(COUNT)])
    return topic


def archiving(topics: Topics, topic: str, table: str, *where: str) -> list[str]:
    """The command."""
    command = [sys.executable, "-m", "odradek", "archive", "-b", topics.bootstrap, "--once"]
    return [*command, "--topics", topic, "--to", table, *where]


def archived(topics: Topics, topic: str, table: str, *where: str) -> None:
    """By the command."""
    done = subprocess.run(
        archiving(topics, topic, table, *where),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert rows_in(table) == records_of(topics.bootstrap, topic, (0, 1))


def test_a_standalone_cluster_whose_workers_are_killed_in_turn(
    topics: Topics, tmp_path: Path
) -> None:
    """With their executors, during an archive; each is started again. Each record is one row.

    Master and workers are from the package; our code is shipped to them.
    """
    topic = topics.make(partitions=2)
    rows = [{"value": b"%d" % it, "partition": it % 2} for it in range(COUNT_KILLED)]
    topics.fill(topic, rows)
    folder = tmp_path / "t"
    with (
        master(tmp_path) as url,
        working(tmp_path / "one", url, cores=1) as one,
        working(tmp_path / "two", url, cores=1) as two,
    ):
        some = ("--max-offsets-per-trigger", str(COUNT_KILLED // BATCHES))
        where = ("--master", url, *CONFS, *some)
        with (tmp_path / "archive.log").open("wb") as log:
            command = archiving(topics, topic, f"delta:{folder}", *where)
            process = subprocess.Popen(command, stdout=log, stderr=log)
        for worker in (one, two):
            commits = _commits(folder)
            while _commits(folder) < commits + 2:
                assert process.poll() is None, (tmp_path / "archive.log").read_text()[-2_000:]
                time.sleep(0.01)
            worker.kill()
            process.send_signal(signal.SIGSTOP)  # or all is archived before a slow start is over
            worker.start()
            process.send_signal(signal.SIGCONT)
        assert process.wait() == 0, (tmp_path / "archive.log").read_text()[-2_000:]
    assert rows_in(f"delta:{folder}") == records_of(topics.bootstrap, topic, (0, 1))


def _commits(folder: Path) -> int:
    return len(list(folder.glob("_delta_log/*.json")))


def test_spark_connect(topics: Topics, filled: str, connect: str, tmp_path: Path) -> None:
    """A server that somebody else runs; here there is no Java at all."""
    archived(topics, filled, f"delta:{tmp_path}/t", "--remote", connect)
    asked = subprocess.run(
        [sys.executable, "-c", SLOTS, connect],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.stdout == "2\n", asked.stderr
