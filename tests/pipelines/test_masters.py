"""The same table whatever Spark runs on: a standalone cluster and a Spark Connect server."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.external.zookeeper import free_port
from tests.pipelines.moving.archives import records_of, rows_in
from tests.pipelines.programs import java
from tests.pipelines.topics import Topics

COUNT = 1_000
SLOTS = """
import sys
from odradek.pipelines import session
from odradek.pipelines.moving.jobs import tasks_for
from odradek.pipelines.positions import OffsetRange
small = [OffsetRange("t", "", number, 0, 1) for number in range(8)]
print(tasks_for(session(remote=sys.argv[1]), small))
"""
"""How many tasks share eight small ranges."""


@pytest.fixture
def filled(topics: Topics) -> str:
    """A topic of two partitions."""
    topic = topics.make(partitions=2)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % 2} for it in range(COUNT)])
    return topic


def archived(topics: Topics, topic: str, table: str, *where: str) -> None:
    """By the command."""
    command = [sys.executable, "-m", "odradek", "archive", "-b", topics.bootstrap, "--once"]
    done = subprocess.run(
        [*command, "--topics", topic, "--to", table, *where],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert rows_in(table) == records_of(topics.bootstrap, topic, (0, 1))


def test_a_standalone_cluster(topics: Topics, filled: str, tmp_path: Path) -> None:
    """A master and a worker from the package; our code is shipped to it."""
    at = ("--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", "0")
    master = ("spark-class", "org.apache.spark.deploy.master.Master", *at)
    with java(tmp_path / "master.log", r"spark://127[^ \n]*", *master) as url:
        worker = ("spark-class", "org.apache.spark.deploy.worker.Worker")
        more = ("--host", "127.0.0.1", "--cores", "2", "--memory", "1g", "--webui-port", "0", url)
        with java(tmp_path / "worker.log", "Successfully registered", *worker, *more):
            confs = ("--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=1g")
            host = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false")
            table = f"delta:{tmp_path}/t"
            archived(topics, filled, table, "--master", url, *confs, *host)


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
